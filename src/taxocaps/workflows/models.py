"""The models there are."""

from taxocaps.catalogue.registry import MODELS, Model

__all__ = ["list_models"]


def list_models() -> tuple[Model, ...]:
    """Every model, with what sets it apart."""
    return MODELS
