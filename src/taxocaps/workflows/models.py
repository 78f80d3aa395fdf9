"""The models there are."""

from taxocaps.catalogue.variants import VARIANTS, Variant

__all__ = ["list_models"]


def list_models() -> tuple[Variant, ...]:
    """Every model, with what sets it apart."""
    return VARIANTS
