import json

import pytest

FAST = ["--set", "walks.length=30", "--set", "walks.per_label=20", "--set", "label_vectors.dimension=8"]


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("Root\ta\nRoot\tb\na\tx\na\ty\nb\tz\n")
    return path


def test_embed(run, labels, tmp_path):
    code, out, _ = run("taxonomy", "embed", labels, "--out", tmp_path / "v.npz", "--walks", "plain", *FAST)
    assert code == 0
    assert "6 vectors of 8 numbers written" in out
    code, out, _ = run("taxonomy", "embed", labels, "--out", tmp_path / "w.npz", "--walks", "plain", *FAST, "--json")
    assert json.loads(out)["labels"] == 6
    assert (tmp_path / "v.npz").read_bytes() == (tmp_path / "w.npz").read_bytes()


def test_reconstruct(run, labels, tmp_path):
    code, out, _ = run("taxonomy", "reconstruct", labels, "--seeds", "1", *FAST, "--plot", tmp_path / "f.svg")
    assert code == 0
    for kind in ("meta-path", "steps", "plain"):
        assert kind in out
    assert (tmp_path / "f.svg").exists()
    code, out, _ = run("taxonomy", "reconstruct", labels, "--walks", "steps", "--seeds", "1", *FAST, "--json")
    (result,) = json.loads(out)["results"]
    assert result["kind"] == "steps"


def test_mistakes(run, labels, tmp_path):
    for arguments, message in (
        (["--set", "walks.lenght=3"], "did you mean walks.length?"),
        (["--walks", "drunken"], "drunken"),
        (["--set", "label_vectors.dimension=0"], "label_vectors.dimension must be from 1 to 10000; got '0'"),
    ):
        code, _, err = run("taxonomy", "embed", labels, "--out", tmp_path / "v.npz", *arguments)
        assert code == 2
        assert message in err
    assert not (tmp_path / "v.npz").exists()
