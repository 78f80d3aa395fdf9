"""Measure a model on labelled documents, or predictions against the truth."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.document import Document
from taxocaps.corpus.label_names import LabelResolver
from taxocaps.corpus.labels import Classes, LabelLists, collect_classes, label_matrix
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.errors import CorpusError
from taxocaps.files import check_exists, read_lines
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.metrics.evaluation import evaluate as evaluate_labels
from taxocaps.progress import Progress, silent
from taxocaps.scorers.model import FittedModel
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.workflows.predict import as_model
from taxocaps.workflows.sources import encoded_stream, listed_documents

__all__ = ["evaluate", "evaluate_predictions", "evaluate_scores"]


def evaluate(
    model: Any,
    documents: Path | str,
    *,
    corpus: CorpusConfig | None = None,
    trust_code: bool = False,
    progress: Progress = silent,
) -> Evaluation:
    """Measure a model on labelled documents; labels that it never learned count as missed unless added as ancestors.

    Args:
        model: The folder of a model, or a fitted classifier.
        documents: A file of labelled documents, or a store.
        corpus: How to read a file.
        trust_code: Whether code that the model names may be run.
        progress: Told where the work stands.
    """
    path = Path(documents)
    check_exists(path)
    fitted = as_model(model, trust_code=trust_code)
    scores, labels = [], []
    for encoded in encoded_stream(path, fitted.scorer.encoder, corpus, model=fitted.name):
        scores.append(fitted.own_scores(encoded))
        labels += [document.labels or () for document in encoded.documents]
        progress("labelling documents", len(labels))
    _check_labelled(path, labels)
    progress("labelling documents", len(labels), len(labels))
    return evaluate_scores(fitted, labels, np.concatenate(scores))


def evaluate_scores(model: FittedModel, labels: LabelLists, own: NDArray[np.float32]) -> Evaluation:
    """Measure a model on documents with these `own_scores`, against their labels, given by id or by name."""
    classes, ancestors = model.classes, model.config.labels.ancestors
    labels = LabelResolver(classes.taxonomy).resolve_all(labels)
    truth = label_matrix(labels, classes.names, classes.taxonomy, ancestors)
    return model.evaluate(truth, own, labels=labels)


def evaluate_predictions(
    predictions: Path, truth: Path, corpus: CorpusConfig | None = None, *, taxonomy: Path | None = None
) -> Evaluation:
    """Measure predictions, such as `taxocaps predict` writes them, against labelled documents.

    Documents are matched by their ids, or their positions where they have none; predictions without ids one by one.

    Args:
        predictions: JSONL with `id` and `labels`: names, or objects with `label`.
        truth: Labelled documents.
        corpus: How to read them.
        taxonomy: For hierarchical metrics and levels, and for labels that are given by name.
    """
    documents = list(listed_documents(truth, corpus))
    labels: Sequence[Sequence[str]] = [document.labels or () for document in documents]
    _check_labelled(truth, labels)
    found: Sequence[Sequence[str]] = _matched(predictions, documents, truth)
    tree = read_taxonomy(taxonomy) if taxonomy else None
    if tree is not None:
        resolver = LabelResolver(tree)
        labels, found = resolver.resolve_all(labels), resolver.resolve_all(found)
        tree = tree.with_labels(sorted(set().union(*labels, *found)))
    names = collect_classes([*labels, *found], tree)
    classes = Classes(names, tree) if tree is not None else None
    return evaluate_labels(
        label_matrix(labels, names),
        label_matrix(found, names),
        names=names,
        levels=classes.levels if classes else None,
        closure=classes.full_closure if classes else None,
    )


def _check_labelled(path: Path, labels: Sequence[Sequence[str]]) -> None:
    if not any(labels):
        raise CorpusError(f"{path}: no document carries a label; there is nothing to measure against")


def _matched(path: Path, documents: Sequence[Document], truth: Path) -> list[tuple[str, ...]]:
    """The predicted labels of each document, in the order of the truth."""
    rows = [_row(path, number, line) for number, line in read_lines(path) if line.strip()]
    wanted = [document.id or str(position) for position, document in enumerate(documents, 1)]  # as `predict` names them
    if all(id is None for id, _ in rows):
        if len(rows) != len(wanted):
            raise CorpusError(
                f"{path}: has {len(rows):,} predictions without ids, and {truth} {len(wanted):,} documents; "
                "give predictions ids, or as many as documents"
            )
        return [labels for _, labels in rows]
    by_id = dict(rows)
    if len(by_id) != len(rows):
        raise CorpusError(f"{path}: an id stands there more than once; each document has one prediction")
    missing = [id for id in wanted if id not in by_id]
    if missing:
        raise CorpusError(
            f"{path}: no prediction for document {missing[0]!r} of {truth}"
            f"{f' and {len(missing) - 1:,} others' if len(missing) > 1 else ''}; predict them, or leave them out"
        )
    return [by_id[id] for id in wanted]


def _row(path: Path, number: int, line: str) -> tuple[str | None, tuple[str, ...]]:
    try:
        record: Any = json.loads(line)
        labels = record["labels"]
        if not isinstance(labels, list):
            raise TypeError("labels must be a list")
        names = tuple(str(one if isinstance(one, str) else one["label"]) for one in labels)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(
            f'{path}, line {number}: not a prediction; it must look like {{"id": "7", "labels": [{{"label": "a", '
            '"score": 0.9}]}'
        ) from error
    id = record.get("id")
    return None if id is None else str(id), names
