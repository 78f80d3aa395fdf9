"""The example package: a network that reads two encodings and a metric, one file each, installed and used."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a process that has the package installed."""
    folder = tmp_path_factory.mktemp("plugin")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--target", folder]
    subprocess.run([sys.executable, "-m", "pip", "install", *map(str, options), str(PLUGIN)], check=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture(scope="module")
def model(installed, toy_files, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "two-views"
    files = [toy_files.documents, toy_files.taxonomy]
    small = ["network.filters=8", "vectors.dimension=8", "vectors.epochs=1", "vocabulary.min_count=1"]
    options = [word for setting in small for word in ("--set", setting)]
    run(installed, "train", *files, "--model", "two-views", "--epochs", "2", "--out", out, "--quiet", *options)
    return out


def run(environment, *words, code=0):
    command = [sys.executable, "-m", "taxocaps", *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_the_network_is_listed_and_its_options_are_known(installed):
    assert "two-views" in run(installed, "models")
    config = run(installed, "config", "--model", "two-views")
    assert all(section in config for section in ("graph:", "tokens:", "filters: 128"))
    assert "network.filtres; did you mean network.filters?" in run(
        installed, "config", "--model", "two-views", "--set", "network.filtres=1", code=2
    )


def test_the_network_predicts_and_explains_with_both_views(installed, model, toy_files):
    lines = run(installed, "predict", model, toy_files.documents, "--trust-code").splitlines()
    assert len(lines) == 12
    text = "The goalkeeper saved the penalty."
    explained = json.loads(run(installed, "explain", model, "--text", text, "--trust-code", "--json"))
    assert explained["graph"]["nodes"]
    assert {word["word"] for word in explained["words"]} == {"goalkeeper", "save", "penalty"}


def test_the_metric_is_part_of_every_evaluation(installed, model, toy_files):
    found = json.loads(run(installed, "evaluate", model, toy_files.documents, "--trust-code", "--json"))
    assert 0 <= found["extra"]["label_coverage"] <= 1


def test_a_model_with_code_of_another_package_needs_trust(installed, model):
    message = run(installed, "predict", model, "--text", "x", code=2)
    assert "the model's network two-views is code of another package" in message
    assert "--trust-code" in message


def test_without_the_package_the_model_is_refused_in_one_line(model):
    message = run(dict(os.environ), "predict", model, "--text", "x", "--trust-code", code=2)
    assert "no network is called 'two-views'" in message
    assert message.count("\n") == 1
