"""The documents and labels that a model is trained on: read, encoded into stores, divided, and found in a taxonomy."""

import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from taxocaps.config import fingerprint
from taxocaps.corpus.document import Document
from taxocaps.corpus.label_changes import TaxonomyChanges
from taxocaps.corpus.label_names import NamedBy, describe_counts
from taxocaps.corpus.labels import (
    Classes,
    LabelLists,
    collect_classes,
    label_matrix,
    likely_separator,
    resolve_labels,
    taxonomy_of,
    unseen_labels,
)
from taxocaps.corpus.readers import CorpusConfig, ReadReport, read_documents
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.encoding.store import is_store, read_manifest
from taxocaps.encoding.store_writer import write_store
from taxocaps.errors import CorpusError
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.progress import Progress
from taxocaps.scorers.base import Examples, FitContext, Scorer, make_scorer
from taxocaps.scorers.fitting import fit_model
from taxocaps.scorers.model import FittedModel, ModelName
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.workflows.config import RunConfig
from taxocaps.workflows.evaluate import evaluate_scores
from taxocaps.workflows.parts import AUTO, NONE, Division, divide, part_of
from taxocaps.workflows.sources import label_problem, open_documents, recognised_lines
from taxocaps.workflows.trained_on import Corrections, HeldOutRows, TrainedOn

__all__ = ["TrainFiles", "TrainingData"]


@dataclass(frozen=True)
class TrainFiles:
    """The files that a model is trained from: any format of documents, stores, or pandas or polars frames.

    Attributes:
        train: Labelled documents.
        taxonomy: A file, a `Taxonomy`, a dict or a networkx graph; without it, the labels of the documents are a flat
            list.
        dev: Validation documents, for early stopping and for tuning thresholds; a joined model learns from them, too.
            By default training documents are held out, or scored out of fold.
        test: Test documents, which the finished model is evaluated on.
        start: The folder of a model to start from.
        split_by: How to divide `train` if no validation and test documents are given: `auto`, or the name of a field
            with dates or numbers (see `workflows.parts.divide`); `none` or None uses all of them for training.
    """

    train: Any
    taxonomy: Any = None
    dev: Any = None
    test: Any = None
    start: Path | None = None
    split_by: str | None = None


