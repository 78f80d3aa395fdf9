"""The estimate of training: parameters exactly, memory approximately."""

import dataclasses
import re
import subprocess
import sys

import pytest

from taxocaps.nn.network import Sizes
from taxocaps.nn.words_matrix import WordsMatrixConfig, WordsMatrixNetwork

SIZES = Sizes(vocabulary=50, D=6, N=10, T=20, labels=7)
AXES = {
    "TGCNN": {"recurrent": "none", "attention": "none", "head": "dense"},
    "TGRCNN": {"attention": "none", "head": "dense"},
    "TAGRCNN": {"head": "dense"},
    "GCCNN": {"recurrent": "none", "attention": "none"},
    "GCRCNN": {"attention": "none"},
    "AGCRCNN": {},
}
"""What the variants of the paper set apart from the defaults."""

PAPER = {
    "filters": (64, 128),
    "units": 128,
    "channels": 64,
    "capsule_size": 16,
    "label_capsule_size": 32,
    "iterations": 3,
    "gain": None,
    "normalization": "none",
    "pooling": "sum",
    "dropout": 0.0,
    "word_dropout": 0.0,
}
every_variant = pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
both_presets = pytest.mark.parametrize("preset", [{}, PAPER], ids=["default", "paper"])


@every_variant
@pytest.mark.parametrize(
    "more", [{}, {"sharing": "none", "compress": 3, "gain": None}, {"normalization": "none"}], ids=str
)
def test_parameters_are_counted_exactly(axes, more):
    small = {"filters": (5, 4), "units": 3, "channels": 3, "capsule_size": 2, "label_capsule_size": 5, "hidden": (6, 5)}
    config = WordsMatrixConfig(**small, **axes, **more)
    network = WordsMatrixNetwork(config, SIZES)
    found = WordsMatrixNetwork.estimate(config, SIZES, 8).parameters
    assert found == sum(parameter.numel() for parameter in network.parameters())


@every_variant
@both_presets
def test_more_of_anything_takes_more_memory(axes, preset):
    config = WordsMatrixConfig(**preset, **axes)
    sizes = Sizes(vocabulary=1_000, D=50, N=20, T=20, labels=20)
    base = WordsMatrixNetwork.estimate(config, sizes, 8)
    assert base.memory > 4 * base.parameters
    assert WordsMatrixNetwork.estimate(config, sizes, 16).memory > base.memory
    for size in ("vocabulary", "D", "N", "T", "labels"):
        larger = dataclasses.replace(sizes, **{size: 2 * getattr(sizes, size)})
        assert WordsMatrixNetwork.estimate(config, larger, 8).memory > base.memory, size


def test_nothing_is_allocated():
    """The paper's EUR-Lex network with a matrix for every capsule and label would take two hundred gigabytes."""
    config = WordsMatrixConfig(**{**PAPER, "label_capsule_size": 64}, sharing="none", compress=None)
    found = WordsMatrixNetwork.estimate(config, Sizes(vocabulary=50_000, D=50, N=200, T=20, labels=3_956), 32)
    assert found.parameters > 200 * 64 * 16 * 64 * 3_956
    assert found.memory > 4 * 4 * found.parameters


STEP = """
import re, sys, torch
from pathlib import Path
from taxocaps.nn.network import Sizes
from taxocaps.nn.words_matrix import WordsMatrixConfig, WordsMatrixNetwork
torch.set_num_threads(1)
sizes, B = Sizes(vocabulary=20_000, D=50, N=100, T=20, labels=103), 32
config = WordsMatrixConfig.model_validate_json(sys.argv[1])
network = WordsMatrixNetwork(config, sizes)
optimizer = torch.optim.Adam(network.parameters())
words = torch.randint(2, 20_000, (B, 100, 20), dtype=torch.int32)
blocks, counts = torch.ones(B, 100, 20, dtype=torch.int8), torch.ones(B, 100, dtype=torch.int8)
for _ in range(2):
    optimizer.zero_grad()
    network(words, blocks, counts).square().sum().backward()
    optimizer.step()
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
print(peak / WordsMatrixNetwork.estimate(config, sizes, B).memory)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory of a process from /proc")
@both_presets
@pytest.mark.parametrize("name", ["TGCNN", "GCCNN", "AGCRCNN"])
def test_memory_is_about_what_a_step_takes(name, preset):
    options = WordsMatrixConfig(**preset, **AXES[name]).model_dump_json()
    ended = subprocess.run([sys.executable, "-c", STEP, options], check=True, capture_output=True, text=True)
    assert re.fullmatch(r"[\d.]+", ended.stdout.strip())
    assert 0.5 < float(ended.stdout) < 2
