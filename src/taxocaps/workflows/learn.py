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
from taxocaps.scorers.folds import document_folds
from taxocaps.scorers.model import FittedModel, fit_with_scores, has_folds, known_counts, refit_model
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.workflows.config import RunConfig, refuse_both, resolve_run_config
from taxocaps.workflows.folders import WorkFolder, read_versions
from taxocaps.workflows.train import TrainFiles, TrainingData, add_pages, like_model
from taxocaps.workflows.trained_on import Corrections, HeldOutRows, TrainedOn, read_trained_on, write_trained_on

__all__ = ["Comparison", "LearnFiles", "LearnReport", "Quality", "go_back", "learn"]

HeldOutDocuments = Literal["test documents", "corrections, out of fold", "corrections, held out"]

_FEW = 0.1
"""Up to this share of documents that are new or changed, calibration, thresholds and the join of members stay."""
_FOLDS = 5
_HELD_OUT = 5
"""Every so many-th correction is held out where a model has no folds."""


@dataclass(frozen=True)
class LearnFiles:
    """What is read and written; documents are files in any format.

    Attributes:
        feedback: Corrected documents: a file, or a store of corrections; by default the one beside the model.
        train: The training documents; by default those files that the model remembers.
        test: The documents that the models are compared on; by default the test documents that the model remembers.
        out: The folder of the new model; by default it takes the place of the old one.
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
        before: The model as it was; macro-F1 is over the labels that these documents carry.
        after: The model that has learned from corrections.
        standard_error: Of the difference in micro-F1, over documents drawn by chance.
    """

    on: HeldOutDocuments
    documents: int
    before: Quality
    after: Quality
    standard_error: float

    @property
    def is_worse(self) -> bool:
        """Whether micro-F1 falls by more than chance explains."""
        return self.after.micro_f1 < self.before.micro_f1 - self.standard_error


@dataclass(frozen=True)
class LearnReport:
    """What learning came to.

    Attributes:
        out: The folder of the new model; the old one stays there if it is better.
        is_replaced: Whether there is a new model.
        corrections: Corrected documents that were given.
        added: Those that the model did not know.
        way: Whether thresholds, and the join of members, were kept or fitted anew.
        comparison: Both models on the same documents; None if there were no such documents.
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
    than chance explains, on documents that neither has learned from.

    Args:
        model: The folder of a model.
        files: What is read and written, or the path of corrected documents or of a store of corrections.
        config: How documents are read, and which options of the model differ; by default none but `options`.
        anyway: Replace the old model even by a worse one, and even if nothing can be compared.
        trust_code: Whether code that the model names may be run.
        progress: Told where the work stands.
        tell: Told what a person should know.
        options: Fields of `LearnFiles` such as `test="test.jsonl"`, and options such as `labels__unknown="add"`.
    """
    began = time.monotonic()
    folder = Path(model)
    files, options = _files(files, options)
    for path in (files.feedback, files.train, files.test):
        if path is not None:
            check_exists(path)
    if files.out is not None and files.out.exists():
        raise FileError(f"{files.out}: is already there; choose another --out")
    read_versions(folder)
    refuse_both(config, options)
    config = config or resolve_run_config(options=options, start=folder, beside=_BESIDE)
    known, start = read_trained_on(folder), load_model(folder, trust_code=trust_code)
    sources, held_out = _sources(folder, files, known, tell)
    older, newer = (
        Corrections(known.corrections),
        Corrections(read_corrections(files.feedback or folder, config.corpus)),
    )
    config = _like(start, known, config)
    with WorkFolder(files.out or folder) as target:
        data = TrainingData(sources, config, target.kept, progress, (older, newer), held_out)
        hashes = data.encode(tell)
        data.resolve_labels(start.classes.taxonomy, start)
        work = target.kept / fingerprint([hashes, config.as_mapping(), digest(folder / "versions.json")])
        work.mkdir(exist_ok=True)
        context = FitContext(work, True, os.cpu_count() or 1, progress, tell)
        added = len(newer.others())
        found = _Learner(start, data, len(newer.documents), added, context).learn(is_judged=not anyway)
        is_wanted = files.out is not None or anyway or not (found.comparison and found.comparison.is_worse)
        if is_wanted:
            _save(found, data, target, work)
            _publish(target, keep=files.out is None)
    return LearnReport(
        str(files.out or folder),
        is_wanted,
        len(newer.documents),
        added,
        found.way,
        found.comparison,
        time.monotonic() - began,
    )


def go_back(model: Path | str) -> None:
    """Let a model and the one before it change places; once more, and the newer one is back.

    Raises:
        ModelError: If there is none.
    """
    folder = Path(model).resolve()
    earlier = before(folder)
    if not earlier.is_dir():
        raise ModelError(f"{earlier}: there is no earlier model to go back to")
    read_versions(earlier)
    exchange_folders(folder, earlier)


def before(folder: Path) -> Path:
    """Where the model is kept that stood in a folder before the last one."""
    folder = folder.resolve()
    return folder.with_name(f"{folder.name}.before")


_FILES = ("train", "test", "out")
_BESIDE = (*_FILES, "anyway", "trust_code", "progress", "tell")


def _files(files: LearnFiles | Path | str | None, options: dict[str, Any]) -> tuple[LearnFiles, dict[str, Any]]:
    if isinstance(files, LearnFiles):
        return files, options
    paths = {key: Path(options[key]) for key in _FILES if options.get(key) is not None}
    feedback = None if files is None else Path(files)
    return LearnFiles(feedback, **paths), {key: value for key, value in options.items() if key not in _FILES}


