"""Learn from corrections: fit a model again with corrected documents, and keep the better one."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.config import fingerprint, merge
from taxocaps.corpus.labels import collect_classes, label_matrix
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.encoding.store import is_store
from taxocaps.errors import CorpusError, FileError, ModelError
from taxocaps.feedback.corrections import read_corrections
from taxocaps.files import check_exists, digest, exchange_folders
from taxocaps.metrics.classification import document_counts, flat_metrics
from taxocaps.progress import Progress, silent
from taxocaps.scorers.base import Examples, FitContext
from taxocaps.scorers.decision import count_labels
from taxocaps.scorers.fitting import fit_with_scores, has_folds, refit_model
from taxocaps.scorers.folds import document_folds
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.workflows.config import RunConfig, files_and_options, refuse_both, resolve_run_config
from taxocaps.workflows.folders import WorkFolder, read_versions
from taxocaps.workflows.parts import part_of
from taxocaps.workflows.train import add_pages, like_model
from taxocaps.workflows.trained_on import (
    Corrections,
    HeldOutRows,
    TrainedOn,
    read_like,
    read_trained_on,
    write_trained_on,
)
from taxocaps.workflows.training_data import TrainFiles, TrainingData

__all__ = ["Comparison", "LearnFiles", "LearnReport", "Quality", "go_back", "learn"]

HeldOutDocuments = Literal["test documents", "corrections, out of fold", "corrections, held out"]

_FEW = 0.1
"""Up to this share of documents that are new or changed, calibration, thresholds and the join of members stay."""
_FOLDS = 5
_HELD_OUT = 5
"""Every so many-th correction is held out where a model has no folds."""


@dataclass(frozen=True)
class LearnFiles:
    """The files that learning reads and writes; documents may be in any format.

    Attributes:
        feedback: Corrected documents: a file, or a store of corrections; by default the one beside the model.
        train: The training documents; by default the files that the model was trained on.
        test: The documents on which the old and the new model are compared; by default the test documents of the model.
        out: The folder of the new model; by default it replaces the old one.
    """

    feedback: Path | None = None
    train: Path | None = None
    test: Path | None = None
    out: Path | None = None


@dataclass(frozen=True)
class Quality:
    """How good the labels of a model are."""

    micro_f1: float
    macro_f1: float


@dataclass(frozen=True)
class Comparison:
    """Two models on the same documents, which neither has learned from.

    Attributes:
        on: Which documents these are.
        documents: Their number.
        before: The old model; macro-F1 is over the labels that these documents carry.
        after: The new model, which has learned from corrections.
        standard_error: The standard error of the difference in micro-F1.
    """

    on: HeldOutDocuments
    documents: int
    before: Quality
    after: Quality
    standard_error: float

    @property
    def is_worse(self) -> bool:
        """Whether micro-F1 falls by more than one standard error."""
        return self.after.micro_f1 < self.before.micro_f1 - self.standard_error


@dataclass(frozen=True)
class LearnReport:
    """The result of learning from corrections.

    Attributes:
        out: The folder of the new model; if the old one is better, it stays there.
        is_replaced: Whether there is a new model.
        corrections: The number of corrected documents.
        added: How many of them the model was not trained on.
        way: Whether thresholds, and the join of members, were kept or fitted anew.
        comparison: Both models on the same documents; None if there are none to compare them on.
        seconds: How long it took.
    """

    out: str
    is_replaced: bool
    corrections: int
    added: int
    way: Literal["kept", "anew"]
    comparison: Comparison | None
    seconds: float


def learn(
    model: Path | str,
    files: LearnFiles | Path | str | None = None,
    config: RunConfig | None = None,
    *,
    anyway: bool = False,
    trust_code: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
    **options: Any,
) -> LearnReport:
    """Fit a model again to the documents it was trained on, with corrected ones in their place or added to them.

    The new model takes the place of the old one, which is kept as `MODEL.before`, unless its micro-F1 falls, by more
    than chance explains, on documents that neither has learned from. Where the old one has learned from all of these
    corrections already, `MODEL.before` stays the model that had not.

    Args:
        model: The folder of a model.
        files: What is read and written (`LearnFiles`), or the path of corrected documents or of a store of corrections.
        config: How documents are read, and options of the model that change; by default only `options` change.
        anyway: Replace the old model even by a worse one, and even if they cannot be compared.
        trust_code: Whether code that the model names may be run.
        progress: Called with the progress of the work.
        tell: Called with messages for the user.
        options: Fields of `LearnFiles` such as `test="test.jsonl"`, and options such as `labels__unknown="add"`.
    """
    began = time.monotonic()
    folder = Path(model)
    paths, options = files_and_options(LearnFiles, files, options)
    for path in (paths.feedback, paths.train, paths.test):
        if path is not None:
            check_exists(path)
    if paths.out is not None and paths.out.exists():
        raise FileError(f"{paths.out}: is already there; choose another --out")
    read_versions(folder)
    refuse_both(config, options)
    config = config or resolve_run_config(options=options, start=folder, beside=_BESIDE)
    known, start = read_trained_on(folder), load_model(folder, trust_code=trust_code)
    sources, held_out = _sources(folder, paths, known, tell)
    older, newer = (
        Corrections(known.corrections),
        Corrections(read_corrections(paths.feedback or folder, read_like(folder, config.corpus))),
    )
    is_repeated = paths.train is None and not config.given and _said(newer) <= _said(older)
    config = _like(start, known, config)
    with WorkFolder(paths.out or folder) as target:
        data = TrainingData(sources, config, target.kept, progress, (older, newer), held_out)
        hashes = data.encode(tell)
        data.resolve_labels(start.classes.taxonomy, start, implied=_only_added(start))
        for label, count in data.ends.items():
            tell(
                f"{start.title(label)!r} is not learned from {count:,} corrected document{'s' * (count > 1)}: so far "
                "it is only added to labels below it; to use it by itself, train anew on documents that carry it"
            )
        work = target.kept / fingerprint([hashes, config.as_mapping(), digest(folder / "versions.json")])
        work.mkdir(exist_ok=True)
        context = FitContext(work, True, os.cpu_count() or 1, progress, tell)
        added = len(newer.others())
        found = _Learner(start, data, len(newer.documents), added, context).learn(is_judged=not anyway)
        is_wanted = paths.out is not None or anyway or not (found.comparison and found.comparison.is_worse)
        if is_wanted:
            _save(found, data, target, work)
            _publish(target, keep=not (is_repeated and before(folder).is_dir()))
    return LearnReport(
        str(paths.out or folder),
        is_wanted,
        len(newer.documents),
        added,
        found.way,
        found.comparison,
        time.monotonic() - began,
    )


def go_back(model: Path | str) -> None:
    """Exchange a model and the one that it replaced; a second call brings the newer one back.

    Raises:
        ModelError: If there is no earlier model.
    """
    folder = Path(model).resolve()
    earlier = before(folder)
    if not earlier.is_dir():
        raise ModelError(f"{earlier}: there is no earlier model to go back to")
    read_versions(earlier)
    exchange_folders(folder, earlier)


def before(folder: Path) -> Path:
    """The folder in which the model is kept that another one replaced."""
    folder = folder.resolve()
    return folder.with_name(f"{folder.name}.before")


_BESIDE = ("train", "test", "out", "anyway", "trust_code", "progress", "tell")
"""What `learn` takes by name besides options."""


def _said(corrections: Corrections) -> set[tuple[object, ...]]:
    """What corrections say of which documents."""
    return {(one.id, one.content, frozenset(one.labels or ())) for one in corrections.documents}


def _sources(
    folder: Path, files: LearnFiles, known: TrainedOn, tell: Callable[[str], None]
) -> tuple[TrainFiles, HeldOutRows]:
    """The files that the model was trained on, and which of their documents it did not learn from.

    Training documents that are given instead are all learned from, unless the file is the same: then it is divided as
    before.
    """
    train = files.train or _unchanged(folder, known, "train", tell)
    if train is None:
        raise FileError(f"{folder}: does not say which documents it was trained on; give them with --train")
    if is_store(train):
        raise FileError(f"{train}: is a store, in which no text can be corrected; give the documents with --train")
    held_out = known.held_out if known.is_same("train", train) else {}
    if known.held_out and not held_out:
        tell(f"{folder} was measured on documents drawn from another file than {train}, all of which is learned from")
    parts = {part: _part(folder, known, part, train, held_out, tell) for part in ("dev", "test")}
    return TrainFiles(train, dev=parts["dev"], test=files.test or parts["test"]), held_out


def _part(
    folder: Path, known: TrainedOn, part: str, train: Path, held_out: HeldOutRows, tell: Callable[[str], None]
) -> Path | None:
    """The file of validation or test documents, which may be that of the training documents."""
    if part in known.held_out:
        return train if held_out else None
    if part in known.files and known.files[part] == known.files.get("train"):  # the field `split` tells them apart
        return train
    return _unchanged(folder, known, part, tell)


def _unchanged(folder: Path, known: TrainedOn, part: str, tell: Callable[[str], None]) -> Path | None:
    """The file of a part, if it is as it was; only training documents cannot be done without."""
    path = known.files.get(part)
    if path is None or known.is_unchanged(part):
        return path
    state = "have changed since" if path.exists() else "are gone"
    if part != "train":
        tell(f"{path}: the {part} documents of {folder} {state}; they are left out")
        return None
    raise FileError(f"{path}: the documents that {folder} was trained on {state}; give them with --train")


def _like(start: FittedModel, known: TrainedOn, config: RunConfig) -> RunConfig:
    """The options of the model, and how its documents were read, with the changes that are given."""
    corpus = CorpusConfig.model_validate(merge(known.corpus.as_mapping(), config.given.get("corpus", {})))
    seed = config.seed if "seed" in config.given else start.name.seed
    return replace(like_model(start, config), corpus=corpus, seed=seed)


def _only_added(model: FittedModel) -> frozenset[str]:
    """The labels that a model adds as ancestors of others, and that no training document carries.

    They are among its suggestions, and so among the labels of corrected documents. Learned from these, they would be
    wrong in all other documents, which do not carry them.
    """
    if model.hierarchy != "add-ancestors":
        return frozenset()
    carried = {name for name, count in zip(model.classes.names, model.counts.tolist(), strict=True) if count}
    return frozenset(model.classes.taxonomy.with_ancestors(carried)) - carried


@dataclass(frozen=True)
class _Learned:
    model: FittedModel
    way: Literal["kept", "anew"]
    comparison: Comparison | None


class _Learner:
    """Fits a model again, and compares it with the old one."""

    def __init__(self, start: FittedModel, data: TrainingData, changed: int, added: int, context: FitContext) -> None:
        """Prepare to learn.

        Args:
            start: The old model.
            data: The documents that it was trained on, with corrections; documents that are new to it come last.
            changed: The number of corrections.
            added: The number of those that are new to the model.
            context: Where and how.
        """
        self._start, self._data, self._context = start, data, context
        self._training = data.examples("train")
        self._added = np.arange(len(self._training) - added, len(self._training))
        self._is_little = changed <= _FEW * len(self._training)
        self._has_test = "test" in data.paths

    def learn(self, *, is_judged: bool) -> _Learned:
        """Fit the model, and judge it if that is asked for."""
        if is_judged and not self._has_test and len(self._added) == 0:
            raise CorpusError(
                "the model has learned from all documents that are corrected, so that it cannot be judged by them; "
                "give others with --test, or --anyway"
            )
        scorer = self._data.make_scorer(self._context.threads, self._start)
        if self._start.scorer.keeps_scale and self._is_little:
            return self._refit()
        if self._has_test or has_folds(scorer, len(self._training)):
            return self._fit(self._training, self._added)
        held_out = self._added[::_HELD_OUT]
        rest = np.setdiff1d(np.arange(len(self._training)), held_out)
        return self._fit(self._training.select(rest), held_out, is_held_out=True)

    def _refit(self) -> _Learned:
        """Fit the scorer again; calibration, thresholds and the join of members are kept."""
        scorer = self._data.make_scorer(self._context.threads, self._start)
        everything, validation = self._training, self._validation()
        if validation is not None:
            everything = everything.with_others(validation)
        folds = np.full(len(everything), -1)
        if not self._has_test:
            found = document_folds(self._training.select(self._added), _FOLDS, scorer.seed)
            folds[self._added] = 0 if found is None else found
        model, own = refit_model(self._start, scorer, everything, folds, self._context)
        return _Learned(model, "kept", self._comparison(model, self._added, own[self._added]))

    def _fit(self, training: Examples, judged: NDArray[np.int64], *, is_held_out: bool = False) -> _Learned:
        """Fit everything anew, starting from the weights of the old model."""
        scorer = self._data.make_scorer(self._context.threads, self._start)
        fitted, held_out = fit_with_scores(self._data.name, scorer, training, self._validation(), self._context)
        model = replace(fitted, counts=scorer.with_start_counts(fitted.counts, self._start.counts))
        if is_held_out:
            own = model.own_scores(self._training.documents.select(judged))
            return _Learned(model, "anew", self._comparison(model, judged, own, "corrections, held out"))
        is_out_of_fold = held_out.kind == "out-of-fold"
        own = held_out.scores[judged] if is_out_of_fold else np.zeros((0, len(model.classes)), np.float32)
        return _Learned(model, "anew", self._comparison(model, judged if is_out_of_fold else judged[:0], own))

    def _validation(self) -> Examples | None:
        return self._data.validation(self._start, self._context.tell)

    def _comparison(
        self,
        model: FittedModel,
        judged: NDArray[np.int64],
        own: NDArray[np.float32],
        on: HeldOutDocuments = "corrections, out of fold",
    ) -> Comparison | None:
        """Compare both models on the test documents or, if there are none, on corrections with these new scores."""
        if self._has_test:
            documents, labels = self._data.labelled("test")
            own, on = model.own_scores(documents), "test documents"
        else:
            everything, lists = self._data.labelled("train")
            listed = list(lists)
            documents, labels = part_of(everything, judged), [listed[row] for row in judged.tolist()]
        if not len(documents):
            return None
        truth = [tuple(found or ()) for found in labels]
        given = ((self._start, self._start.own_scores(documents)), (model, own))
        return compare(truth, *(_labels(one, documents, scores, truth) for one, scores in given), on=on)


def _labels(
    model: FittedModel, documents: EncodedDocuments, own: NDArray[np.float32], truth: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    """The labels that a model gives, without added ancestors that no document carries; see `FittedModel.evaluate`."""
    carried = {name for name, count in zip(model.classes.names, model.counts.tolist(), strict=True) if count}
    carried.update(*truth)
    return [
        tuple(one.label for one in found.labels if one.label in carried or one.unseen)
        for found in model.predictions(list(documents.documents), own)
    ]


def compare(
    truth: Sequence[Sequence[str]],
    before: Sequence[Sequence[str]],
    after: Sequence[Sequence[str]],
    *,
    on: HeldOutDocuments = "test documents",
) -> Comparison:
    """Compare the labels that two models give to the same documents.

    Args:
        truth: The labels of each document.
        before: Those that one model gives it.
        after: Those that the other one does.
        on: Which documents these are.
    """
    names = collect_classes([*truth, *before, *after])
    true, *given = (label_matrix(lists, names) for lists in (truth, before, after))
    carried = count_labels(true) > 0
    metrics = [flat_metrics(true, found, averaged=carried) for found in given]
    influences = [_influences(true, found) for found in given]
    error = float(np.sqrt(np.square(influences[1] - influences[0]).sum()))
    earlier, later = (Quality(one.micro.f1, one.macro.f1) for one in metrics)
    return Comparison(on, len(truth), earlier, later, error)


def _influences(truth: csr_array, given: csr_array) -> NDArray[np.float64]:
    """The influence of each document on the micro-F1, from which its variance follows (delta method)."""
    counts = document_counts(truth, given)
    hits, labels = 2.0 * counts.true_positives, (counts.predicted + counts.actual).astype(np.float64)
    total = max(labels.sum(), 1.0)
    influences: NDArray[np.float64] = (hits - hits.sum() / total * labels) / total
    return influences


def _save(found: _Learned, data: TrainingData, target: WorkFolder, work: Path) -> None:
    comparison = asdict(found.comparison) if found.comparison else None
    model = found.model
    metrics = {**model.metrics, **data.metrics(data.evaluate(model)), "learned": comparison}
    model = replace(model, metrics=metrics)
    write_trained_on(data.trained_on(), target.result, target.target)
    save_model(model, target.result)
    add_pages(model, target.result, work)


def _publish(target: WorkFolder, *, keep: bool) -> None:
    """Put the new model in its place; `keep` the one that it replaces, if any, beside it.

    Whenever the process is killed, there is a whole model in both places.
    """
    if not target.target.exists():
        target.publish()
        return
    if not keep:
        exchange_folders(target.result, target.target)
        return
    earlier = before(target.target)
    if earlier.exists():
        exchange_folders(target.result, earlier)
    else:
        target.result.rename(earlier)
    exchange_folders(target.target, earlier)
