import re
from pathlib import Path

import pytest

from taxocaps.catalogue.models import BASELINES
from taxocaps.catalogue.models import MODELS, find_model
from taxocaps.catalogue.models import VARIANTS
from taxocaps.errors import ConfigError


def test_thirteen_variants_and_twenty_baselines():
    assert [model.name for model in MODELS] == [row.name for row in (*VARIANTS, *BASELINES)]
    assert [model.is_variant for model in MODELS] == [True] * 13 + [False] * 20


def test_names_in_any_case_and_unknown_ones():
    assert find_model("he-AgCrCnN").name == "HE-AGCRCNN"
    assert find_model("tgcnn(no-r)").axes["graph"]["row_order"] == "unordered"
    assert find_model("cnn-NON-static").family == "sequence"
    with pytest.raises(ConfigError, match=re.escape("no model is called 'agcrnn'; did you mean")):
        find_model("agcrnn")
    with pytest.raises(ConfigError, match=re.escape("no model is called 'smv'; did you mean SVM?")):
        find_model("smv")
    with pytest.raises(ConfigError, match="there are TGCNN"):
        find_model("zzz")


def test_the_page_of_models_has_the_row_of_every_model():
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    for model in MODELS:
        assert f"| {model.summary} | {model.citation} | {model.use} |" in page, "run: benchmarks/models.py --write"


def test_a_summary_tells_the_axes_of_a_variant():
    assert find_model("HE-AGCRCNN").summary == (
        "ordered rows, LSTM, attention to blocks, capsules, labels weighted by the taxonomy"
    )
    assert find_model("TGCNN(No-R)").summary == "unordered rows, dense layers"
