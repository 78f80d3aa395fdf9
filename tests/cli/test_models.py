import json

from taxocaps.catalogue.variants import VARIANTS


def test_the_list_of_models(run):
    code, out, err = run("models")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert [line[0] for line in lines[1:]] == [variant.name for variant in VARIANTS]
    assert len(lines) == 14
    assert lines[-1] == ["HE-AGCRCNN", "ordered", "lstm", "blocks", "capsule", "taxonomy"]


def test_json(run):
    code, out, _ = run("models", "--json")
    assert code == 0
    assert [row["name"] for row in json.loads(out)] == [variant.name for variant in VARIANTS]
    assert json.loads(out)[0]["row_order"] == "unordered"
