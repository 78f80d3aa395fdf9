"""The line about memory that people see before training."""

import re
from pathlib import Path

import pytest

from taxocaps.estimators.memory import available_memory, describe_memory
from taxocaps.nn.estimate import Estimate
from taxocaps.nn.words_matrix import NetworkConfig

GIGABYTE = 2**30
CAPSULES = NetworkConfig()
DENSE = NetworkConfig(recurrent="none", attention="none", head="dense")


def test_enough_memory():
    wanted = "the network has 1,234,567 weights; training takes about 1.5 GB"
    for available in (2 * GIGABYTE, None):
        assert describe_memory(Estimate(1_234_567, 3 * GIGABYTE // 2), available, CAPSULES, 32) == wanted


@pytest.mark.parametrize(
    ("config", "batch_size", "advice"),
    [
        (CAPSULES, 32, "--set network.sharing=label and --set network.compress=128 and --set training.batch_size=8"),
        (NetworkConfig(sharing="label"), 32, "--set network.compress=128 and --set training.batch_size=8"),
        (NetworkConfig(compress=64), 8, "--set network.sharing=label"),
        (DENSE, 32, "--set training.batch_size=8"),
        (DENSE, 8, "a smaller graph.N, or fewer labels"),
        (NetworkConfig(sharing="label", compress=64), 4, "a smaller graph.N, or fewer labels"),
    ],
)
def test_too_little_memory_and_what_to_do(config, batch_size, advice):
    line = describe_memory(Estimate(1_000, 8 * GIGABYTE), 4 * GIGABYTE, config, batch_size)
    assert line.endswith(f"takes about 8.0 GB, but there are 4.0 GB; try {advice}")


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="compared with what Linux says")
def test_the_memory_of_this_machine():
    total = int(re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())[1]) * 1024
    assert available_memory() == pytest.approx(total, rel=0.05)


def test_a_machine_that_does_not_say(monkeypatch):
    monkeypatch.delattr("os.sysconf")
    assert available_memory() is None
