"""Scorers: what learns from encoded documents and scores labels; from scores to labels; the model folder."""
