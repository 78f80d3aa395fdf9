"""Training in two processes: one store for both, the same weights in both, the losses of one process."""

import csv
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import taxocaps
from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents

OPTIONS = {
    "model": "CNN-non-static",
    "vocabulary.min_count": 1,
    "vectors.dimension": 8,
    "vectors.epochs": 1,
    "network.filters": 8,
    "network.dropout": 0.0,
    "training.epochs": 4,
    "training.min_steps": 0,
    "training.batch_size": 4,
    "training.schedule": "constant",
    "training.warmup": 0.0,
    "training.device": "cpu",
}
WORDS = {
    "cats": "cat purr whisker kitten meow",
    "dogs": "dog bark tail puppy bone",
    "trees": "leaf root seed bloom oak",
}

SCRIPT = """
import functools, json, os, sys
from pathlib import Path

import torch

import taxocaps.training.trainer as trainer
import taxocaps.workflows.train as workflow
import taxocaps.workflows.training_data as data
from taxocaps.workflows.config import resolve_run_config

given = json.loads(Path(sys.argv[1]).read_text())
out, fit = Path(given["out"]), data.fit_model

def keep(*arguments):
    model = fit(*arguments)
    rank = os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0"))
    torch.save(model.scorer.objective.state_dict(), out.parent / f"weights-{out.name}-{rank}.pt")
    (out.parent / f"maps-{out.name}-{rank}").write_text(Path("/proc/self/maps").read_text())
    return model

data.fit_model = keep
# One process that adds up the gradients of two batches before each step does what two processes do.
trainer.Trainer = functools.partial(trainer.Trainer, accumulate_grad_batches=given["accumulate"])
options = resolve_run_config(options=given["options"])
workflow.train(workflow.TrainFiles(Path(given["train"]), None, Path(given["dev"])), out, options)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder, generator = tmp_path_factory.mktemp("corpus"), random.Random(2)

    def documents(count):
        for number in range(count):
            label = sorted(WORDS)[number % 3]
            yield Document(" ".join(generator.choices(WORDS[label].split(), k=8)), None, (label,))

    write_documents(documents(48), folder / "train.jsonl")
    write_documents(documents(16), folder / "dev.jsonl")
    for name in ("train", "dev"):
        taxocaps.encode(folder / f"{name}.jsonl", folder / name, model=OPTIONS["model"], jobs=1)
    return folder


def run(folder, name, corpus, *launcher, suffix="", devices=1, accumulate=1):
    given = {
        "out": str(folder / name),
        "train": str(corpus / f"train{suffix}"),
        "dev": str(corpus / f"dev{suffix}"),
        "options": {**OPTIONS, "training.devices": devices},
        "accumulate": accumulate,
    }
    (folder / f"{name}.json").write_text(json.dumps(given))
    (folder / "script.py").write_text(SCRIPT)
    command = [sys.executable, *launcher, folder / "script.py", folder / f"{name}.json"]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with (folder / name / "history.csv").open() as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def weights(folder, name, rank):
    import torch

    return torch.load(folder / f"weights-{name}-{rank}.pt", weights_only=True)


def assert_close(one, other, **tolerance):
    import torch

    assert one.keys() == other.keys()
    for name, values in one.items():
        torch.testing.assert_close(values, other[name], **tolerance)


@pytest.fixture(scope="module")
def alone(tmp_path_factory, corpus):
    """One process over the same documents, two batches a step."""
    folder = tmp_path_factory.mktemp("alone")
    return folder, run(folder, "alone", corpus, accumulate=2)


TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=29617")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see which files are mapped")
@pytest.mark.parametrize(
    ("launcher", "devices", "suffix"),
    [((), 2, ""), ((), 2, ".jsonl"), (TORCHRUN, 1, "")],
    ids=["devices", "files", "torchrun"],
)
def test_two_processes_do_the_steps_of_one(tmp_path, corpus, alone, launcher, devices, suffix):
    found = run(tmp_path, "two", corpus, *launcher, suffix=suffix, devices=devices)
    folder, wanted = alone
    assert_close(weights(tmp_path, "two", 0), weights(tmp_path, "two", 1), rtol=0, atol=0)
    assert len(found) == len(wanted) == 4
    for row, expected in zip(found, wanted, strict=True):
        assert row["step"] == expected["step"]
        for key in ("loss", "validation_loss", "micro_f1", "macro_f1"):
            assert row[key] == pytest.approx(expected[key], rel=1e-4), key
    assert_close(weights(tmp_path, "two", 0), weights(folder, "alone", 0), rtol=1e-3, atol=1e-5)
    for rank in range(2):
        maps = (tmp_path / f"maps-two-{rank}").read_text()
        store = tmp_path / "two" / ".training" / "stores" if suffix else corpus
        assert f"{store}/train/" in maps
        assert "process-1" not in maps
