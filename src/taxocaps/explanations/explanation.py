"""What an explanation of a document's labels is made of: plain values, the same for all kinds of models."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from taxocaps.notebook import bar, table

__all__ = [
    "EvidenceShare",
    "Explanation",
    "Graph",
    "GraphEdge",
    "GraphNode",
    "JudgedLabel",
    "KeptWord",
    "LabelReasons",
    "MatrixRow",
    "RowShare",
    "WordWeight",
    "rounded",
]


@dataclass(frozen=True)
class KeptWord:
    """A word of the document as the model reads it.

    Attributes:
        word: As the model reads it, such as its lemma.
        start: The position in the text where it begins, in characters from 0; None if that is not known.
        end: The position after its last character.
        is_known: Whether it is in the vocabulary; all others are one and the same to the model.
    """

    word: str
    start: int | None
    end: int | None
    is_known: bool


@dataclass(frozen=True)
class JudgedLabel:
    """A label that the document got, nearly got, or that was asked about.

    Attributes:
        label: Its id.
        name: Its name in the language of the model; the id if it has none.
        score: Its probability.
        raw_score: The score before calibration: in capsule networks the length of the label's capsule.
        threshold: The score from which on the label is given; None where the best few are given, whatever their scores.
        is_given: Whether the document got it.
        paths: All paths to it from below the root of the taxonomy, the shortest first and at most 20, as ids.
    """

    label: str
    name: str
    score: float
    raw_score: float
    threshold: float | None
    is_given: bool
    paths: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class WordWeight:
    """A word, and how much it speaks for a label; negative if it speaks against it."""

    word: str
    weight: float


@dataclass(frozen=True)
class RowShare:
    """What a row of the words-matrix gave to a label: coupling times agreement, as a share of all rows.

    Attributes:
        row: The index of the row, from 1.
        central_word: Its central word.
        share: From -1 to 1; the absolute values of all rows add up to 1.
    """

    row: int
    central_word: str
    share: float


@dataclass(frozen=True)
class EvidenceShare:
    """What a kind of evidence adds to the logit of a label in a joined model, or in a network with a prior.

    Attributes:
        kind: A member, `name`, `frequency`, `rank`, `taxonomy`, `length` or `members together`; in a network with a
            prior `linear` or `network`.
        weight: Below 0 it speaks against the label.
        score: What a member itself says, from 0 to 1; None for other kinds.
    """

    kind: str
    weight: float
    score: float | None = None


@dataclass(frozen=True)
class LabelReasons:
    """Why the model is as sure of a label as it is.

    Attributes:
        label: The label.
        words: The words that weigh anything, the weightiest first.
        rows: What was routed to the label, the largest share first; None in models without capsules of rows.
        evidence: What each kind of evidence adds, the weightiest first; nothing in models with one kind.
    """

    label: str
    words: tuple[WordWeight, ...]
    rows: tuple[RowShare, ...] | None = None
    evidence: tuple[EvidenceShare, ...] = ()


@dataclass(frozen=True)
class MatrixRow:
    """A row of the arranged words-matrix.

    Attributes:
        central_word: Its central word.
        blocks: Its words, block after block.
        attention: For each layer with block attention the factor of each block; None for a block that the layer does
            not see, because no window of its convolution has its centre there.
    """

    central_word: str
    blocks: tuple[tuple[str, ...], ...]
    attention: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class GraphNode:
    """A word of the graph: its closeness, its positions among the kept words, from 1, and the row it heads, if any."""

    word: str
    closeness: float
    positions: tuple[int, ...]
    row: int | None


@dataclass(frozen=True)
class GraphEdge:
    """How often one word is followed by another nearby."""

    source: str
    target: str
    count: int


@dataclass(frozen=True)
class Graph:
    """The graph-of-words: its words, the most central first, and its edges."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a document gets its labels.

    Attributes:
        model: The name of the model.
        title: The document's id, or how it begins.
        text: The document as it was given; ready tokens joined by spaces.
        words: Its words as the model reads them, in order.
        labels: The labels given, the most probable first, then the near misses and what was asked about.
        method: What the weight of a word is: `occlusion`, the fall of the raw score when the word is unknown; `linear`,
            weight times value; `none` for models that cannot tell.
        reasons: For each label that was asked about, why.
        matrix: The arranged words-matrix; None for models that read none.
        graph: The graph-of-words; None for models that make none.
        warning: What is wrong with the document, if anything.
        names: The names of all labels on the paths that are called otherwise than by their ids.
    """

    model: str
    title: str
    text: str
    words: tuple[KeptWord, ...]
    labels: tuple[JudgedLabel, ...]
    method: str
    reasons: tuple[LabelReasons, ...]
    matrix: tuple[MatrixRow, ...] | None
    graph: Graph | None
    warning: str | None = None
    names: dict[str, str] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        words = {one.label: one.words for one in self.reasons}
        rows = [
            (
                bar(one.score),
                one.name,
                "given" if one.is_given else "not given",
                _listed(word for word in words.get(one.label, ()) if word.weight > 0),
                _listed(word for word in words.get(one.label, ()) if word.weight < 0),
            )
            for one in self.labels
        ]
        return table(("score", "label", "", "words for it", "words against it"), rows, f"{self.title} ({self.model})")


def _listed(words: Iterable[WordWeight]) -> str:
    return ", ".join(word.word for word in islice(words, 8))


def rounded(number: float) -> float:
    """A number, rounded to six significant digits.

    >>> rounded(0.12345678), rounded(1.2345678e-9)
    (0.123457, 1.23457e-09)
    """
    return float(f"{number:.6g}")
