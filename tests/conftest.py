"""Settings of all tests, and a model that many of them share."""

import os
import signal
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

# Machines are busy: an example that takes long is no failure. Where a change is judged, the same examples are tried
# every time; elsewhere new ones are.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("judge", settings.get_profile("house"), derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") else "house")

# A shell starts what runs in its background deaf to Ctrl-C, and so would be all processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def tiny():
    """Options that make a network as small as can be, whatever the defaults are."""
    return (
        "vocabulary.min_count=1",
        "vectors.dimension=8",
        "vectors.epochs=1",
        "network.filters=[8,8]",
        "network.units=8",
        "network.channels=4",
        "network.capsule_size=4",
        "network.label_capsule_size=4",
        "network.hidden=[8]",
        "network.head_filters=8",
        "walks.length=20",
        "label_vectors.dimension=8",
        "training.epochs=1",
        "training.batch_size=4",
        "training.device=cpu",
    )


@pytest.fixture(scope="session")
def toy_files(tmp_path_factory):
    """The twelve toy documents, whose field `split` parts them into train, dev and test, and their taxonomy."""
    from taxocaps.corpus.writers import write_documents
    from taxocaps.datasets import toy
    from taxocaps.taxonomy.writers import write_taxonomy

    folder, data = tmp_path_factory.mktemp("toy"), toy.load()
    write_documents([document for _, document in data.documents()], folder / "documents.jsonl")
    write_taxonomy(data.taxonomy, folder / "taxonomy.tsv")
    return SimpleNamespace(documents=folder / "documents.jsonl", taxonomy=folder / "taxonomy.tsv", data=data)


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory, toy_files, tiny):
    """A model trained on the toy documents; tests that would change it take a copy."""
    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.train import TrainFiles, train

    folder = tmp_path_factory.mktemp("toy-model") / "model"
    documents = toy_files.documents
    train(TrainFiles(documents, toy_files.taxonomy, documents, documents), folder, resolve_run_config(overrides=tiny))
    return folder
