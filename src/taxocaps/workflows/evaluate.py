"""Measure a model on labelled documents, or predictions against the truth."""

import json
from pathlib import Path
from typing import Any

from taxocaps.corpus.classes import Classes
from taxocaps.corpus.fields import CorpusConfig
from taxocaps.corpus.labels import collect_classes, count_unseen, label_matrix
from taxocaps.errors import CorpusError
from taxocaps.estimators.base import Labelled
from taxocaps.estimators.model import FittedModel
from taxocaps.estimators.persistence import load_model
from taxocaps.files import read_lines
from taxocaps.metrics.evaluation import Evaluation, evaluate
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.workflows.labelled import Documents, read_labelled

__all__ = ["evaluate_documents", "evaluate_model", "evaluate_predictions"]


def evaluate_model(
    model: Path,
    test: Path,
    corpus: CorpusConfig | None = None,
    *,
    trust_code: bool = False,
    progress: Progress = silent,
) -> Evaluation:
    """Measure a model on labelled documents.

    Labels that the model cannot give count as missed.

    Args:
        model: The model's folder.
        test: Labelled documents.
        corpus: How to read them.
        trust_code: Whether a tokenizer that the model names may be run.
        progress: Told where the work stands.
    """
    fitted = load_model(model, trust_code=trust_code)
    documents = read_labelled(test, corpus or CorpusConfig())
    _check_labelled(test, documents)
    progress("labelling documents", 0, len(documents.texts))
    found = evaluate_documents(fitted, documents)
    progress("labelling documents", len(documents.texts), len(documents.texts))
    return found


def evaluate_documents(model: FittedModel, documents: Documents) -> Evaluation:
    """How good a model is on documents, whose labels may be unknown to it."""
    classes, ancestors = model.classes, model.config.labels.ancestors
    truth = label_matrix(documents.labels, classes.names, classes.taxonomy, ancestors)
    return model.evaluate(Labelled(documents.texts, truth), unseen=count_unseen(documents.labels, classes.names))


def evaluate_predictions(
    predictions: Path, truth: Path, corpus: CorpusConfig | None = None, *, taxonomy: Path | None = None
) -> Evaluation:
    """Measure predictions, such as `taxocaps predict` writes them, against labelled documents.

    Documents are matched by their ids, or their places where they have none; predictions without ids one by one.

    Args:
        predictions: JSONL with `id` and `labels`: names, or objects with `label`.
        truth: Labelled documents.
        corpus: How to read them.
        taxonomy: For hierarchical figures and levels.
    """
    documents = read_labelled(truth, corpus or CorpusConfig())
    _check_labelled(truth, documents)
    found = _matched(predictions, documents, truth)
    lists = [*documents.labels, *found]
    tree = read_taxonomy(taxonomy).with_labels(sorted(set().union(*lists))) if taxonomy else None
    names = collect_classes(lists, tree)
    classes = Classes(names, tree) if tree is not None else None
    return evaluate(
        label_matrix(documents.labels, names),
        label_matrix(found, names),
        names=names,
        levels=classes.levels if classes else None,
        closure=classes.full_closure if classes else None,
    )


def _check_labelled(path: Path, documents: Documents) -> None:
    if not any(documents.labels):
        raise CorpusError(f"{path}: no document carries a label; there is nothing to measure against")


def _matched(path: Path, documents: Documents, truth: Path) -> list[tuple[str, ...]]:
    """The predicted labels of each document, in the order of the truth."""
    rows = [_row(path, number, line) for number, line in read_lines(path) if line.strip()]
    wanted = [id or str(number) for number, id in enumerate(documents.ids, start=1)]  # as `predict` names them
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
