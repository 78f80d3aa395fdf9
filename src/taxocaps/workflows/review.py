"""Review a labelled corpus: what looks wrong in it, whether more documents would help, and which to label next."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import fingerprint
from taxocaps.corpus.labels import Classes
from taxocaps.encoding.documents import plain_text
from taxocaps.encoding.store import is_store
from taxocaps.encoding.store_writer import write_store
from taxocaps.errors import CorpusError, FileError
from taxocaps.files import atomic_text, check_exists, refuse_same_file
from taxocaps.progress import Progress, silent
from taxocaps.report.review_page import review_page
from taxocaps.reviewing.batch import choose_next
from taxocaps.reviewing.copies import differing_copies
from taxocaps.reviewing.curve import learning_curve
from taxocaps.reviewing.findings import (
    ConfusedLabels,
    CopiedDocument,
    CopyGroup,
    DoubtfulDocument,
    LabelForecast,
    LabelSuspect,
    MissingChild,
    NextDocument,
    RareLabel,
    Review,
    ReviewCurve,
)
from taxocaps.reviewing.labels import FEW_DOCUMENTS, parents_without_child
from taxocaps.reviewing.language import LanguageGuesser
from taxocaps.reviewing.suspects import confident_issues, find_suspects
from taxocaps.scorers.base import Examples, FitContext, ModelConfig, make_scorer
from taxocaps.scorers.decision import HeldOut
from taxocaps.scorers.fitting import fit_with_scores
from taxocaps.scorers.linear import LinearModelConfig
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model
from taxocaps.taxonomy.readers import as_taxonomy
from taxocaps.workflows.config import RunConfig, files_and_options, refuse_both, resolve_run_config
from taxocaps.workflows.folders import WorkFolder
from taxocaps.workflows.sources import open_documents, read_source
from taxocaps.workflows.train import check_corpus_options, like_model
from taxocaps.workflows.training_data import TrainFiles, TrainingData

__all__ = ["Review", "ReviewFiles", "review"]

_LEAST_SUSPICION = 0.2
"""Less suspicious labels are not listed."""
_EXCERPT = 300
_FOLDS = 3
"""For models that usually hold out some documents, such as networks."""


@dataclass(frozen=True)
class ReviewFiles:
    """The files that a review reads and writes; documents may be in any format, or in stores.

    Attributes:
        corpus: Labelled documents.
        taxonomy: A file, a `Taxonomy`, a dict or a networkx graph; without it, that of the model's folder if one is
            given, or a flat list of the labels.
        pool: Unlabelled documents, out of which those to label next are chosen.
        output: A JSONL file for all findings.
        report: An HTML page.
    """

    corpus: Path
    taxonomy: Any = None
    pool: Path | None = None
    output: Path | None = None
    report: Path | None = None


def review(
    files: ReviewFiles | Path | str,
    config: RunConfig | None = None,
    *,
    batch: int = 100,
    trust_code: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
    **options: Any,
) -> Review:
    """Find what is worth a second look in a labelled corpus.

    A model is fitted in folds, so that every document is scored by one that has not learned from it nor from a near
    copy of it. An interrupted review that writes a file continues from its last fold when it is started again.

    Args:
        files: What is read and written (`ReviewFiles`), or the path of labelled documents.
        config: The options of the model; by default those of the default model, changed by `options`.
        batch: How many documents of the pool are chosen.
        trust_code: Whether code that a model's folder names may be run.
        progress: Called with the progress of the work.
        tell: Called with messages for the user.
        options: Fields of `ReviewFiles` such as `taxonomy="labels.tsv"`, and options by name such as `model="SVM"` or
            `seed=1`. `model` may also be the folder of a trained model: its options are used, but it is fitted anew in
            folds, since it has learned from the documents that it would judge.
    """
    paths, options = files_and_options(ReviewFiles, files, options)
    _check_paths(paths)
    refuse_both(config, options)
    config = config or resolve_run_config(options=options, beside=_BESIDE)
    check_corpus_options(TrainFiles(paths.corpus, dev=paths.pool), config)
    start = load_model(config.start, trust_code=trust_code) if config.start else None
    if start is not None:
        config = like_model(start, config)
    tree = paths.taxonomy if paths.taxonomy is not None else start.classes.taxonomy if start else None
    taxonomy = as_taxonomy(tree) if tree is not None else None
    state = fingerprint([config.as_mapping(), taxonomy.fingerprint if taxonomy else None])
    with _work_folder(paths, state) as folder:
        data = TrainingData(TrainFiles(paths.corpus), config, folder, progress)
        hashes = data.encode(tell)
        data.resolve_labels(taxonomy, None)
        work = folder / fingerprint(hashes)
        work.mkdir(exist_ok=True)
        context = FitContext(work, True, os.cpu_count() or 1, progress, tell)
        found = _Reviewer(data, paths, config, context).review(batch)
        _write(found, paths)
    return found


_BESIDE = ("taxonomy", "pool", "output", "report", "batch", "trust_code", "progress", "tell")
"""What `review` takes by name besides options."""


def _check_paths(files: ReviewFiles) -> None:
    """Refuse a wrong path at once, and a result that would replace what it is made from, or another one."""
    for source in (files.corpus, files.pool):
        if str(source) == "-":
            raise FileError("standard input: is read twice; give a file")
    targets = [path for path in (files.output, files.report) if path is not None]
    for target in targets:
        if target.is_dir():
            raise FileError(f"{target}: is a directory; give a file")
    if len(targets) > len({target.resolve() for target in targets}):
        raise FileError(f"{targets[0]}: is both output and report; give two files")
    sources = [path for path in (files.corpus, files.pool, files.taxonomy) if isinstance(path, str | Path)]
    for source in map(Path, sources):
        check_exists(source)
        for target in targets:
            refuse_same_file(source, target)


@contextmanager
def _work_folder(files: ReviewFiles, state: str) -> Iterator[Path]:
    """A folder for encoded documents and folds: beside the file to write, so that another run can continue."""
    target = files.report or files.output
    if target is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary)
        return
    with WorkFolder(target) as work:
        folder = work.kept / state
        folder.mkdir(exist_ok=True)
        yield folder


def _write(review: Review, files: ReviewFiles) -> None:
    if files.output is not None:
        with atomic_text(files.output) as file:
            for record in review.records():
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    if files.report is not None:
        with atomic_text(files.report) as file:
            file.write(review_page(review, files.corpus.name))


class _Reviewer:
    """Collects all findings of a review, by the ids of documents and labels."""

    def __init__(self, data: TrainingData, files: ReviewFiles, config: RunConfig, context: FitContext) -> None:
        self._data, self._files, self._config, self._context = data, files, config, context
        self._examples = data.examples("train")
        self._labels = self._examples.labels
        self._ids = [one.id or str(number) for number, one in enumerate(self._examples.documents.documents, 1)]
        self._texts: dict[int, str] = {}

    def review(self, batch: int) -> Review:
        """All findings."""
        model, held_out = self._fit()
        self._titles = [model.title(name) for name in model.classes.names]
        scores = held_out.scores
        suspects = find_suspects(self._labels, scores, model.classes.closure)
        suspects = suspects.take(np.flatnonzero(suspects.suspicion >= _LEAST_SUSPICION))
        self._context.progress("comparing documents", 0, None)
        copies = differing_copies(self._examples.documents, self._labels, self._config.seed)
        wordless = np.flatnonzero(self._examples.documents.lengths == 0).tolist()
        wanted = {*suspects.documents.tolist(), *wordless, *(one.documents[0] for one in copies)}
        foreign = self._read_texts(wanted)
        validation = model.validation
        assert validation is not None
        return Review(
            model=self._config.model,
            folds=len(held_out.counts),
            documents=len(self._examples),
            labels=int((model.counts > 0).sum()),
            assignments=int(self._labels.nnz),
            micro_f1=validation.flat.micro.f1,
            macro_f1=validation.flat.macro.f1,
            doubtful=int(confident_issues(self._labels, scores).nnz),
            suspects=tuple(map(self._suspect, *(getattr(suspects, name).tolist() for name in _OF_SUSPECT))),
            copies=tuple(
                CopyGroup(one.is_exact, tuple(map(self._copy, one.documents)), self._texts[one.documents[0]])
                for one in copies
            ),
            wordless=tuple(DoubtfulDocument(self._ids[row], None, self._texts[row]) for row in wordless),
            foreign=foreign,
            missing_children=self._missing_children(scores, model.classes),
            rare=self._rare(model),
            unused=self._unused(model),
            confused=self._confused(model),
            curve=self._curve(held_out.models, model),
            next=self._next(model, batch) if self._files.pool is not None else (),
        )

    def _fit(self) -> tuple[FittedModel, HeldOut]:
        """The fitted model, and the out-of-fold scores of all documents."""
        scorer = self._data.make_scorer(self._context.threads)
        if scorer.folds_for(len(self._examples)) < 2:
            folded = scorer.config.replace(folds=min(_FOLDS, len(self._examples)))
            encoder, scorer = scorer.encoder, make_scorer(folded, scorer.classes, scorer.seed, scorer.threads)
            scorer.encoder = encoder
        model, held_out = fit_with_scores(self._data.name, scorer, self._examples, None, self._context)
        if len(held_out.counts) < 2:
            raise CorpusError(
                f"{self._files.corpus}: too few documents differ to score each without itself; a review needs ten"
            )
        return model, held_out

    def _given(self, row: int) -> tuple[str, ...]:
        columns = self._labels.indices[self._labels.indptr[row] : self._labels.indptr[row + 1]]
        return tuple(self._titles[column] for column in columns.tolist())

    def _suspect(self, row: int, column: int, is_given: bool, score: float, suspicion: float) -> LabelSuspect:
        return LabelSuspect(
            "wrong" if is_given else "forgotten",
            self._ids[row],
            self._data.classes.names[column],
            self._titles[column],
            round(score, 6),
            round(suspicion, 6),
            self._given(row),
            self._texts[row],
        )

    def _copy(self, row: int) -> CopiedDocument:
        return CopiedDocument(self._ids[row], self._given(row))

    def _read_texts(self, wanted: set[int]) -> tuple[DoubtfulDocument, ...]:
        """Read all texts once more: keep the beginning of some, and find those in another language."""
        language = self._config.options.text.language
        guess = LanguageGuesser(language)
        if not guess.is_able:
            self._context.tell(f"documents in other languages are not looked for: there is no stop list for {language}")
        foreign = []
        for row, document in enumerate(read_source(self._files.corpus, self._config.corpus)):
            text = plain_text(document)
            found = guess(text)
            if found is not None:
                foreign.append(DoubtfulDocument(self._ids[row], found, _excerpt(text)))
            if row in wanted:
                self._texts[row] = _excerpt(text)
        return tuple(foreign)

    def _missing_children(self, scores: NDArray[np.float32], classes: Classes) -> tuple[MissingChild, ...]:
        found, names, titles = parents_without_child(self._labels, scores, classes), classes.names, self._titles
        rows = zip(*(getattr(found, name).tolist() for name in found.__dataclass_fields__), strict=True)
        return tuple(
            MissingChild(self._ids[row], names[parent], titles[parent], names[child], titles[child], round(score, 6))
            for row, parent, child, score in rows
        )

    def _rare(self, model: FittedModel) -> tuple[RareLabel, ...]:
        columns = np.flatnonzero((model.counts > 0) & (model.counts < FEW_DOCUMENTS))
        ordered = columns[np.argsort(model.counts[columns], kind="stable")].tolist()
        return tuple(RareLabel(model.classes.names[one], self._titles[one], int(model.counts[one])) for one in ordered)

    def _unused(self, model: FittedModel) -> tuple[str, ...]:
        """Labels that no document has, neither themselves nor a label below them."""
        classes, taxonomy = model.classes, model.classes.taxonomy
        used = (classes.names[column] for column in np.flatnonzero(model.counts > 0).tolist())
        known = {*taxonomy.with_ancestors(used), taxonomy.root}
        return tuple(name for name in taxonomy.names if name not in known)

    def _confused(self, model: FittedModel) -> tuple[ConfusedLabels, ...]:
        assert model.diagnosis is not None
        names, titles = model.classes.names, self._titles
        return tuple(
            ConfusedLabels(
                *(names[one.label], titles[one.label], names[one.predicted], titles[one.predicted]),
                *(one.count, one.support),
            )
            for one in model.diagnosis.confusions
            if one.count > 1
        )

    def _curve(self, folds: NDArray[np.int64], model: FittedModel) -> ReviewCurve | None:
        config = _cheap(self._config.options)
        reader = make_scorer(config, model.classes, self._config.seed, self._context.threads).encoder
        documents = self._examples.documents
        if self._config.options.text.tokenizer == "raw":
            documents = reader.reread(documents)
        found = learning_curve(config, Examples(documents, self._labels), model.classes, folds, self._context)
        if found is None:
            return None
        labels = (
            LabelForecast(
                model.classes.names[one.label],
                self._titles[one.label],
                int(model.counts[one.label]),
                tuple(round(f1, 4) for f1 in one.f1),
                one.forecast,
            )
            for one in found.labels
        )
        return ReviewCurve(found.points, found.micro, found.macro, tuple(labels))

    def _next(self, model: FittedModel, size: int) -> tuple[NextDocument, ...]:
        """What to label next out of the pool."""
        path, reading = self._files.pool, self._config.corpus.replace(split=None)  # a split is one of the corpus
        assert path is not None
        encoder, store = model.scorer.encoder, path
        if not is_store(path):
            store = self._context.within("pool").folder
            write_store(
                read_source(path, reading),
                encoder,
                store,
                cache=self._context.within("pool-tokens").folder,
                source=str(path),
                progress=self._context.progress,
                stage="unlabelled documents",
                tell=self._context.tell,
            )
        pool = open_documents(store, encoder, model=model.name)
        found = choose_next(model, pool, size, self._examples.documents)
        wanted = frozenset(one.document for one in found)
        texts = {
            row: (document.id or str(row + 1), _excerpt(plain_text(document)))
            for row, document in enumerate(read_source(path, reading))
            if row in wanted
        }
        return tuple(
            NextDocument(
                id=texts[one.document][0],
                label=one.label,
                name=None if one.label is None else model.title(one.label),
                score=round(one.score, 6),
                label_documents=one.label_documents,
                doubt=round(one.doubt, 3),
                text=texts[one.document][1],
            )
            for one in found
        )


_OF_SUSPECT = ("documents", "labels", "is_given", "scores", "suspicion")


def _cheap(config: ModelConfig) -> LinearModelConfig:
    """The linear model for the learning curve: the model itself, its first linear member, or one over words."""
    members: Sequence[Any] = tuple(getattr(config, "members", {"": config}).values())
    linear = next((one for one in members if one.scorer == "linear"), None)
    found: LinearModelConfig = linear or LinearModelConfig(text=config.text)
    return found.replace(linear=found.linear.replace(C=1.0)) if found.linear.C is None else found


def _excerpt(text: str) -> str:
    """The beginning of a text on one line."""
    words = " ".join(text[: 2 * _EXCERPT].split())
    return words if len(words) <= _EXCERPT else f"{words[:_EXCERPT].rsplit(' ', 1)[0]} …"
