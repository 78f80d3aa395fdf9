"""The names of models, and what they stand for."""

__all__ = ["DEFAULT_MODEL"]

DEFAULT_MODEL = "HE-AGCRCNN"
"""The model that is meant where none is named."""
