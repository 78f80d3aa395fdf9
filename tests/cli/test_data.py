import json

import pytest

from taxocaps.workflows.data import DATASETS


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


def test_some_packages_of_the_embedded_corpus(run, tmp_path):
    code, out, err = run("data", "pydocs", "--packages", "jinja2,fsspec", "--out", tmp_path / "pydocs", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert "Docstrings of jinja2, fsspec" in report["description"]
    lines = (tmp_path / "pydocs" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    labels = {label for line in lines for label in json.loads(line)["labels"]}
    assert {label.split(".")[0] for label in labels} == {"jinja2", "fsspec"}


def test_an_unknown_data_set(run):
    code, _, err = run("data", "nonsense", "--out", "x")
    assert code == 2
    assert "nonsense" in err


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "toy"])
def test_every_data_set_is_a_command(run, name):
    code, out, _ = run("data", name, "--help")
    assert code == 0
    assert "--out" in out
    assert ("--source" in out) == ("--any-counts" in out) == bool(DATASETS[name].files)
    for option in DATASETS[name].options:
        assert f"--{option}" in out


@pytest.fixture
def abstracts(tmp_path):
    folder = tmp_path / "WOS5736"
    folder.mkdir()
    (folder / "X.txt").write_text("".join(f"Abstract {number}.\n" for number in range(30)))
    (folder / "YL1.txt").write_text("0\n1\n" * 15)
    (folder / "YL2.txt").write_text("0\n1\n2\n" * 10)
    return tmp_path


def test_a_data_set_from_files(run, tmp_path, abstracts):
    arguments = ("data", "wos", "--source", abstracts, "--out", tmp_path / "out", "--any-counts", "--subset", "WOS5736")
    code, out, _ = run(*arguments, "--json")
    assert code == 0
    report = json.loads(out)
    assert report["documents"] == {"train": 24, "dev": 3, "test": 3}
    assert (report["labels"], report["levels"]) == (8, 2)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "train.jsonl",
        "dev.jsonl",
        "test.jsonl",
        "taxonomy.tsv",
    }
    code, out, _ = run(*arguments)
    assert code == 0
    assert "train documents  24" in " ".join(out.split("\n")).replace("   ", "  ")
    assert "Web of Science, WOS5736" in out
    assert run(*arguments, "--quiet") == (0, "", "")


def test_mistakes_are_one_line(run, check_refused, tmp_path, abstracts):
    out = ("--out", tmp_path / "out")
    check_refused(run("data", "wos", "--source", abstracts, *out), "30 documents", "5,736", "--any-counts")
    check_refused(run("data", "rcv1", "--source", abstracts, *out), "no lyrl2004_tokens_train.dat", "jmlr.org")
    check_refused(run("data", "wos", "--source", tmp_path / "nowhere", *out), "nowhere: no such folder")
    check_refused(run("data", "wos", "--source", abstracts, "--subset", "WOS1", *out), "WOS1")
    check_refused(run("data", "wos", *out), "--source")
    assert not (tmp_path / "out").exists()
