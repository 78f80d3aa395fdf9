"""What training will take: weights to the last one, memory roughly."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from taxocaps.catalogue.presets import model_config
from taxocaps.catalogue.variants import VARIANTS
from taxocaps.nn.estimate import estimate_training
from taxocaps.nn.words_matrix import Sizes, WordsMatrixNetwork

SIZES = Sizes(vocabulary=50, D=6, N=10, T=20, labels=7)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
@pytest.mark.parametrize(
    "more", [{}, {"sharing": "none", "compress": 3, "gain": None}, {"normalization": "none"}], ids=str
)
def test_weights_are_counted_exactly(variant, more):
    small = {"filters": [5, 4], "units": 3, "channels": 3, "capsule_size": 2, "label_capsule_size": 5, "hidden": [6, 5]}
    config = model_config(variant.name, "default", {"network": {**small, **more}}).network
    network = WordsMatrixNetwork(config, SIZES)
    assert estimate_training(config, SIZES, 8).parameters == sum(weights.numel() for weights in network.parameters())


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
@pytest.mark.parametrize("preset", ["default", "paper-rcv1"])
def test_more_of_anything_takes_more_memory(variant, preset):
    config = model_config(variant.name, preset).network
    sizes = Sizes(vocabulary=1_000, D=50, N=20, T=20, labels=20)
    base = estimate_training(config, sizes, 8)
    assert base.memory > 4 * base.parameters
    assert estimate_training(config, sizes, 16).memory > base.memory
    for size in ("vocabulary", "D", "N", "T", "labels"):
        larger = replace(sizes, **{size: 2 * getattr(sizes, size)})
        assert estimate_training(config, larger, 8).memory > base.memory, size


def test_nothing_is_allocated():
    """The paper's EUR-Lex network with a matrix for every capsule and label would take two hundred gigabytes."""
    config = replace(model_config("HE-AGCRCNN", "paper-eurlex").network, sharing="none", compress=None)
    found = estimate_training(config, Sizes(50_000, 50, 200, 20, 3_956), 32)
    assert found.parameters > 200 * 64 * 16 * 64 * 3_956
    assert found.memory > 4 * 4 * found.parameters


STEP = """
import re, sys, torch
from pathlib import Path
from taxocaps.catalogue.presets import model_config
from taxocaps.nn.estimate import estimate_training
from taxocaps.nn.words_matrix import Sizes, WordsMatrixNetwork
torch.set_num_threads(1)
config, sizes, B = model_config(sys.argv[1], sys.argv[2]).network, Sizes(20_000, 50, 100, 20, 103), 32
network = WordsMatrixNetwork(config, sizes)
optimizer = torch.optim.Adam(network.parameters())
words = torch.randint(2, 20_000, (B, 100, 20), dtype=torch.int32)
blocks, counts = torch.ones(B, 100, 20, dtype=torch.int8), torch.ones(B, 100, dtype=torch.int8)
for _ in range(2):
    optimizer.zero_grad()
    network(words, blocks, counts).square().sum().backward()
    optimizer.step()
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
print(peak / estimate_training(config, sizes, B).memory)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measured by what Linux says about a process")
@pytest.mark.parametrize("preset", ["default", "paper-rcv1"])
@pytest.mark.parametrize("model", ["TGCNN", "GCCNN", "HE-AGCRCNN"])
def test_memory_is_about_what_a_step_takes(model, preset):
    ended = subprocess.run([sys.executable, "-c", STEP, model, preset], check=True, capture_output=True, text=True)
    assert re.fullmatch(r"[\d.]+", ended.stdout.strip())
    assert 0.5 < float(ended.stdout) < 2
