"""Whether training will fit into memory, and what to do if not."""

import os

from taxocaps.nn.estimate import Estimate
from taxocaps.nn.words_matrix import NetworkConfig

__all__ = ["available_memory", "describe_memory"]


def available_memory() -> int | None:
    """Bytes of memory that this machine has; None where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a Unix system
        return None


def describe_memory(estimate: Estimate, available: int | None, config: NetworkConfig, batch_size: int) -> str:
    """A line for people: weights, memory and, if that is too much, what would take less.

    Args:
        estimate: What training takes.
        available: Bytes there are, if known.
        config: The network.
        batch_size: Documents of a step.
    """
    line = f"the network has {estimate.parameters:,} weights; training takes about {_gigabytes(estimate.memory)}"
    if available is None or estimate.memory < available:
        return line
    return f"{line}, but there are {_gigabytes(available)}; try {' and '.join(_advice(config, batch_size))}"


def _advice(config: NetworkConfig, batch_size: int) -> list[str]:
    """Config that take less memory, the one that takes least away first."""
    advice = []
    if config.head == "capsule" and config.sharing != "label":
        advice.append("network.sharing=label")
    if config.head == "capsule" and config.compress is None:
        advice.append("network.compress=128")
    if batch_size > 8:
        advice.append("training.batch_size=8")
    return [f"--set {setting}" for setting in advice] or ["a smaller graph.N, or fewer labels"]


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f} GB"
