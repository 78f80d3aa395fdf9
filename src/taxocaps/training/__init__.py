"""Training and scoring: batches of encoded documents, the training loop, checkpoints, scores."""
