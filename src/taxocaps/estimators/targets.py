"""The labels of documents in the forms that programs have them in: lists of names, one name each, or a matrix."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from taxocaps.corpus.classes import Classes
from taxocaps.corpus.labels import LabelConfig, collect_classes, label_matrix, resolve_labels
from taxocaps.errors import CorpusError
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["Targets", "read_targets"]

_NO_LABELS = "no document carries a label; there is nothing to learn"

Form = Literal["names", "single", "matrix"]


@dataclass(frozen=True)
class Targets:
    """The labels of documents.

    Attributes:
        form: The form they came in, in which predictions are given back.
        classes: The labels of the columns.
        labels: CSR [documents, L] of bool.
    """

    form: Form
    classes: Classes
    labels: csr_array


def read_targets(
    y: Any, taxonomy: Taxonomy | None, config: LabelConfig, *, known: Classes | None = None, more: Sequence[str] = ()
) -> Targets:
    """Read labels in any form.

    Args:
        y: Lists of names; or one name for each document; or an indicator matrix, dense or sparse, whose columns are
            all labels of the taxonomy, in its order, or `known`.
        taxonomy: The labels there are; None puts those of `y` side by side.
        config: How names are understood.
        known: The columns, if they are fixed already; other labels have none.
        more: Labels that get a column though no document may carry them.

    Raises:
        CorpusError: For a label that is not in the taxonomy, or a matrix that does not fit it.
    """
    if issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "biuf"):
        return _from_matrix(y, taxonomy, config, known)
    if y is None:
        raise CorpusError("every text needs its labels; got none")
    form: Form = "single" if len(y) and all(isinstance(labels, str) for labels in y) else "names"
    lists = [_as_names(labels, place) for place, labels in enumerate(y)]
    if known is not None:
        return Targets(form, known, label_matrix(lists, known.names, known.taxonomy, config.ancestors))
    if taxonomy is None:
        taxonomy = _side_by_side(set(more).union(*lists))
    resolved = resolve_labels(lists, taxonomy, config.unknown)
    names = collect_classes([*resolved.labels, more], resolved.taxonomy, config.ancestors)
    if not names:
        raise CorpusError(_NO_LABELS)
    classes = Classes(names, resolved.taxonomy)
    return Targets(form, classes, label_matrix(resolved.labels, names, resolved.taxonomy, config.ancestors))


def _as_names(labels: Any, place: int) -> tuple[str, ...]:
    if labels is None:
        return ()
    names = [labels] if isinstance(labels, str) else list(labels) if isinstance(labels, Iterable) else [labels]
    for name in names:
        if not isinstance(name, str):
            raise CorpusError(
                f"labels[{place}] must be names; got {name!r}; give text, or an indicator matrix as an array"
            )
    return tuple(map(str, names))


def _side_by_side(names: Iterable[str]) -> Taxonomy:
    if not names:
        raise CorpusError(_NO_LABELS)
    return Taxonomy.from_edges((), labels=sorted(names))


def _from_matrix(y: Any, taxonomy: Taxonomy | None, config: LabelConfig, known: Classes | None) -> Targets:
    matrix = csr_array(y).astype(bool)
    matrix.eliminate_zeros()
    is_new = known is None
    if known is None:
        tree = taxonomy or Taxonomy.from_edges((), labels=list(map(str, range(matrix.shape[1]))))
        known = Classes(tree.names, tree)
    if matrix.shape[1] != len(known):
        raise CorpusError(
            f"a label matrix has a column for each of the {len(known)} labels of the taxonomy, in its order; "
            f"got {matrix.shape[1]} columns"
        )
    if is_new and not matrix.nnz:
        raise CorpusError(_NO_LABELS)
    if config.ancestors == "add":
        matrix = csr_array(matrix @ known.closure)
    matrix.sort_indices()
    return Targets("matrix", known, matrix)