class TrainingData:
    """Encoded documents, the labels of each, and a taxonomy that contains them all."""

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
            progress: Called with the progress of the work.
            corrections: Corrected documents, the earliest round first: they replace training and validation documents
                of the same id or text or, if there are none, become further training documents at the end. They are
                never test documents.
            held_out: Which documents of the file of training documents are for validation and for the test, if that
                file has the documents of all parts.
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
        self.ends: Counter[str] = Counter()

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
        """Divide the training documents into parts, if that is wanted; `has_test` says if there are test documents."""
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
        """What was found in the files, as lines for the user."""
        count = sum(map(len, self._documents.values()))
        parts = ", ".join(f"{len(self._documents[name]):,} {_PURPOSES[name]}" for name in self._documents)
        how = f" ({self._division.how})" if self._division is not None else ""
        labels = len(self._used)
        yield f"{count:,} document{'s' * (count != 1)}, {labels:,} label{'s' * (labels != 1)}: {parts}{how}"
        if set(self.named_by) > {"id"}:
            yield f"labels of documents: {describe_counts(self.named_by)}"
        if not self.classes.taxonomy.edges and (separator := likely_separator(self._used)):
            yield f"labels look like paths: --path-separator {separator!r} makes a tree of them"

    def trained_on(self) -> TrainedOn:
        """What a model must remember so that the same documents can be read, and held out, again."""
        parts = self._division.rows if self._division is not None else ()
        paths = {**dict.fromkeys(parts, self._files.train), **self.paths}
        corrections = Corrections(chain.from_iterable(one.documents for one in self._corrections)).documents
        return TrainedOn.now(paths, self._config.corpus, self._held_out, corrections)

    @property
    def _used(self) -> set[str]:
        """The labels that documents carry."""
        return {label for lists in self._lists.values() for labels in lists for label in labels or ()}

    def resolve_labels(
        self,
        taxonomy: Taxonomy | None,
        start: FittedModel | None,
        changes: TaxonomyChanges | None = None,
        *,
        implied: Container[str] = frozenset(),
    ) -> None:
        """Find the labels of all documents in the taxonomy, by id or by name, and make matrices of them.

        Args:
            taxonomy: The taxonomy; None for a flat list.
            start: The model to start from.
            changes: How the taxonomy has changed since then: documents may still carry the old labels.
            implied: Labels that are given with those below them, and not learned. A document that ends at one is
                counted in `ends`.
        """
        options = self._config.options.labels
        older: tuple[str, ...] = start.classes.names if start is not None else ()
        if start is not None and changes is not None:
            self._origins = changes.origins(start.classes.names, start.counts.tolist())
            older = tuple(self._origins)
        renamed = {} if changes is None else {old: new[0] for old, new in changes.successors.items() if len(new) == 1}
        tree = taxonomy.with_labels(older) if taxonomy is not None else None
        for name in self._documents:
            tree = self._resolve_part(name, tree, renamed)
        if tree is not None:
            for part in self._learned_parts:
                self._lists[part] = [self._without(implied, labels or (), tree) for labels in self._lists[part]]
        learned = [labels or () for part in self._learned_parts for labels in self._lists[part]]
        if self.unknown and not any(learned):
            raise CorpusError(
                f"{self._files.train}: no document is left with a label: none of the {len(self.unknown):,} labels, "
                f"such as {max(self.unknown, key=self.unknown.__getitem__)!r}, is in the taxonomy; "
                "give the right taxonomy, or --unknown-labels add"
            )
        if tree is None:  # the labels that can be learned are all there are
            tree = taxonomy_of(set(older).union(*learned), options.path_separator)
        unseen = unseen_labels(tree) if taxonomy is not None and self._config.options.gives_unseen else ()
        names = collect_classes([*learned, older, unseen], tree, options.ancestors)
        self.classes = Classes(names, tree)
        self._labels = {
            name: label_matrix(found, names, tree, options.ancestors) for name, found in self._lists.items()
        }

    def _resolve_part(self, name: str, tree: Taxonomy | None, renamed: Mapping[str, str]) -> Taxonomy | None:
        """Find the labels of the documents of a part; returns the taxonomy, with unknown labels if they are added."""
        path, documents = self.paths.get(name, self._files.train), self._documents[name].documents
        lists = [tuple(renamed.get(label, label) for label in document.labels or ()) for document in documents]
        if not any(lists):
            problem = label_problem(path, self._config.corpus)
            raise CorpusError(f"{path}: no document carries a label{f': {problem}' if problem else ''}")
        if tree is None:
            self._lists[name] = lists
            self.named_by["id"] += sum(map(len, lists))
            return None
        try:
            resolved = resolve_labels(
                lists, tree, self._config.options.labels.unknown, ids=_Ids(documents, self._rows(name))
            )
        except CorpusError as error:
            raise CorpusError(f"{path}: {error}") from error
        self._lists[name] = resolved.labels
        self.unknown.update(resolved.unknown)
        self.named_by.update(resolved.named_by)
        return resolved.taxonomy

    def _rows(self, name: str) -> Sequence[int] | None:
        """Where the documents of a part are in their file, if they were drawn from it just now."""
        rows = {} if self._division is None else self._division.rows
        return sorted(rows[name].tolist()) if name in rows else None

    def _without(self, implied: Container[str], labels: Sequence[str], tree: Taxonomy) -> tuple[str, ...]:
        """The labels of a document that are not implied."""
        if left_out := [label for label in labels if label in implied]:
            self.ends.update(set(left_out).difference(*map(tree.ancestors, labels)))
        return tuple(label for label in labels if label not in left_out)

    def fit(self, start: FittedModel | None, context: FitContext) -> FittedModel:
        """Fit the model."""
        scorer = self.make_scorer(context.threads, start)
        model = fit_model(self.name, scorer, self.examples("train"), self.validation(start, context.tell), context)
        return model if start is None else replace(model, counts=scorer.with_start_counts(model.counts, start.counts))

    def validation(self, start: FittedModel | None, tell: Callable[[str], None]) -> Examples | None:
        """The validation documents, unless the model to start from has learned from them."""
        if "dev" not in self._documents:
            return None
        if start is not None and self._has_learned_validation(start):
            tell("the model to start from knows these validation documents: others are held out of training")
            return None
        return self.examples("dev")

    def make_scorer(self, threads: int, start: FittedModel | None = None) -> Scorer:
        """An unfitted scorer for these documents."""
        scorer = make_scorer(self._config.options, self.classes, self._config.seed, threads)
        scorer.encoder = self._encoder
        scorer.start, scorer.origins = (start.scorer, self._origins) if start is not None else (None, {})
        return scorer

    def examples(self, part: str) -> Examples:
        """The documents of a part with their labels."""
        return Examples(self._documents[part], self._labels[part])

    def labelled(self, part: str) -> tuple[EncodedDocuments, LabelLists]:
        """The documents of a part, and all labels of each, including those that the model has no column for."""
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
        """How the documents of a part are read: a file that is given for several parts is divided by its `split`."""
        paths, corpus = list(self.paths.values()), self._config.corpus
        is_shared = paths.count(self.paths[name]) > 1 and corpus.split is None and not self._held_out
        return corpus.replace(split=name) if is_shared else corpus

    def _read(self, name: str, path: Path, report: ReadReport) -> Iterator[Document]:
        """The documents of a part; the values of the field that they will be divided by are kept."""
        field, corpus = self._files.split_by, self._corpus(name)
        if name != "train" or field is None or field in (NONE, AUTO):
            documents = read_documents(path, corpus, report=report)
            is_divided = self._held_out and path == self._files.train
            yield from self._of_part(name, documents) if is_divided else documents
            return
        for document in read_documents(path, corpus.replace(keep=field), report=report):
            self._values.append((document.kept or {}).get(field))
            yield document

    def _of_part(self, name: str, documents: Iterable[Document]) -> Iterator[Document]:
        """Those documents in the file of training documents that belong to a part."""
        parts = {row: part for part, rows in self._held_out.items() for row in rows}
        return (document for row, document in enumerate(documents) if parts.get(row, "train") == name)

    def _write_store(self, name: str, path: Path, tell: Callable[[str], None]) -> Path:
        folder = self._folder / "stores" / name
        folder.mkdir(parents=True, exist_ok=True)
        report = ReadReport()
        write_store(
            self._corrected(name, self._read(name, path, report)),
            self._encoder,
            folder,
            cache=self._folder / "tokens" / name,
            source=str(path),
            progress=self._progress,
            stage={"train": "documents", "dev": "validation documents", "test": "test documents"}[name],
            tell=tell,
        )
        if report.skipped:
            tell(f"{path}: {report.summary}")
        return folder

    def _corrected(self, name: str, documents: Iterable[Document]) -> Iterable[Document]:
        for corrections in self._corrections:
            documents = corrections.without(documents) if name == "test" else corrections.corrected(documents)
            if name == "train":
                documents = chain(documents, _later(corrections.others))
        return documents


def _later(documents: Callable[[], Iterable[Document]]) -> Iterator[Document]:
    """Documents that are only known once all documents before them have been read."""
    yield from documents()


_PURPOSES = {"train": "to learn from", "dev": "for validation", "test": "for the test"}


@dataclass(frozen=True)
class _Ids:
    """The ids of documents, read when a message needs one, or else their positions in their file."""

    documents: Iterable[Document]
    rows: Sequence[int] | None = None

    def __getitem__(self, index: int) -> str | int | None:
        id = next(islice(self.documents, index, None)).id
        return id if id is not None or self.rows is None else self.rows[index] + 1
