import json

from taxocaps.catalogue.models import MODELS


def test_the_list_of_models(run):
    code, out, err = run("models")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == ["model", *(model.name for model in MODELS)]
    assert [line.split()[0] for line in lines if "(default)" in line] == ["auto"]
    assert "label weights from the taxonomy" in lines[13]
    assert "Kim 2014" in next(line for line in lines if line.startswith("CNN-non-static"))


def test_json(run):
    code, out, _ = run("models", "--json")
    assert code == 0
    rows = json.loads(out)
    assert [row["name"] for row in rows] == [model.name for model in MODELS]
    assert rows[1]["axes"]["graph"] == {"row_order": "unordered"}
