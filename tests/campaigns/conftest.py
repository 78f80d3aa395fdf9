"""Options of campaigns: how long, which seed, and where they are kept to be continued."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest


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
