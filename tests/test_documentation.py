"""Every command that the guides for new users show runs, in the order of the guide, on files of the names they have."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from taxocaps.cli.main import main
from taxocaps.corpus.writers import write_documents
from taxocaps.datasets import toy
from taxocaps.taxonomy.writers import write_taxonomy

DOCS = Path(__file__).parents[1] / "docs"
QUICK = {
    ("train", "HE-AGCRCNN"): [
        "--set",
        "training.epochs=1",
        "--set",
        "training.min_steps=0",
        "--set",
        "prior.kind=none",
    ],
    ("embed",): ["--set", "label_vectors.epochs=1"],
    ("reconstruct",): ["--set", "label_vectors.epochs=1"],
}
"""Options that make a command quick; what it does is tested elsewhere."""


def commands(page):
    """The commands in the blocks of a page; prompts and comments apart."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for _, block in blocks for line in block.splitlines()]
    found = [shlex.split(line, comments=True) for line in lines if line.startswith("taxocaps ")]
    return [command[1:] for command in found if command[1] != "serve"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that the guides speak of, in the current folder."""
    monkeypatch.chdir(tmp_path)
    data = toy.load()
    documents = [replace(document, split=None, id=str(n)) for n, (_, document) in enumerate(data.documents(), 1)]
    for name in ("train.jsonl", "test.jsonl", "documents.jsonl", "more.jsonl"):
        write_documents(documents, tmp_path / name)
    for name in ("labels.tsv", "new.tsv"):
        write_taxonomy(data.taxonomy, tmp_path / name)
    texts = [document.text.replace(";", ",").replace("\n", " ") for document in documents]
    labels = ["|".join(document.labels) for document in documents]
    rows = [f"{text[:20]};{text};{names}" for text, names in zip(texts, labels, strict=True)]
    for name in ("news.csv", "new.csv"):
        (tmp_path / name).write_bytes(
            "\n".join(["Headline;Body;Topics", *rows, "Café;A café in town.;Sport"]).encode("cp1252")
        )
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", ["quickstart.md", "files.md"])
def test_commands_run(page, files, capsys):
    shown = commands(page)
    assert len(shown) > 6
    for command in shown:
        extra = next((options for words, options in QUICK.items() if set(words) <= set(command)), [])
        with pytest.raises(SystemExit) as ended:
            main([*command, *extra])
        captured = capsys.readouterr()
        assert ended.value.code == 0, f"{shlex.join(command)}: {captured.err}"


def test_what_is_said_of_the_table_is_what_is_said(files, capsys):
    with pytest.raises(SystemExit):
        main(["corpus", "check", "news.csv"])
    line = capsys.readouterr().err.splitlines()[0]
    assert line in (DOCS / "files.md").read_text(encoding="utf-8")
