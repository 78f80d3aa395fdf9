"""All models by name: the variants of the paper and the methods it compares with."""

import difflib
from typing import Any

from taxocaps.catalogue.baselines import BASELINES
from taxocaps.catalogue.model import PAPER, Model
from taxocaps.catalogue.variants import VARIANTS, Variant
from taxocaps.errors import ConfigError

__all__ = ["MODELS", "find_model"]


def _of_variant(variant: Variant) -> Model:
    parts = [
        f"{variant.row_order} rows",
        *(["LSTM"] if variant.recurrent == "lstm" else []),
        *(["attention to blocks"] if variant.attention == "blocks" else []),
        {"dense": "dense layers", "capsule": "capsules"}[variant.head],
        *(["labels weighted by the taxonomy"] if variant.label_weights == "taxonomy" else []),
    ]
    axes: dict[str, Any] = {
        "family": "network",
        "graph": {"row_order": variant.row_order},
        "network": {
            "kind": "words-matrix",
            "recurrent": variant.recurrent,
            "attention": variant.attention,
            "head": variant.head,
        },
        "loss": {"label_weights": variant.label_weights},
    }
    is_plain = variant.head == "dense" and variant.label_weights == "uniform"
    usual = {"loss": {"kind": "cross-entropy" if is_plain else "margin"}}
    return Model(variant.name, "graph", ", ".join(parts), PAPER, _use(variant), axes, usual)


def _use(variant: Variant) -> str:
    if variant.head == "dense":
        return "to compare with: the network without capsules"
    if variant.recurrent == "none":
        return "in half the time of the models with an LSTM"
    return "the whole model" if variant.attention == "blocks" else "to compare with"


MODELS = (*map(_of_variant, VARIANTS), *BASELINES)
"""All models, the variants first."""


def find_model(name: str) -> Model:
    """The model of a name, in any case.

    Raises:
        ConfigError: For an unknown name; the nearest is named.

    >>> find_model("he-agcrcnn").name, find_model("svm").family
    ('HE-AGCRCNN', 'linear')
    """
    by_name = {model.name.lower(): model for model in MODELS}
    if name.lower() in by_name:
        return by_name[name.lower()]
    nearest = difflib.get_close_matches(name.lower(), by_name, n=1)
    hint = f"did you mean {by_name[nearest[0]].name}?" if nearest else f"there are {', '.join(m.name for m in MODELS)}"
    raise ConfigError(f"no model is called {name!r}; {hint}")
