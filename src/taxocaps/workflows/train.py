"""Train a model: from labelled documents and a taxonomy to a model folder."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from taxocaps.catalogue.models import find_model
from taxocaps.catalogue.presets import slow_members
from taxocaps.config import fingerprint, merge
from taxocaps.corpus.document import Document
from taxocaps.corpus.frames import as_path, is_frame
from taxocaps.corpus.label_changes import TaxonomyChanges
from taxocaps.corpus.label_names import NamedBy, describe_counts
from taxocaps.corpus.labels import (
    Classes,
    LabelLists,
    collect_classes,
    label_matrix,
    resolve_labels,
    taxonomy_of,
    unseen_labels,
)
from taxocaps.corpus.readers import CorpusConfig, read_documents
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.encoding.store import is_store, read_manifest, write_store
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.files import check_exists
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.notebook import table
from taxocaps.progress import Progress, silent
from taxocaps.report.tables import model_card, validated_on
from taxocaps.report.training_page import training_page
from taxocaps.results import ModelCard
from taxocaps.scorers.base import Examples, FitContext, Scorer, make_scorer
from taxocaps.scorers.model import FittedModel, ModelName, fit_model, known_counts
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.taxonomy.readers import as_taxonomy
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.workflows.config import RUN_KEYS, RunConfig, check_same, refuse_both, resolve_run_config
from taxocaps.workflows.evaluate import evaluate_scores
from taxocaps.workflows.folders import Existing, TrainingFolder, read_versions
from taxocaps.workflows.parts import AUTO, NONE, Division, divide, part_of
from taxocaps.workflows.sources import label_problem, open_documents, recognised_lines
from taxocaps.workflows.trained_on import Corrections, HeldOutRows, TrainedOn, write_trained_on

__all__ = ["TrainFiles", "TrainReport", "TrainingData", "add_pages", "check_corpus_options", "like_model", "train"]


@dataclass(frozen=True)
class TrainFiles:
    """What a model is trained from; documents are files in any format, stores, or frames of pandas or polars.

    Attributes:
        train: Labelled documents.
        taxonomy: A file, a `Taxonomy`, a dict or a networkx graph; without it, the labels of the documents are a flat
            list.
        dev: Documents that decide when to stop, and that thresholds are tuned on; a joined model learns from them, too.
            By default training documents are held out, or scored out of fold.
        test: Documents that the finished model is measured on.
        start: The folder of a model to start from.
        split_by: How documents of `train` become validation and test documents where no others are given: `auto`, or
            the name of a field with dates or numbers (see `workflows.parts.divide`); `none` or None leaves all of them
            for training.
    """

    train: Any
    taxonomy: Any = None
    dev: Any = None
    test: Any = None
    start: Path | None = None
    split_by: str | None = None


@dataclass(frozen=True)
class TrainReport:
    """What training came to.

    Attributes:
        out: The model's folder.
        card: What the model is and how good it is.
        seconds: How long it took, resumed parts apart.
        unknown: Labels outside the taxonomy, added or dropped as `labels.unknown` says, with their documents.
        validation: Metrics on the validation documents, on which its thresholds were tuned.
        test: Metrics on the test documents.
        lost: Labels of the model to start from that the taxonomy has no more.
    """

    out: str
    card: ModelCard
    seconds: float
    unknown: Mapping[str, int]
    validation: Evaluation
    test: Evaluation | None
    lost: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        where = "test documents" if self.test else validated_on(self.card)
        parts = ", ".join(f"{count:,} {name}" for name, count in self.card.documents.items())
        facts = (("model", self.card.model), ("documents", parts), ("labels", self.card.labels), ("folder", self.out))
        about = table(("", ""), facts, f"trained in {self.seconds:.0f} s; below, how good it is on the {where}")
        return about + (self.test or self.validation)._repr_html_()


def train(  # noqa: PLR0913 - a front door: each argument stands for itself
    files: Any,
    out: Path | str,
    config: RunConfig | None = None,
    *,
    existing: Existing = "refuse",
    keep: bool = False,
    trust_code: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
    **options: Any,
) -> TrainReport | None:
    """Train a model.

    Documents are first encoded into stores in `out/.training`, unless they are stores already, and read from there. The
    memory of training a network alone does not grow with their number; a linear model keeps their bags in memory.
    Checkpoints lie there, too. When training is interrupted they stay, and another run can continue from there.

    Args:
        files: What the model is trained from (`TrainFiles`), or the labelled documents alone: a path, or a frame of
            pandas or polars.
        out: The folder to make.
        config: The options of all stages; by default those of the default model, changed by `options`.
        existing: What to do about a model or an interrupted run in `out`: refuse to train, `resume` the run, which
            must have had the same documents and options, or `overwrite` them.
        keep: Leave checkpoints and logs in `out/.training`.
        trust_code: Whether code that the model to start from names may be run.
        progress: Told where the work stands.
        tell: Told what a person should know, such as the memory that training will take.
        options: Fields of `TrainFiles` such as `taxonomy="labels.tsv"`, and options by name such as `model="SVM"`,
            `seed=1` or `training__epochs=5`.

    Returns:
        What it came to; None in all but the first of several processes that train together.
    """
    began = time.monotonic()
    files, options = _files(files, options)
    if any(map(is_frame, (files.train, files.dev, files.test))):
        how: dict[str, Any] = {
            "existing": existing,
            "keep": keep,
            "trust_code": trust_code,
            "progress": progress,
            "tell": tell,
        }
        with as_path(files.train) as documents, as_path(files.dev) as dev, as_path(files.test) as test:
            return train(replace(files, train=documents, dev=dev, test=test), out, config, **how, **options)
    _check_paths(files)
    refuse_both(config, options)
    config = config or resolve_run_config(options=options, start=files.start, beside=_BESIDE)
    _check_run(files, config)
    start = load_model(files.start, trust_code=trust_code) if files.start else None
    if start is not None:
        config = like_model(start, config)
    taxonomy = as_taxonomy(files.taxonomy) if files.taxonomy is not None else start.classes.taxonomy if start else None
    state = [config.as_mapping(), taxonomy.fingerprint if taxonomy else None, str(files.start), files.split_by]
    with TrainingFolder(Path(out), fingerprint(state), existing, keep=keep) as folder:
        has_test = files.test is not None
        if not folder.is_first_process:
            files = replace(
                files, test=None, **{name: path for name, path in folder.stores().items() if name != "test"}
            )
        run = TrainingData(files, config, folder.work, progress)
        folder.check_sources(run.encode(tell))
        run.divide(has_test=has_test)
        changes = TaxonomyChanges(start.classes.taxonomy, taxonomy) if start and taxonomy else None
        run.resolve_labels(taxonomy, start, changes)
        _tell_labels(run, start, changes, tell)
        _tell_what_is_missing(config.model, tell)
        context = FitContext(folder.work, existing == "resume", os.cpu_count() or 1, progress, tell)
        model = run.fit(start, context)
        if not folder.is_first_process:
            return None
        report = _saved(run, model, folder, Path(out), _became("removed", start, changes))
        folder.publish()
    return replace(report, seconds=time.monotonic() - began)


def _saved(
    run: "TrainingData", model: FittedModel, folder: TrainingFolder, out: Path, lost: tuple[str, ...]
) -> TrainReport:
    """Measure a fitted model and write its folder."""
    test = run.evaluate(model)
    model = replace(model, metrics={**model.metrics, **run.metrics(test)})
    assert model.validation is not None
    write_trained_on(run.trained_on(), folder.result, out)
    save_model(model, folder.result)
    add_pages(model, folder.result, folder.work)
    return TrainReport(str(out), model.card(), 0.0, run.unknown, model.validation, test, lost)


def _tell_labels(
    run: "TrainingData", start: FittedModel | None, changes: TaxonomyChanges | None, tell: Callable[[str], None]
) -> None:
    """Say how the labels of documents were found, and what became of those of the model to start from."""
    for line in run.describe():
        tell(line)
    for kind in ("renamed", "merged", "split", "removed"):
        if labels := _became(kind, start, changes):
            more = f" and {len(labels) - _TOLD:,} more" if len(labels) > _TOLD else ""
            what = "lost: no longer in the taxonomy" if kind == "removed" else f"{kind}, known all the same"
            tell(f"labels of the model to start from, {what}: {len(labels):,} ({', '.join(labels[:_TOLD])}{more})")


def _became(kind: str, start: FittedModel | None, changes: TaxonomyChanges | None) -> tuple[str, ...]:
    """The labels of the model to start from that something happened to."""
    if start is None or changes is None:
        return ()
    known = frozenset(start.classes.names)
    return tuple(label for one in changes.changes if one.kind == kind for label in one.old if label in known)


_TOLD = 5


def _tell_what_is_missing(model: str, tell: Callable[[str], None]) -> None:
    """Say which models could take part if the libraries of networks were installed."""
    spec = find_model(model)
    if spec.slow and not slow_members(spec):
        names = " and ".join(spec.slow)
        tell(f"{model} joins linear models; with the extra `networks` and --time 1h it tries {names}, too")


_FILES = ("taxonomy", "dev", "test", "start", "split_by")
_BESIDE = (*_FILES, "existing", "keep", "trust_code", "progress", "tell")
"""What `train` takes by name beside options."""


def _files(files: Any, options: Mapping[str, Any]) -> tuple[TrainFiles, dict[str, Any]]:
    given = {key: options[key] for key in _FILES if options.get(key) is not None}
    others = {key: value for key, value in options.items() if key not in _FILES}
    if isinstance(files, TrainFiles):
        if given:
            raise ConfigError(
                f"{next(iter(given))} is part of TrainFiles; give it there, or a path in place of TrainFiles"
            )
        return files, others
    paths = {key: _path(given[key]) for key in ("dev", "test", "start") if key in given}
    return TrainFiles(_path(files), given.get("taxonomy"), **paths, split_by=given.get("split_by")), others


def _path(given: Any) -> Any:
    return given if is_frame(given) else Path(given)


def check_corpus_options(files: TrainFiles, config: RunConfig) -> None:
    """Refuse options for reading documents where all documents are read already."""
    others = [key for key in config.overrides.get("corpus", ()) if key != "split"]
    if others and all(is_store(path) for path in (files.train, files.dev, files.test) if path is not None):
        raise ConfigError(
            f"{files.train}: is a store, whose documents are read already; corpus.{others[0]} means nothing for it: "
            "leave it out, or give it to encode"
        )


def _check_paths(files: TrainFiles) -> None:
    """Refuse a wrong path at once: options and models take seconds to load."""
    given = (files.train, files.dev, files.test, files.taxonomy)
    for path in given:
        if isinstance(path, str | Path):
            check_exists(Path(path))
    if files.start is not None:
        read_versions(files.start)
    if files.split_by not in (None, NONE, AUTO):
        _check_field(files)


def _check_field(files: TrainFiles) -> None:
    """Parts by a field leave no room for others, and need the documents themselves."""
    if files.dev is not None or files.test is not None:
        raise ConfigError(
            f"--split-by {files.split_by} makes validation and test documents; leave out --dev and --test"
        )
    if is_store(files.train):
        raise CorpusError(f"{files.train}: is a store, which has no field '{files.split_by}'; give the documents")


def _check_run(files: TrainFiles, config: RunConfig) -> None:
    """Refuse options that do not go together; only the process that reads the documents knows their fields."""
    if config.start is not None:
        raise ConfigError(
            f"{config.start}: is the folder of a model; name a model, or give --from to start from this one"
        )
    check_corpus_options(files, config)
    devices = getattr(getattr(config.options, "training", None), "devices", None) or 1
    several = devices > 1 or int(os.environ.get("WORLD_SIZE", "1")) > 1
    if several and files.split_by not in (None, NONE, AUTO):
        raise ConfigError(f"--split-by {files.split_by} is for one process; give --dev and --test as files instead")


def like_model(start: FittedModel, config: RunConfig) -> RunConfig:
    """The options of the model to start from, changed by those that were given, as far as its weights allow."""
    theirs, name = start.config.as_mapping(), start.name
    for key, found in {"model": name.model, "preset": name.preset}.items():
        if key in config.given and str(config.given[key]).lower() != found.lower():
            raise ConfigError(f"the model to start from has {key}={found}, not {config.given[key]}; leave it out")
    options = {key: value for key, value in config.given.items() if key not in RUN_KEYS}
    ours = type(start.config).model_validate(merge(theirs, options))
    check_same(start.config, ours, but=_FREE)
    return replace(config, model=name.model, preset=name.preset, options=ours)


_FREE = ("labels", "validation", "decision", "training", "loss", "walks", "label_vectors")
"""What may differ from the model to start from: how labels are read, and how it is trained and decides."""


class TrainingData:
    """What is trained from: encoded documents, the labels of each, and the taxonomy that has them all."""

    def __init__(
        self,
        files: TrainFiles,
        config: RunConfig,
        folder: Path,
        progress: Progress,
        corrections: Sequence[Corrections] = (),
        held_out: HeldOutRows | None = None,
    ) -> None:
        """Prepare to read documents.

        Args:
            files: What to read.
            config: How to read it.
            folder: Where stores are made.
            progress: Told where the work stands.
            corrections: Corrected documents, those of a later round later: they take the place of training and
                validation documents or, if there are no such, are further training documents at the end; they are not
                tested on.
            held_out: Which documents of the file of training documents are for validation and for the test; the file
                is then that of all these parts.
        """
        self._files, self._config, self._folder, self._progress = files, config, folder, progress
        self._corrections, self._held_out = corrections, held_out or {}
        self._encoder = DocumentEncoder(config.options.text, config.options.encodings, os.cpu_count() or 1)
        self.name = ModelName(config.model, config.preset, config.seed)
        self._documents: dict[str, EncodedDocuments] = {}
        self._lists: dict[str, LabelLists] = {}
        self._labels: dict[str, Any] = {}
        self._values: list[Any] = []
        self._division: Division | None = None
        self._origins: Mapping[str, str] = {}
        self.unknown: Counter[str] = Counter()
        self.named_by: Counter[NamedBy] = Counter()

    def encode(self, tell: Callable[[str], None]) -> dict[str, str]:
        """Encode the documents of all parts; returns the hashes of what they were made from."""
        hashes = {}
        for path in dict.fromkeys(self.paths.values()):
            for line in recognised_lines(path, self._config.corpus):
                tell(line)
            if problem := label_problem(path, self._config.corpus, only_tables=True):
                raise CorpusError(f"{path}: {problem}")
        for name, path in reversed(self.paths.items()):  # corrections of none of the others belong to the first
            if is_store(path):
                store, corpus = path, self._corpus(name)
            else:
                store, corpus = self._write_store(name, path, tell), None
            self._documents[name] = open_documents(store, self._encoder, corpus, model=self.name)
            hashes[name] = str(read_manifest(store)["hashes"].get("source"))
        self._documents = {name: self._documents[name] for name in self.paths}
        return hashes

    def divide(self, *, has_test: bool) -> None:
        """Divide the training documents into parts, if that is wanted; `has_test` says if others are for the test."""
        split_by, whole = self._files.split_by, self._documents["train"]
        if split_by is None or split_by == NONE:
            return
        try:
            self._division = divide(whole, split_by, self._values, has_test=has_test, seed=self._config.seed)
        except CorpusError as error:
            raise CorpusError(f"{self._files.train}: {error}") from error
        if self._division is None:
            return
        parts = {name: part_of(whole, rows) for name, rows in self._division.rows.items()}
        self._documents = {**parts, **{key: value for key, value in self._documents.items() if key != "train"}}
        if not self._division.is_by_field:
            self._held_out = {name: rows.tolist() for name, rows in self._division.rows.items() if name != "train"}

    def describe(self) -> Iterator[str]:
        """What was found in the files, in lines for people."""
        count = sum(map(len, self._documents.values()))
        parts = ", ".join(f"{len(self._documents[name]):,} {_PURPOSES[name]}" for name in self._documents)
        how = f" ({self._division.how})" if self._division is not None else ""
        yield f"{count:,} documents, {len(self._used):,} labels: {parts}{how}"
        if set(self.named_by) > {"id"}:
            yield f"labels of documents: {describe_counts(self.named_by)}"

    def trained_on(self) -> TrainedOn:
        """What is to be remembered, so that the same documents can be read, and put by, again."""
        parts = self._division.rows if self._division is not None else ()
        paths = {**dict.fromkeys(parts, self._files.train), **self.paths}
        corrections = Corrections(chain.from_iterable(one.documents for one in self._corrections)).documents
        return TrainedOn.now(paths, self._config.corpus, self._held_out, corrections)

    @property
    def _used(self) -> set[str]:
        """The labels that documents carry."""
        return {label for lists in self._lists.values() for labels in lists for label in labels or ()}

    def resolve_labels(
        self, taxonomy: Taxonomy | None, start: FittedModel | None, changes: TaxonomyChanges | None = None
    ) -> None:
        """Find labels in the taxonomy, by id or by name, and make matrices of them.

        Args:
            taxonomy: The taxonomy; None for a flat list.
            start: The model to start from.
            changes: What became of the labels of its taxonomy: documents may have the old ones, too.
        """
        options = self._config.options.labels
        older: tuple[str, ...] = start.classes.names if start is not None else ()
        if start is not None and changes is not None:
            self._origins = changes.origins(start.classes.names, start.counts.tolist())
            older = tuple(self._origins)
        now = {} if changes is None else {old: new[0] for old, new in changes.successors.items() if len(new) == 1}
        tree = taxonomy.with_labels(older) if taxonomy is not None else None
        for name, documents in self._documents.items():
            path = self.paths.get(name, self._files.train)
            found = [tuple(now.get(one, one) for one in document.labels or ()) for document in documents.documents]
            if not any(found):
                problem = label_problem(path, self._config.corpus)
                raise CorpusError(f"{path}: no document carries a label{f': {problem}' if problem else ''}")
            self._lists[name] = found
            if tree is None:
                self.named_by["id"] += sum(map(len, found))
            else:
                try:
                    resolved = resolve_labels(found, tree, options.unknown, ids=_Ids(documents.documents))
                except CorpusError as error:
                    raise CorpusError(f"{path}: {error}") from error
                self._lists[name], tree = resolved.labels, resolved.taxonomy
                self.unknown.update(resolved.unknown)
                self.named_by.update(resolved.named_by)
        learned = [labels or () for part in self._learned_parts for labels in self._lists[part]]
        if tree is None:  # the labels that can be learned are all there are
            tree = taxonomy_of(set(older).union(*learned), options.path_separator)
        unseen = unseen_labels(tree) if taxonomy is not None and self._config.options.gives_unseen else ()
        names = collect_classes([*learned, older, unseen], tree, options.ancestors)
        self.classes = Classes(names, tree)
        self._labels = {
            name: label_matrix(found, names, tree, options.ancestors) for name, found in self._lists.items()
        }

    def fit(self, start: FittedModel | None, context: FitContext) -> FittedModel:
        """Fit the model."""
        scorer = self.make_scorer(context.threads, start)
        model = fit_model(self.name, scorer, self.examples("train"), self.validation(start, context.tell), context)
        return model if start is None else replace(model, counts=known_counts(start, scorer, model.counts))

    def validation(self, start: FittedModel | None, tell: Callable[[str], None]) -> Examples | None:
        """The validation documents, unless the model to start from has learned from them."""
        if "dev" not in self._documents:
            return None
        if start is not None and self._has_learned_validation(start):
            tell("the model to start from knows these validation documents: others are held out of training")
            return None
        return self.examples("dev")

    def make_scorer(self, threads: int, start: FittedModel | None = None) -> Scorer:
        """A scorer for these documents that is not fitted yet."""
        scorer = make_scorer(self._config.options, self.classes, self._config.seed, threads)
        scorer.encoder = self._encoder
        scorer.start, scorer.origins = (start.scorer, self._origins) if start is not None else (None, {})
        return scorer

    def examples(self, part: str) -> Examples:
        """The documents of a part with their labels."""
        return Examples(self._documents[part], self._labels[part])

    def labelled(self, part: str) -> tuple[EncodedDocuments, LabelLists]:
        """The documents of a part, and all labels of each, also those that the model has no column for."""
        return self._documents[part], self._lists[part]

    def _has_learned_validation(self, start: FittedModel) -> bool:
        """Whether a linear model beside the network to start from has learned from the same validation documents."""
        if self._config.options.learns_validation:  # out of fold, all documents serve both purposes
            return False
        return bool(start.scorer.members) and start.metrics.get("validation_hash") == self._validation_hash

    @cached_property
    def _validation_hash(self) -> str | None:
        """A hash of the words of the validation documents, the same for a file and a store."""
        if "dev" not in self._documents:
            return None
        lists = (words for tokens in self._documents["dev"].token_chunks() for words in tokens.documents())
        return fingerprint([" ".join(words) for words in lists])

    def evaluate(self, model: FittedModel) -> Evaluation | None:
        """Measure the finished model on the test documents, if there are any."""
        if "test" not in self._documents:
            return None
        return evaluate_scores(model, self._lists["test"], model.own_scores(self._documents["test"]))

    def metrics(self, test: Evaluation | None) -> dict[str, Any]:
        """What is known of the run, for `metrics.json`."""
        documents = {name: len(part) for name, part in self._documents.items()}
        return {
            "documents": documents,
            "validation_hash": self._validation_hash,
            "label_names": dict(self.named_by),
            "test": test.as_dict() if test is not None else None,
        }

    @property
    def _learned_parts(self) -> list[str]:
        """The parts whose documents the model learns from."""
        wanted = ("train", "dev") if self._config.options.learns_validation else ("train",)
        return [name for name in wanted if name in self._lists]

    @property
    def paths(self) -> dict[str, Path]:
        """The file or folder of each part."""
        parts = {"train": self._files.train, "dev": self._files.dev, "test": self._files.test}
        return {name: path for name, path in parts.items() if path is not None}

    def _corpus(self, name: str) -> CorpusConfig:
        """How the documents of a part are read: what is given for several parts is divided by its field `split`."""
        paths, corpus = list(self.paths.values()), self._config.corpus
        is_shared = paths.count(self.paths[name]) > 1 and corpus.split is None and not self._held_out
        return corpus.replace(split=name) if is_shared else corpus

    def _read(self, name: str, path: Path) -> Iterator[Document]:
        """The documents of a part; what the field says that they are divided by is noted."""
        field, corpus = self._files.split_by, self._corpus(name)
        if name != "train" or field is None or field in (NONE, AUTO):
            documents = read_documents(path, corpus)
            is_divided = self._held_out and path == self._files.train
            yield from self._of_part(name, documents) if is_divided else documents
            return
        for document in read_documents(path, corpus.replace(keep=field)):
            self._values.append((document.kept or {}).get(field))
            yield document

    def _of_part(self, name: str, documents: Iterable[Document]) -> Iterator[Document]:
        """Of the documents in the file of training documents, those of a part."""
        parts = {row: part for part, rows in self._held_out.items() for row in rows}
        return (document for row, document in enumerate(documents) if parts.get(row, "train") == name)

    def _write_store(self, name: str, path: Path, tell: Callable[[str], None]) -> Path:
        folder = self._folder / "stores" / name
        folder.mkdir(parents=True, exist_ok=True)
        write_store(
            self._corrected(name, self._read(name, path)),
            self._encoder,
            folder,
            cache=self._folder / "tokens" / name,
            source=str(path),
            progress=self._progress,
            stage={"train": "documents", "dev": "validation documents", "test": "test documents"}[name],
            tell=tell,
        )
        return folder

    def _corrected(self, name: str, documents: Iterable[Document]) -> Iterable[Document]:
        for corrections in self._corrections:
            documents = corrections.without(documents) if name == "test" else corrections.corrected(documents)
            if name == "train":
                documents = chain(documents, _later(corrections.others))
        return documents


def _later(documents: Callable[[], Iterable[Document]]) -> Iterator[Document]:
    """Documents that are only known when all before them have been read."""
    yield from documents()


_PURPOSES = {"train": "to learn from", "dev": "for validation", "test": "for the test"}


@dataclass(frozen=True)
class _Ids:
    """The ids of documents, read when a message needs one."""

    documents: Iterable[Document]

    def __getitem__(self, index: int) -> str | None:
        return next(islice(self.documents, index, None)).id


def add_pages(model: FittedModel, result: Path, work: Path) -> None:
    """What people want to see in a model's folder: card, report, and the history of training.

    Args:
        model: The model; only one whose errors are known has a report.
        result: The folder.
        work: Where it was trained.
    """
    for part in ("", "held-out"):
        history = work / part / "checkpoints" / "history.csv"
        if history.exists():
            (result / "history.csv").write_bytes(history.read_bytes())
    (result / "README.md").write_text(model_card(model.card()), encoding="utf-8")
    if model.diagnosis is not None:
        top_k = model.config.decision.top_k
        page = training_page(model.card(), model.taxonomy_view(), model.diagnosis, model.report, top_k=top_k)
        (result / "report.html").write_text(page, encoding="utf-8")
