"""The corpus of docstrings."""

import os
import subprocess
import sys
import sysconfig
import warnings
from collections import Counter
from pathlib import Path

import pytest

from taxocaps.corpus.statistics import check_corpus
from taxocaps.datasets import pydocs
from taxocaps.datasets.pydocs import STANDARD_LIBRARY, Docstring, package_folder, read_docstrings
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
    assert "skipped: sample_not_there" in description


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
    assert all(split.missing_ancestors.count == 0 for split in report.splits.values())


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
        "from taxocaps.config import fingerprint\n"
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


SOURCES = {
    "__init__.py": '"""The package."""\nraise SystemExit("nothing may be imported")\n',
    "linalg/__init__.py": '"""Linear algebra."""',
    "linalg/_norms.py": (
        '"""Private module."""\ndef norm():\n    """The norm."""\n    def inner():\n        """No."""\n'
    ),
    "shapes.py": (
        'class Box:\n    """A box."""\n    def open(self):\n        """Open it."""\n'
        '    def _lid(self):\n        """No."""\n'
        '    def __len__(self):\n        """Size."""\n    class Label:\n        """A label."""\n'
        'class _Hidden:\n    """No."""\n    def f(self):\n        """No."""\nasync def wait():\n    """Wait."""\n'
    ),
    "escapes.py": 'def f():\n    """A \\d escape."""\n    return "\\d"\n',
    "_internals/deep.py": '"""No."""',
    "linalg/_inner/deep.py": 'def g():\n    """Deep."""\n',
    "tests/test_a.py": '"""No."""',
    "externals/copy.py": '"""No."""',
    "not-a-package/x.py": '"""No."""',
    "broken.py": '"""No."""\ndef f(:\n',
    "nul.py": '"""No.\0"""',
    "latin.py": b'"""No \xff."""',
    "data.txt": '"""No."""',
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name, content in SOURCES.items():
        path = tmp_path / "pydocs_sample" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "pydocs_sample" / "gone.py").symlink_to(tmp_path / "nowhere.py")
    monkeypatch.syspath_prepend(tmp_path)
    return "pydocs_sample"


def test_public_docstrings_with_names_and_places(package):
    base, linalg = (package,), (package, "linalg")
    shapes = (package, "shapes")
    assert list(read_docstrings(package, 1)) == [
        Docstring(package, base, "The package."),
        Docstring(f"{package}.escapes.f", (package, "escapes"), r"A \d escape."),
        Docstring(f"{package}.shapes.Box", shapes, "A box."),
        Docstring(f"{package}.shapes.Box.open", shapes, "Open it."),
        Docstring(f"{package}.shapes.Box.__len__", shapes, "Size."),
        Docstring(f"{package}.shapes.Box.Label", shapes, "A label."),
        Docstring(f"{package}.shapes.wait", shapes, "Wait."),
        Docstring(f"{package}.linalg", linalg, "Linear algebra."),
        Docstring(f"{package}.linalg._norms", linalg, "Private module."),
        Docstring(f"{package}.linalg.norm", linalg, "The norm."),
        Docstring(f"{package}.linalg.g", linalg, "Deep."),
    ]


def test_folders_and_files_come_in_the_order_of_their_names(tmp_path, monkeypatch):
    names = [f"m{number:02d}" for number in range(20)]
    for name in [*names[1::2], *names[::2]]:
        for path in (tmp_path / "pydocs_order" / name / "__init__.py", tmp_path / "pydocs_order" / f"{name}x.py"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'"""About {path.name}."""')
    monkeypatch.syspath_prepend(tmp_path)
    found = [docstring.modules[1] for docstring in read_docstrings("pydocs_order", 1)]
    assert found == [*(f"{name}x" for name in names), *names]


def test_short_ones_are_left_out(package):
    assert [docstring.text for docstring in read_docstrings(package, 3)] == [r"A \d escape."]


def test_warnings_about_foreign_sources_do_not_come_out(package):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(read_docstrings(package, 1))


def test_the_standard_library_is_one_package():
    assert package_folder(STANDARD_LIBRARY) == Path(sysconfig.get_path("stdlib"))


def test_what_is_not_installed_has_no_folder():
    assert package_folder("no_such_package_at_all") is None
    assert list(read_docstrings("no_such_package_at_all", 1)) == []
    assert package_folder("this") is None  # a single file, not a package


def test_nothing_is_imported():
    program = (
        "import sys\n"
        "from taxocaps.datasets.pydocs import package_folder, read_docstrings\n"
        "assert package_folder('torch') and list(read_docstrings('networkx', 20))\n"
        "sys.exit('torch' in sys.modules or 'networkx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
