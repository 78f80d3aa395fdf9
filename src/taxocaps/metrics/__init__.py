"""Evaluation metrics: true and predicted labels in, numbers out; independent of models and taxonomies."""
