"""The models there are."""

from taxocaps.catalogue.model import Model
from taxocaps.catalogue.registry import MODELS

__all__ = ["list_models"]


def list_models() -> tuple[Model, ...]:
    """Every model, with what sets it apart."""
    return MODELS
