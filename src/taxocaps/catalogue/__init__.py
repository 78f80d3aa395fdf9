"""The names of models, and what they stand for."""

__all__ = ["DEFAULT_MODEL", "DEFAULT_NETWORK"]

DEFAULT_MODEL = "auto"
"""The model that is meant where none is named."""

DEFAULT_NETWORK = "HE-AGCRCNN"
"""The network that is meant where only one that reads graphs of words will do."""
