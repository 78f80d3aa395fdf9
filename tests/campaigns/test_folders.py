"""Mutated model folders and stores: each gives labels, or one line that says why not; none crashes or hangs.

The short form tries a few of each kind. `make campaign` tries as many as its time allows, and continues where an
earlier campaign with the same seed stopped.
"""

from pathlib import Path

import pytest
from campaigns.campaign import run
from campaigns.mutations import mutate

from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.encoding.encoders import TokensConfig
from taxocaps.encoding.store_writer import write_store
from taxocaps.graph.config import GraphConfig
from taxocaps.scorers.persistence import save_model
from taxocaps.text.pipeline import TextConfig

pytestmark = [pytest.mark.campaign, pytest.mark.slow]

LINEAR = {"scorer": "linear", "bag": {"min_documents": 1}}
MODELS = {
    "linear": LINEAR,
    "joined": {"scorer": "joined", "members": {"words": LINEAR, "pairs": {**LINEAR, "bag": {"features": "pairs"}}}},
    "network": {},
}
SHORT = 60
"""Mutations of each kind in the short form."""


@pytest.fixture(scope="module")
def originals(fit, toys, tmp_path_factory):
    """Small folders of each kind: what is tried, and how."""
    folder = tmp_path_factory.mktemp("originals")
    for name, options in MODELS.items():
        (folder / name).mkdir()
        save_model(fit(options), folder / name)
    encoder = DocumentEncoder(TextConfig(), {"words-matrix": GraphConfig(), "tokens": TokensConfig()})
    (folder / "store").mkdir()
    write_store(toys.documents, encoder, folder / "store", cache=folder / "cache")
    return {**{name: ("model", folder / name) for name in MODELS}, "store": ("store", folder / "store")}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are those of Linux")
def test_mutated_folders_give_labels_or_one_line(originals, campaign_options, tmp_path, capsys):
    run("mutated folders", originals, mutate, campaign_options, tmp_path, SHORT, capsys)