def _sources(
    folder: Path, files: LearnFiles, known: TrainedOn, tell: Callable[[str], None]
) -> tuple[TrainFiles, HeldOutRows]:
    """The documents that the model was trained on, as they were, and which of them it did not learn from.

    Those given in their place are taken as they are; if they are the same in another place, they are divided as before.
    """
    train = files.train or _unchanged(folder, known, "train")
    if train is None:
        raise FileError(f"{folder}: does not say which documents it was trained on; give them with --train")
    if is_store(train):
        raise FileError(f"{train}: is a store, in which no text can be corrected; give the documents with --train")
    held_out = known.held_out if known.is_same("train", train) else {}
    if known.held_out and not held_out:
        tell(f"{folder} was measured on documents drawn from another file than {train}, all of which is learned from")
    parts = {part: _part(folder, known, part, train, held_out) for part in ("dev", "test")}
    return TrainFiles(train, dev=parts["dev"], test=files.test or parts["test"]), held_out


def _part(folder: Path, known: TrainedOn, part: str, train: Path, held_out: HeldOutRows) -> Path | None:
    """The file of validation or test documents, which may be that of the training documents."""
    if part in known.held_out:
        return train if held_out else None
    if part in known.files and known.files[part] == known.files.get("train"):  # the field `split` tells them apart
        return train
    return _unchanged(folder, known, part)


def _unchanged(folder: Path, known: TrainedOn, part: str) -> Path | None:
    path = known.files.get(part)
    if path is None or known.is_unchanged(part):
        return path
    state = "have changed since" if path.exists() else "are gone"
    if part == "test":
        return None
    raise FileError(f"{path}: the documents that {folder} was trained on {state}; give them with --train")


def _like(start: FittedModel, known: TrainedOn, config: RunConfig) -> RunConfig:
    """The options of the model, and the way in which its documents were read, as far as nothing else is given."""
    corpus = CorpusConfig.model_validate(merge(known.corpus.as_mapping(), config.given.get("corpus", {})))
    seed = config.seed if "seed" in config.given else start.name.seed
    return replace(like_model(start, config), corpus=corpus, seed=seed)


@dataclass(frozen=True)
class _Learned:
    model: FittedModel
    way: Literal["kept", "anew"]
    comparison: Comparison | None


class _Learner:
    """Fits a model again, and compares it with what it was."""

    def __init__(self, start: FittedModel, data: TrainingData, changed: int, added: int, context: FitContext) -> None:
        """Take what to learn from.

        Args:
            start: The model as it was.
            data: The documents that it was trained on, with corrections; those that are new to it come last.
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
        """Fit again what depends on documents most, and keep the rest."""
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
        """Fit all anew, from the weights of the model as it was."""
        scorer = self._data.make_scorer(self._context.threads, self._start)
        fitted, held_out = fit_with_scores(self._data.name, scorer, training, self._validation(), self._context)
        model = replace(fitted, counts=known_counts(self._start, scorer, fitted.counts))
        if is_held_out:
            own = model.own_scores(self._training.documents.select(judged))
            return _Learned(model, "anew", self._comparison(model, judged, own, "corrections, held out"))
        is_out_of_fold = len(held_out.counts) > 1
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
        """Both models on test documents or, if there are none, on corrections with these scores of the new one."""
        if self._has_test:
            documents, labels = self._data.labelled("test")
            own, on = model.own_scores(documents), "test documents"
        else:
            everything, lists = self._data.labelled("train")
            listed = list(lists)
            documents, labels = _selected(everything, judged), [listed[row] for row in judged.tolist()]
        if not len(documents):
            return None
        truth = [tuple(found or ()) for found in labels]
        given = ((self._start, self._start.own_scores(documents)), (model, own))
        return compare(truth, *(_labels(one, documents, scores, truth) for one, scores in given), on=on)


def _selected(documents: EncodedDocuments, rows: NDArray[np.int64]) -> EncodedDocuments:
    listed = list(documents.documents)
    return replace(documents.select(rows), documents=[listed[row] for row in rows.tolist()])


def _labels(
    model: FittedModel, documents: EncodedDocuments, own: NDArray[np.float32], truth: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    """The labels that a model gives, but for added ancestors that no document carries, as `FittedModel.evaluate`."""
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
    """Compare what two models say of the same documents.

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
    pulls = [_pulls(true, found) for found in given]
    error = float(np.sqrt(np.square(pulls[1] - pulls[0]).sum()))
    earlier, later = (Quality(one.micro.f1, one.macro.f1) for one in metrics)
    return Comparison(on, len(truth), earlier, later, error)


def _pulls(truth: csr_array, given: csr_array) -> NDArray[np.float64]:
    """How far each document pulls the micro-F1 away from its value: F1 is a ratio of sums over documents."""
    counts = document_counts(truth, given)
    hits, all = 2.0 * counts.true_positives, (counts.predicted + counts.actual).astype(np.float64)
    total = max(all.sum(), 1.0)
    pulls: NDArray[np.float64] = (hits - hits.sum() / total * all) / total
    return pulls


def _save(found: _Learned, data: TrainingData, target: WorkFolder, work: Path) -> None:
    comparison = asdict(found.comparison) if found.comparison else None
    model = found.model
    metrics = {**model.metrics, **data.metrics(data.evaluate(model)), "learned": comparison}
    model = replace(model, metrics=metrics)
    write_trained_on(data.trained_on(), target.result, target.target)
    save_model(model, target.result)
    add_pages(model, target.result, work)


def _publish(target: WorkFolder, *, keep: bool) -> None:
    """Put the new model in its place; one that stood there is kept beside it.

    Wherever a kill strikes, there is a whole model in both places.
    """
    if not keep:
        target.publish()
        return
    earlier = before(target.target)
    if earlier.exists():
        exchange_folders(target.result, earlier)
    else:
        target.result.rename(earlier)
    exchange_folders(target.target, earlier)
