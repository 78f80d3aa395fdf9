"""The built wheel, installed into a fresh environment, works there."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_code_and_data_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    data = ("py.typed", "text/stopwords/de.txt", "text/lemma_overrides.tsv", "datasets/rcv1_topics.tsv")
    pages = ("report/templates/page.html", "report/assets/style.css", "web/page/index.html")
    assert {f"taxocaps/{wanted}" for wanted in (*data, *pages)} <= set(names)
    assert all(name.startswith(("taxocaps/", "taxocaps-")) for name in names)
    assert not [name for name in names if "test" in name or "__pycache__" in name]


@pytest.mark.slow
def test_a_fresh_environment_with_the_wheel(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel]
    subprocess.run(install, check=True, capture_output=True)
    taxocaps = tmp_path / "env" / "bin" / "taxocaps"
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "1", "text": "Die Häuser der Stadt sind alt.", "labels": ["a"]}) + "\n")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*arguments):
        done = subprocess.run(
            [taxocaps, *arguments], check=True, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        return done.stdout

    assert run("--version").startswith("taxocaps ")
    encode = ("encode", corpus, "--out", tmp_path / "store", "--model", "HE-AGCRCNN", "--language", "de", "--json")
    assert json.loads(run(*encode))["words"] == 3
    run("graph", "Die Häuser der Stadt", "--language", "de", "--out", tmp_path / "graph.html")
    assert (tmp_path / "graph.html").stat().st_size > 5_000
    # The default model and linear ones need no extra.
    for model in ("auto", "SVM"):
        run("train", corpus, "--model", model, "--out", tmp_path / model)
        assert json.loads(run("predict", tmp_path / model, "--text", "Alte Häuser", "--top-k", "1"))["labels"]
    # A missing extra is named, with the way to get it.
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    for extra, arguments in {
        "parquet": ("corpus", "check", tmp_path / "x.parquet"),
        "networks": ("train", corpus, "--model", "HE-AGCRCNN", "--out", tmp_path / "network"),
    }.items():
        missing = subprocess.run(
            [taxocaps, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )
        assert missing.returncode == 2
        assert f"pip install 'taxocaps[{extra}]'" in missing.stderr
