import os
import subprocess
import sys
from collections import Counter

import pytest

from taxocaps.corpus.statistics import check_corpus
from taxocaps.datasets import pydocs
from taxocaps.errors import CorpusError


@pytest.fixture
def packages(tmp_path, monkeypatch):
    sources = {
        "sample_a/__init__.py": '"""Package a about apples."""',
        "sample_a/core/fruit/apple/deep.py": '"""Deep module about it."""\ndef f():\n    """Same text\n    here."""\n',
        "sample_a/core/_private.py": 'def g():\n    """Private function g."""\ndef g():\n    """Another g here."""\n',
        "sample_b/__init__.py": 'def f():\n    """Same   text here."""\n',
        "sample_b/rare.py": '"""Rare but long enough."""',
    }
    for name, content in sources.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    return ("sample_a", "sample_b", "sample_not_there")


def documents(dataset):
    return {document.id: document for split in dataset.splits.values() for document in split}


def test_documents_and_labels(packages):
    found = documents(pydocs.load(3, 1, packages))
    assert {name: document.labels for name, document in found.items()} == {
        "sample_a": ("sample_a",),
        "sample_a.core.fruit.apple.deep": ("sample_a", "sample_a.core", "sample_a.core.fruit"),
        "sample_a.core.fruit.apple.deep.f": ("sample_a", "sample_a.core", "sample_a.core.fruit", "sample_b"),
        "sample_a.core.g": ("sample_a", "sample_a.core"),
        "sample_a.core.g#2": ("sample_a", "sample_a.core"),
        "sample_b.rare": ("sample_b", "sample_b.rare"),
    }
    assert found["sample_a.core.fruit.apple.deep.f"].text == "Same text\nhere."
    assert found["sample_a.core.g"].text == "Another g here."


def test_rare_labels_go_and_documents_keep_the_upper_ones(packages):
    dataset = pydocs.load(3, 2, packages)
    assert documents(dataset)["sample_b.rare"].labels == ("sample_b",)
    assert dataset.taxonomy.edges == (
        ("python-docs", "sample_a"),
        ("python-docs", "sample_b"),
        ("sample_a", "sample_a.core"),
        ("sample_a.core", "sample_a.core.fruit"),
    )
    assert set(documents(pydocs.load(3, 3, packages))) == set(documents(dataset)) - {"sample_b.rare"}


def test_what_is_not_installed_is_named(packages):
    description = pydocs.load(3, 1, packages).description
    assert "Docstrings of sample_a, sample_b (Python" in description
    assert "left out: sample_not_there" in description


def test_nothing_found_is_an_error(packages):
    with pytest.raises(CorpusError, match=r"no docstrings of 3 words or more .*: sample_not_there; "):
        pydocs.load(3, 1, packages[2:])


def test_a_text_keeps_its_split_whatever_else_is_there(packages):
    alone = documents(pydocs.load(3, 1, packages[:1]))
    both = documents(pydocs.load(3, 1, packages))
    assert all(both[name].split == document.split for name, document in alone.items())


def test_the_order_of_packages_makes_no_difference(packages):
    assert pydocs.load(3, 1, packages[1::-1]).splits == pydocs.load(3, 1, packages[:2]).splits


def test_the_shares_of_the_splits_and_no_leak_on_a_real_package():
    dataset = pydocs.load(packages=("networkx",))
    sizes = {split: len(found) for split, found in dataset.splits.items()}
    total = sum(sizes.values())
    assert total > 500
    for split, share in {"train": 0.7, "dev": 0.15, "test": 0.15}.items():
        assert sizes[split] / total == pytest.approx(share, abs=0.05)
    report = check_corpus(dataset.documents(), dataset.taxonomy)
    assert (report.shared_texts, report.shared_ids, report.unknown_labels, report.unused_labels) == ({}, {}, (), ())
    assert all(split.lacking_ancestors.count == 0 for split in report.splits.values())


@pytest.mark.slow
def test_the_whole_corpus():
    dataset = pydocs.load()
    found = [document for split in dataset.splits.values() for document in split]
    counts = Counter(label for document in found for label in document.labels)
    assert 12_000 < len(found) < 40_000
    assert 150 < len(dataset.taxonomy) < 500
    assert len(dataset.taxonomy.levels) == 4
    assert min(counts.values()) >= 25
    assert min(len(document.text.split()) for document in found) >= 20
    assert {"python", "numpy", "torch", "scipy.sparse.linalg"} <= set(counts)
    ids = {document.id for document in found}
    assert len(ids) == len(found)
    assert {"numpy.linalg.norm", "json.decoder.JSONDecoder"} <= ids
    report = check_corpus(dataset.documents(), dataset.taxonomy)
    assert (report.shared_texts, report.shared_ids, report.unknown_labels, report.unused_labels) == ({}, {}, (), ())


@pytest.mark.slow
def test_the_hash_seed_makes_no_difference():
    program = (
        "from taxocaps.datasets import pydocs\n"
        "from taxocaps.settings import fingerprint\n"
        "dataset = pydocs.load(packages=('python', 'networkx', 'rich'))\n"
        "print(fingerprint([[d.id, d.text, d.labels, d.split] for s in dataset.splits.values() for d in s]))\n"
        "print(dataset.taxonomy.fingerprint)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
