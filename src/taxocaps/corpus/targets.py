"""The labels of documents as a scikit-learn user gives them (`y`), in any form, as a label matrix."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from taxocaps.corpus.label_names import LabelResolver
from taxocaps.corpus.labels import Classes, LabelConfig, collect_classes, label_matrix, resolve_labels
from taxocaps.errors import CorpusError
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["TargetForm", "Targets", "is_label_matrix", "read_targets"]

TargetForm = Literal["names", "single", "matrix", "frame"]

_NO_LABELS = "no document carries a label; there is nothing to learn"


@dataclass(frozen=True)
class Targets:
    """The labels of documents.

    Attributes:
        form: The form they were given in: lists of names, a single name each, an indicator matrix or an indicator
            frame. Predictions are returned in the same form.
        classes: The labels of the columns.
        labels: CSR [documents, L] of bool.
        columns: The columns of a frame, in its order.
        lists: All labels of each document by their ids, if the columns were fixed before; None for a matrix.
    """

    form: TargetForm
    classes: Classes
    labels: csr_array
    columns: tuple[str, ...] = ()
    lists: Sequence[Sequence[str]] | None = None


def read_targets(
    y: Any, taxonomy: Taxonomy | None, config: LabelConfig, *, known: Classes | None = None, more: Sequence[str] = ()
) -> Targets:
    """Read labels in any form.

    Args:
        y: Lists of names; or one name for each document; or an indicator matrix, dense or sparse, whose columns are
            all labels of the taxonomy in its order, or those of `known`; or an indicator DataFrame with named columns.
        taxonomy: The labels that exist; None makes a flat list of those in `y`.
        config: How names are understood.
        known: The columns, if they are already fixed; labels that are not among them are ignored.
        more: Labels that get a column even if no document carries them.

    Raises:
        CorpusError: For a label that is not in the taxonomy, or a matrix that does not fit it.
    """
    if hasattr(y, "columns") and hasattr(y, "to_numpy"):
        return _from_frame(y, taxonomy, config, known, more)
    if is_label_matrix(y):
        return _from_matrix(y, taxonomy, config, known)
    if y is None:
        raise CorpusError("every text needs its labels; got none")
    form: TargetForm = "single" if len(y) and all(isinstance(labels, str) for labels in y) else "names"
    lists = [_as_names(labels, index) for index, labels in enumerate(y)]
    return _from_names(form, lists, taxonomy, config, known, more)


def is_label_matrix(y: Any) -> bool:
    """Whether labels are given as an indicator matrix, dense or sparse."""
    return bool(issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "biuf"))


def _from_frame(
    y: Any, taxonomy: Taxonomy | None, config: LabelConfig, known: Classes | None, more: Sequence[str]
) -> Targets:
    columns = tuple(map(str, y.columns))
    values = np.asarray(y.to_numpy(), bool)
    lists = [tuple(columns[column] for column in np.flatnonzero(row)) for row in values]
    unknown = [] if taxonomy is None or known is not None else [name for name in columns if name not in taxonomy]
    if taxonomy is not None and unknown:
        if config.unknown == "error":
            raise CorpusError(
                f"the column {unknown[0]!r} is not in the taxonomy; correct it, or set labels.unknown to add or drop"
            )
        taxonomy = taxonomy.with_labels(unknown) if config.unknown == "add" else taxonomy
    # Every column of the frame is a label of the model, even where no document of a fold carries it.
    named = [name for name in columns if taxonomy is None or name in taxonomy]
    found = _from_names("frame", lists, taxonomy, config, known=known, more=(*more, *named))
    if known is None and not values.any():
        raise CorpusError(_NO_LABELS)
    return Targets("frame", found.classes, found.labels, columns, found.lists)


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


def _as_names(labels: Any, index: int) -> tuple[str, ...]:
    """The labels of one document: a list of names, a single name, or None for no labels."""
    if labels is None:
        return ()
    names = list(labels) if isinstance(labels, Iterable) and not isinstance(labels, str) else [labels]
    for name in names:
        if not isinstance(name, str):
            raise CorpusError(
                f"labels[{index}] must be names; got {name!r}; give text, or an indicator matrix as an array"
            )
    return tuple(map(str, names))


def _from_names(
    form: TargetForm,
    lists: Sequence[tuple[str, ...]],
    taxonomy: Taxonomy | None,
    config: LabelConfig,
    known: Classes | None,
    more: Sequence[str],
) -> Targets:
    if known is not None:
        ids = LabelResolver(known.taxonomy).resolve_all(lists)
        matrix = label_matrix(ids, known.names, known.taxonomy, config.ancestors)
        return Targets(form, known, matrix, lists=ids)
    if taxonomy is None:
        given = set(more).union(*lists)
        if not given:
            raise CorpusError(_NO_LABELS)
        taxonomy = Taxonomy.from_edges((), labels=sorted(given))
    resolved = resolve_labels(lists, taxonomy, config.unknown)
    names = collect_classes([*resolved.labels, more], resolved.taxonomy, config.ancestors)
    if not names:
        raise CorpusError(_NO_LABELS)
    matrix = label_matrix(resolved.labels, names, resolved.taxonomy, config.ancestors)
    return Targets(form, Classes(names, resolved.taxonomy), matrix)
