import json

from taxocaps.catalogue.models import MODELS


def test_the_list_of_models(run):
    code, out, err = run("models")
    assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if line.startswith("  ")]
    assert sorted(line.split()[0] for line in lines) == sorted(model.name for model in MODELS)
    assert [line.split()[0] for line in lines if "(default)" in line] == ["auto"]
    by_name = {line.split()[0]: line for line in lines}
    assert "label weights from the taxonomy" in by_name["HE-AGCRCNN"]
    assert "first of all: hard to beat on small data" in by_name["SVM"]
    assert "Kim 2014" in by_name["CNN-non-static"]


def test_json(run):
    code, out, _ = run("models", "--json")
    assert code == 0
    rows = json.loads(out)
    assert [row["name"] for row in rows] == [model.name for model in MODELS]
    assert rows[1]["axes"]["graph"] == {"row_order": "unordered"}
