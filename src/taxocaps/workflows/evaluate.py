"""Measure a model on labelled documents, or predictions against the truth."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.document import Document
from taxocaps.corpus.frames import as_path, is_frame
from taxocaps.corpus.label_names import LabelResolver
from taxocaps.corpus.labels import Classes, LabelLists, collect_classes, label_matrix
from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.corpus.shards import nothing_read
from taxocaps.errors import CorpusError
from taxocaps.files import digest, read_lines
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.metrics.evaluation import evaluate as evaluate_labels
from taxocaps.progress import Pace, Progress, silent
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.workflows.bulk import Engine, EngineKind
from taxocaps.workflows.predict import as_model
from taxocaps.workflows.processes import once
from taxocaps.workflows.sources import encoded_shard, input_files, input_shards, label_problem, listed_documents
from taxocaps.workflows.trained_on import read_like

__all__ = ["evaluate", "evaluate_predictions", "evaluate_scores"]


def evaluate(  # noqa: PLR0913 - a front door: each argument stands for itself
    model: Any,
    documents: Any,
    *,
    corpus: CorpusConfig | None = None,
    jobs: int | None = None,
    engine: EngineKind = "processes",
    address: str | None = None,
    trust_code: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
) -> Evaluation:
    """Measure a model on labelled documents.

    Labels that the model never learned count as missed, unless it adds them as ancestors of others.

    Args:
        model: The folder of a model, or a fitted classifier.
        documents: A file or folder of labelled documents, a pattern, a list of such paths, a store, or a frame of
            pandas or polars.
        corpus: How to read files.
        jobs: The number of processes, or of actors, that score documents; by default one per core. Few documents, and
            those of a model without a folder, are scored in this process.
        engine: `processes` of this machine, or `ray`: actors of a Ray cluster.
        address: The address of the cluster, such as `auto`; by default one is started on this machine.
        trust_code: Whether code that the model names may be run.
        progress: Called with the progress of the work.
        tell: Called with messages for the user, such as how many broken records were skipped.
    """
    if is_frame(documents):
        with as_path(documents) as path:
            how: dict[str, Any] = {"jobs": jobs, "engine": engine, "address": address, "trust_code": trust_code}
            return evaluate(model, path, corpus=corpus, progress=progress, tell=tell, **how)
    corpus, workers = read_like(model, corpus), Engine(engine, jobs, address)
    files = input_files(documents, corpus)
    fitted = as_model(model, trust_code=trust_code)
    given = input_shards(files, corpus)
    if given.is_one or not isinstance(model, str | Path):
        results: Iterable[ScoredShard] = (score_shard(fitted, shard, corpus) for shard in given.shards)
    else:
        results = workers.map(ShardScorer(Path(model), corpus, trust_code), given.shards)
    pace, report = Pace(given.size), ReadReport()
    scores, labels = [np.zeros((0, len(fitted.classes)), np.float32)], list[tuple[str, ...]]()
    for found in results:
        scores.append(found.scores)
        labels += found.labels
        report.add(found.skipped, found.problems)
        pace.add(len(found.labels), found.size)
        progress("labelling documents", len(labels), None, pace.note)
    if not labels:
        raise nothing_read(files, corpus, report)
    if report.skipped:
        tell(report.summary)
    _check_labelled(files[0], labels, corpus)
    progress("labelling documents", len(labels), len(labels))
    return evaluate_scores(fitted, labels, np.concatenate(scores))


@dataclass(frozen=True)
class ScoredShard:
    """The scores of the documents of a shard, as `own_scores` gives them, their labels, and what was left out."""

    scores: NDArray[np.float32]
    labels: list[tuple[str, ...]]
    size: int
    skipped: int
    problems: tuple[str, ...]


@dataclass(frozen=True)
class ShardScorer:
    """Scores each shard with the model of a folder, in any process."""

    model: Path
    corpus: CorpusConfig
    trust_code: bool

    def with_model(self, folder: Path) -> "ShardScorer":
        """The same with the model in another folder."""
        return replace(self, model=folder)

    def __call__(self, shard: Any) -> ScoredShard:
        """Score the documents of a shard."""
        load = partial(load_model, self.model, trust_code=self.trust_code, threads=1)
        return score_shard(once(f"{self.model} {digest(self.model / 'versions.json')}", load), shard, self.corpus)


def score_shard(model: FittedModel, shard: Any, corpus: CorpusConfig) -> ScoredShard:
    """Score the documents of a shard."""
    scores, labels = [np.zeros((0, len(model.classes)), np.float32)], list[tuple[str, ...]]()
    report = ReadReport()
    for encoded in encoded_shard(shard, model, corpus, report):
        scores.append(model.own_scores(encoded))
        labels += [document.labels or () for document in encoded.documents]
    return ScoredShard(np.concatenate(scores), labels, shard.size, report.skipped, tuple(report.messages))


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
    _check_labelled(truth, labels, corpus)
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


def _check_labelled(path: Any, labels: Sequence[Sequence[str]], corpus: CorpusConfig | None) -> None:
    if not any(labels):
        reason = label_problem(path, corpus) or "there is nothing to measure against"
        raise CorpusError(f"{path}: no document carries a label; {reason}")


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
    if None in by_id:
        raise CorpusError(f"{path}: some predictions have no id, and others have; give all of them ids, or none")
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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorpusError(
            f'{path}, line {number}: not a prediction; it must look like {{"id": "7", "labels": [{{"label": "a", '
            '"score": 0.9}]}'
        ) from error
    id = record.get("id")
    return None if id is None else str(id), names
