"""The benchmarks run on the package as it is, and one document is tokenised once, whatever is done with it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from taxocaps.corpus.writers import write_documents

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if "argparse" in path.read_text(encoding="utf-8"))

pytestmark = pytest.mark.slow


def run(script, *arguments):
    command = [sys.executable, FOLDER / script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_explains_itself(script):
    assert f"python benchmarks/{script}" in run(script, "--help")


def test_a_document_is_tokenised_once_and_encoded_once():
    walks = json.loads(run("walk.py", "--skip-start", "--json"))["walks"]
    assert {(one["command"], one["model"]): one["tokenised"] for one in walks if one["tokenised"] != 1} == {}
    # The words of an explanation of a linear model are weighed by a bag of their own.
    twice = {("explain", "SVM"), ("serve, explain", "SVM")}
    assert {(one["command"], one["model"]) for one in walks if one["encoded"] != 1} == twice


def test_kills_of_every_kind_lose_nothing(tmp_path):
    pytest.importorskip("ray")
    from taxocaps.datasets import toy
    from taxocaps.workflows.train import train

    (tmp_path / "data").mkdir()
    documents = [document for _, document in toy.load().documents()]
    write_documents(documents, tmp_path / "data" / "train.jsonl")
    train(tmp_path / "data" / "train.jsonl", tmp_path / "svm", model="SVM", bag__min_documents=1)
    shown = run("kills.py", tmp_path / "svm", "--data", tmp_path / "data", "--kills", "5", "--documents", "2000")
    assert "0 of them with other bytes" in shown
    assert "| ray node | 1 |" in shown


def test_memory_of_a_store_is_measured_on_a_few_documents(tmp_path):
    assert "| taxocaps train |" in run("store_memory.py", "--documents", "60", "--folder", tmp_path)


def test_corrections_outlive_kills_of_the_server():
    found = json.loads(run("feedback_kills.py", "--kills", "5", "--json"))
    assert found["acknowledged"] > 20
    assert (found["kills"], found["lost"], found["twice"], found["unknown"]) == (5, 0, 0, 0)
    assert found["integrity"] == "ok"
