"""Peers and our models are measured alike, with dev documents and without, and pages say what the results say."""

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
LABELS = ("trade", "trade oil", "art", "art film")

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.syspath_prepend(FOLDER / "peers")


def document(number):
    labels = [*LABELS[:2]] if number % 2 else [*LABELS[2:]]
    words = ("barrels shipped abroad" if number % 2 else "a camera and an actor", f"number{number % 7}")
    return {"id": str(number), "text": " ".join(words), "labels": labels}


@pytest.fixture(params=["train dev test", "train test"])
def folder(request, tmp_path):
    home = tmp_path / "made-up"
    home.mkdir()
    for part, numbers in {"train": range(40), "dev": range(40, 50), "test": range(50, 60)}.items():
        if part in request.param.split():
            lines = (json.dumps(document(number)) + "\n" for number in numbers)
            (home / f"{part}.jsonl").write_text("".join(lines))
    tree = "Root\ttrade\ntrade\ttrade oil\nRoot\tart\nart\tart film\nart\tart song\tart: song\n"
    (home / "taxonomy.tsv").write_text(tree)
    return home


def test_a_peer_learns_from_all_and_is_measured(folder, tmp_path):
    from peers import metrics

    out = tmp_path / "found"
    command = [sys.executable, FOLDER / "peers" / "run_scikit_learn.py", folder, out, "characters"]
    subprocess.run(command, check=True)
    report = json.loads(out.with_suffix(".json").read_text())
    assert report["train"]["cpu_seconds"] > report["fit"]["cpu_seconds"] > 0
    with np.load(out.with_suffix(".npz")) as found:
        assert found["names"].tolist() == ["art", "art film", "trade", "trade oil", "art song"]
        assert found["test"].shape == (10, 5)
        assert found["held_out"].shape == ((10 if (folder / "dev.jsonl").exists() else 40), 5)
        assert np.isneginf(found["test"][:, 4]).all()  # nothing was learned about it
    evaluation = metrics(folder, out.with_suffix(".npz"), report["kind"])
    assert evaluation.flat.micro.f1 == evaluation.flat.macro.f1 == 1
    assert evaluation.new_labels is None


def test_a_run_needs_no_dev_documents(folder, tmp_path, monkeypatch):
    import run
    from grid import Run

    monkeypatch.setattr(run, "WORK", tmp_path / "runs")
    found = run.execute(Run("made-up", "SVM", "default", 0, (), ("test",)), folder, 1)
    assert found["test"]["flat"]["micro"]["f1"] == 1
    assert len(found["test"]["reliability"]) == 15
    assert min(found["train"]["cpu_seconds"], found["predict"]["cpu_seconds"]) > 0
    assert run.statistics(folder)["documents"]["test"] == 10


def test_a_few_documents_are_drawn(folder):
    from draw import draw

    out = draw(folder, 5, seed=1)
    assert out.name == "made-up5-1"
    lines = (folder / "train.jsonl").read_text().splitlines()
    assert (out / "train.jsonl").read_text().splitlines() == random.Random(1).sample(lines, 5)
    assert {path.name for path in out.iterdir()} == {"train.jsonl", "test.jsonl", "taxonomy.tsv"}


def test_an_experiment_may_have_variants_and_samples(tmp_path):
    from grid import read_grid

    path = tmp_path / "grid.toml"
    path.write_text(
        '[a]\nabout = "A"\ndata = ["x-0", "x-1"]\nmodels = ["SVM"]\nseeds = [0]\nvariants = [[], ["b=1"]]\n'
    )
    runs = read_grid(path)["a"].runs
    assert [(run.data, run.settings) for run in runs] == [
        ("x-0", ()),
        ("x-0", ("b=1",)),
        ("x-1", ()),
        ("x-1", ("b=1",)),
    ]


def measured(f1, **more):
    averages = {"precision": f1, "recall": f1, "f1": f1}
    test = {
        "documents": 10,
        "flat": {"micro": averages, "macro": averages, "samples": averages},
        "hierarchical": averages,
        "ranking": {"precision": {"1": 0.5, "5": 0.25}},
        "calibration_error": 0.125,
        "reliability": [{"centre": 0.5, "mean_score": 0.4, "observed": 0.5, "count": 8}],
        "nearly_sure": {"low": 0.85, "high": 0.95, "count": 4, "observed": 0.75},
        "new_labels": {"support": 2, "predicted": 1, "micro": averages},
    }
    return {"test": test, "train": {"cpu_seconds": 3}, "predict": {"cpu_seconds": 2}, "peak_megabytes": 9, **more}


@pytest.fixture
def results():
    ours = {
        f"a{sample}": measured(
            0.7 + sample / 10, data=f"pydocs500-{sample}", model="auto", preset="default", settings=[]
        )
        for sample in (0, 2)
    }
    theirs = {"o": measured(0.6, data="pydocs500-0", peer="omikuji", kind="scores")}
    theirs["s"] = measured(0.5, data="pydocs500-0", peer="scikit-learn, words", kind="margins")
    theirs["h"] = {"data": "pydocs500-1", "peer": "HiClass per node", "failed": "no memory"}
    return ours, theirs


def test_our_models_stand_beside_the_programs_of_others(results):
    from beside import beside_tables, in_words

    page = beside_tables(*results)
    assert "### 500 Python docstrings" in page
    assert (
        "| taxocaps auto | 0.800 ± 0.141 | 0.800 ± 0.141 | 0.800 | 0.800 | 0.500 | 0.250 | 0.125 | 3.0 | 5 | 9 MB |"
        in page
    )
    assert "| scikit-learn, words | 0.500 | 0.500 | 0.500 | 0.500 | 0.500 | 0.250 |  | 3.0 | 5 | 9 MB |" in page
    assert "HiClass per node on pydocs500-1: no memory." in page
    (line,) = in_words(*results)
    assert "in micro-F1 auto (0.800) beats omikuji (0.600)" in line


def test_how_far_scores_can_be_believed(results, tmp_path):
    from beside import reliability, sure_table
    from figures import draw_reliability

    assert "| 500 Python docstrings | 0.125 | 8 | 0.750 | 4 | 2 | 0.800 |" in sure_table(results[0]).markdown()
    draw_reliability(reliability(results[0]), tmp_path / "reliability.png")
    assert (tmp_path / "reliability.png").stat().st_size > 1_000


def test_what_each_kind_of_evidence_brings():
    from beside import evidence_table
    from grid import Experiment, Run

    runs = [
        Run("reuters", "auto", "default", 0, settings, ("test",))
        for settings in ((), ("without=rank",), ("without=name",))
    ]
    found = {runs[0].key: measured(0.9), runs[1].key: measured(0.875)}
    rows = evidence_table([Experiment("e", "", tuple(runs))], found).rows
    assert rows == [
        ("nothing", "0.900", "0.900"),
        ("rank", "0.875 (-0.025)", "0.875 (-0.025)"),
        ("name", "", ""),
    ]
