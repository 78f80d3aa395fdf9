import json

import pytest


@pytest.mark.slow
def test_the_embedded_corpus_is_written(run, tmp_path):
    code, out, _ = run("data", "pydocs", "--out", tmp_path / "pydocs", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["documents"]["train"] > 5_000
    assert report["levels"] == 3
    names = {path.name for path in (tmp_path / "pydocs").iterdir()}
    assert names == {"train.jsonl", "dev.jsonl", "test.jsonl", "taxonomy.tsv"}
    code, out, _ = run(
        "corpus", "check", tmp_path / "pydocs" / "dev.jsonl", "--taxonomy", tmp_path / "pydocs" / "taxonomy.tsv"
    )
    assert code == 0
    assert "unknown label" not in out


def test_an_unknown_data_set(run):
    code, _, err = run("data", "nonsense", "--out", "x")
    assert code == 2
    assert "nonsense" in err
