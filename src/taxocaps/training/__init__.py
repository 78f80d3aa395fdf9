"""Training: batches out of encoded documents, the loop, checkpoints, scores."""
