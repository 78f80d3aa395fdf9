"""The embedded corpus: docstrings of Python and of the packages taxocaps installs, labelled with their modules."""

import hashlib
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from taxocaps.corpus.dataset import Dataset
from taxocaps.corpus.document import Document
from taxocaps.datasets.docstrings import STANDARD_LIBRARY, Docstring, package_folder, read_docstrings
from taxocaps.errors import CorpusError
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PACKAGES", "ROOT", "load"]

PACKAGES = (
    STANDARD_LIBRARY,
    "fsspec",
    "gensim",
    "jinja2",
    "joblib",
    "mpmath",
    "networkx",
    "numba",
    "numpy",
    "rich",
    "scipy",
    "sklearn",
    "sympy",
    "torch",
    "typer",
)
"""The packages whose docstrings are read; an installation of taxocaps brings all of them."""

ROOT = "python-docs"
"""The root of the taxonomy; no document carries it."""

_LEVELS = 3
_SHARES = {"train": 70, "dev": 15, "test": 15}


def load(
    min_words: int = 20,
    min_documents: int = 25,
    packages: Sequence[str] = PACKAGES,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Make the corpus from the source files at hand; the same files always give the same corpus.

    Each docstring is a document. Its labels are the modules it lies in, at most three levels of them ("scipy",
    "scipy.sparse", "scipy.sparse.linalg"); a text that stands in several places is one document with the labels of all.

    Args:
        min_words: Shorter docstrings are left out.
        min_documents: A label with fewer documents is dropped; its documents keep the labels above it.
        packages: Top-level packages, "python" for the standard library; those not installed are left out.
        progress: Told how many packages are read, out of how many.

    Raises:
        CorpusError: When nothing is left.
    """
    installed = [name for name in packages if package_folder(name)]
    found: list[Docstring] = []
    for number, name in enumerate(installed, 1):
        found += read_docstrings(name, min_words)
        if progress:
            progress(number, len(installed))
    documents = _drop_rare(_merge(found), min_documents)
    if not documents:
        raise CorpusError(
            f"no docstrings of {min_words} words or more with a label of {min_documents} documents or more in: "
            f"{', '.join(packages)}; name other packages or lower the limits"
        )
    return Dataset(
        name="pydocs",
        splits={split: tuple(d for d in documents if d.split == split) for split in _SHARES},
        taxonomy=_taxonomy(documents),
        description=_description(installed, [name for name in packages if name not in installed]),
    )


def _merge(docstrings: Iterable[Docstring]) -> list[Document]:
    """One document for each text, named after the first of its places; white space makes no difference."""
    places: dict[str, list[Docstring]] = {}
    for docstring in sorted(docstrings):
        places.setdefault(" ".join(docstring.text.split()), []).append(docstring)
    names: Counter[str] = Counter()
    documents = []
    for text, same in places.items():
        name = same[0].name
        names[name] += 1
        number = f"#{names[name]}" if names[name] > 1 else ""
        labels = sorted({label for docstring in same for label in _labels(docstring.place)})
        documents.append(Document(same[0].text, f"{name}{number}", tuple(labels), split=_split(text)))
    return documents


def _labels(place: Sequence[str]) -> list[str]:
    return [".".join(place[: depth + 1]) for depth in range(min(len(place), _LEVELS))]


def _split(text: str) -> str:
    """The split that the text itself decides, so that it does not move when other documents come or go."""
    draw = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") % 100
    return next(split for split, end in _ends() if draw < end)


def _ends() -> list[tuple[str, int]]:
    shares = list(_SHARES.items())
    return [(split, sum(share for _, share in shares[: number + 1])) for number, (split, _) in enumerate(shares)]


def _drop_rare(documents: Sequence[Document], min_documents: int) -> list[Document]:
    counts = Counter(label for document in documents for label in document.labels or ())
    kept = (
        replace(d, labels=tuple(label for label in d.labels or () if counts[label] >= min_documents)) for d in documents
    )
    return [document for document in kept if document.labels]


def _taxonomy(documents: Iterable[Document]) -> Taxonomy:
    labels = sorted({label for document in documents for label in document.labels or ()})
    return Taxonomy.from_edges((label.rpartition(".")[0] or ROOT, label) for label in labels)


def _description(installed: Sequence[str], missing: Sequence[str]) -> str:
    left_out = f" Not installed, so left out: {', '.join(missing)}." if missing else ""
    return f"Docstrings of {', '.join(installed)} (Python {platform.python_version()}), labelled by module.{left_out}"
