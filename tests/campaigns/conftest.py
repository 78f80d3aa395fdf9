"""Options of campaigns: how long, which seed, and where they are kept to be continued; and a place to try commands."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from campaigns.machine import make_place, usual


@pytest.fixture(scope="session")
def campaign_options(pytestconfig):
    """As given; without a time, the short form with the same seed every time, of which nothing is kept."""
    minutes, seed = (pytestconfig.getoption(f"campaign_{name}") for name in ("minutes", "seed"))
    if minutes and seed is None:
        seed = int.from_bytes(os.urandom(4), "little")

    def folder(temporary):
        kept = Path(pytestconfig.getoption("campaign_folder")) if minutes else temporary
        kept.mkdir(parents=True, exist_ok=True)
        return kept

    return SimpleNamespace(minutes=minutes, seed=seed or 0, jobs=(os.cpu_count() or 1) if minutes else 1, folder=folder)


@pytest.fixture(scope="session")
def usually(tmp_path_factory):
    """A place, and what commands make there, in how many seconds, where nothing fails."""
    folder = tmp_path_factory.mktemp("machine")
    make_place(folder / "original")
    contents, seconds = usual(folder / "original", folder)
    return SimpleNamespace(original=folder / "original", contents=contents, seconds=seconds)
