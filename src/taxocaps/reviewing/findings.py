"""What a review finds, by the ids of documents and labels; the same types for Python, the command line and the page."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from taxocaps.reviewing.curve import CurvePoint, Forecast

__all__ = [
    "ConfusedLabels",
    "CopiedDocument",
    "CopyGroup",
    "DoubtfulDocument",
    "LabelForecast",
    "LabelSuspect",
    "MissingChild",
    "NextDocument",
    "RareLabel",
    "Review",
    "ReviewCurve",
]


@dataclass(frozen=True)
class LabelSuspect:
    """A label of a document that looks wrong, or one that looks forgotten.

    Attributes:
        kind: `wrong` for a label that is given, `forgotten` for one that is not.
        id: The document's id; its position, counted from 1, if it has none.
        label: The label.
        name: Its name.
        score: Its probability by models that have not learned from the document.
        suspicion: The probability that it is a mistake, if 5 % of all labels were.
        labels: The names of the labels that the document is given.
        text: The beginning of the document.
    """

    kind: Literal["wrong", "forgotten"]
    id: str
    label: str
    name: str
    score: float
    suspicion: float
    labels: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class CopiedDocument:
    """One of several documents with the same words: its id and the names of its labels."""

    id: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class CopyGroup:
    """Documents with the same words (`is_exact`) or nearly the same, and different labels."""

    is_exact: bool
    documents: tuple[CopiedDocument, ...]
    text: str


@dataclass(frozen=True)
class DoubtfulDocument:
    """A document without words (`language` is None), or in another language."""

    id: str
    language: str | None
    text: str


@dataclass(frozen=True)
class MissingChild:
    """A document with a label, but with none of the labels below it.

    Attributes:
        id: The document.
        label: The label.
        name: Its name.
        child: The label below it that is most probable.
        child_name: Its name.
        score: Its probability.
    """

    id: str
    label: str
    name: str
    child: str
    child_name: str
    score: float


@dataclass(frozen=True)
class RareLabel:
    """A label with few documents."""

    label: str
    name: str
    documents: int


@dataclass(frozen=True)
class ConfusedLabels:
    """A label that the model gives in place of its sibling.

    Attributes:
        label: The label that documents are given.
        name: Its name.
        other: The sibling that the model gives instead.
        other_name: Its name.
        documents: How many documents are given the first and not the second, and by the model the other way round.
        of: How many documents are given the first and not the second.
    """

    label: str
    name: str
    other: str
    other_name: str
    documents: int
    of: int


@dataclass(frozen=True)
class LabelForecast:
    """The expected F1 of a label with twice as many documents."""

    label: str
    name: str
    documents: int
    f1: tuple[float, ...]
    forecast: Forecast


@dataclass(frozen=True)
class ReviewCurve:
    """The learning curve of a linear model, and a forecast for twice as many documents.

    Attributes:
        points: F1 by the number of documents learned from.
        micro: The forecast for the micro-F1.
        macro: That for the macro-F1.
        labels: Those of labels with at least 50 documents, the largest gain first.
    """

    points: tuple[CurvePoint, ...]
    micro: Forecast
    macro: Forecast
    labels: tuple[LabelForecast, ...]


@dataclass(frozen=True)
class NextDocument:
    """An unlabelled document that is worth labelling.

    Attributes:
        id: The document.
        label: The label that it was chosen for most, if one is probable.
        name: Its name.
        score: Its probability.
        label_documents: How many documents of the corpus have this label.
        doubt: How uncertain its labels are, in bits.
        text: Its beginning.
    """

    id: str
    label: str | None
    name: str | None
    score: float
    label_documents: int
    doubt: float
    text: str


@dataclass(frozen=True)
class Review:
    """The findings of a review: what is worth a second look in a corpus.

    Attributes:
        model: The model whose out-of-fold scores were used.
        folds: The number of folds.
        documents: The number of documents.
        labels: The number of labels that some document has.
        assignments: The number of labels of all documents together.
        micro_f1: How well the model agrees with the labels, out of fold.
        macro_f1: The mean over labels.
        doubtful: The number of labels, given or not, that confident learning puts in doubt.
        suspects: Labels that look wrong or forgotten, the most suspicious first.
        copies: Copies of documents with different labels.
        wordless: Documents without words.
        foreign: Documents in another language.
        missing_children: Documents whose labels end too high in the taxonomy.
        rare: Labels with few documents, the rarest first.
        unused: Labels of the taxonomy that no document has.
        confused: Labels that are confused with their siblings.
        curve: The learning curve; None with too few documents.
        next: What to label next, the most valuable first; empty without a pool.
    """

    model: str
    folds: int
    documents: int
    labels: int
    assignments: int
    micro_f1: float
    macro_f1: float
    doubtful: int
    suspects: tuple[LabelSuspect, ...]
    copies: tuple[CopyGroup, ...]
    wordless: tuple[DoubtfulDocument, ...]
    foreign: tuple[DoubtfulDocument, ...]
    missing_children: tuple[MissingChild, ...]
    rare: tuple[RareLabel, ...]
    unused: tuple[str, ...]
    confused: tuple[ConfusedLabels, ...]
    curve: ReviewCurve | None
    next: tuple[NextDocument, ...]

    def records(self) -> Iterator[dict[str, Any]]:
        """The findings about single documents and labels as records, as they are written to JSONL."""
        parts: dict[str, tuple[Any, ...]] = {
            "copies": self.copies,
            "no-words": self.wordless,
            "other-language": self.foreign,
            "missing-child": self.missing_children,
            "rare-label": self.rare,
            "confused-labels": self.confused,
            "label-next": self.next,
        }
        for suspect in self.suspects:
            record = asdict(suspect)
            yield {"finding": f"{record.pop('kind')}-label", **record}
        for finding, found in parts.items():
            for one in found:
                yield {"finding": finding, **asdict(one)}
