"""The names of models, and what they stand for."""
