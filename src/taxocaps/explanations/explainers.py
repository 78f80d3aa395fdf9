"""Explainers: how much each word of a document speaks for a label, and what a network over words-matrices saw."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.encoding.encoders import Encoding
from taxocaps.errors import ModelError
from taxocaps.explanations.explanation import (
    EvidenceShare,
    Graph,
    GraphEdge,
    GraphNode,
    LabelReasons,
    MatrixRow,
    RowShare,
    WordWeight,
    rounded,
)
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.registry import Registry
from taxocaps.scorers.base import Scorer
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

__all__ = [
    "EXPLAINERS",
    "Evidence",
    "describe_graph",
    "describe_rows",
    "explain_joined",
    "explain_linear",
    "explain_occlusion",
    "explain_words_matrix",
]

_TOKENS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Evidence:
    """The findings of an explainer about one document; its fields become those of the `Explanation`.

    Attributes:
        method: What the weight of a word is, such as `occlusion`.
        reasons: For each label that was asked about, what speaks for it.
        matrix: The words-matrix, in models that read one.
        graph: The graph-of-words, in models that read one.
    """

    method: str
    reasons: tuple[LabelReasons, ...]
    matrix: tuple[MatrixRow, ...] | None = None
    graph: Graph | None = None


Explainer = Callable[[Any, EncodedDocuments, Sequence[int]], Evidence]
"""From a fitted scorer, one encoded document and the columns of labels to what speaks for those labels."""

EXPLAINERS: Registry[Explainer] = Registry(
    "explainer",
    "taxocaps.explainers",
    {
        "joined": "taxocaps.explanations.explainers:explain_joined",
        "linear": "taxocaps.explanations.explainers:explain_linear",
        "occlusion": "taxocaps.explanations.explainers:explain_occlusion",
        "words-matrix": "taxocaps.explanations.explainers:explain_words_matrix",
    },
)
"""The explainers by name; a scorer names its own, and `occlusion` works for all."""


def explain_linear(scorer: Any, document: EncodedDocuments, columns: Sequence[int]) -> Evidence:
    """Weight times value of each word, for scorers with `word_weights`."""
    _check("linear", "has linear weights of words", scorer.explainer == "linear")
    found = zip(columns, scorer.word_weights(document, columns), strict=True)
    return Evidence("linear", tuple(_reasons(scorer, column, weights) for column, weights in found))


def explain_occlusion(scorer: Scorer, document: EncodedDocuments, columns: Sequence[int]) -> Evidence:
    """How far the raw score of a label falls if all occurrences of a word are replaced by an unknown word."""
    return _occluded(scorer, document, columns, scorer.scores)


def _occluded(
    scorer: Scorer, document: EncodedDocuments, columns: Sequence[int], score: Callable[[EncodedDocuments], Any]
) -> Evidence:
    """How far a score of each label, [documents, L], falls if a word is replaced by an unknown one."""
    words = _Occlusion(scorer, document, score)
    base = score(document)[0]  # [L]
    falls = {word: base - scores for word, scores in words.scores()}  # [L] each
    found = ({word: float(fall[column]) for word, fall in falls.items()} for column in columns)
    return Evidence(
        "occlusion", tuple(_reasons(scorer, column, weights) for column, weights in zip(columns, found, strict=True))
    )


def explain_joined(scorer: Any, document: EncodedDocuments, columns: Sequence[int]) -> Evidence:
    """Occlusion, and what each member, the names of labels and other kinds of evidence add to the logit."""
    _check("joined", "joins members", scorer.explainer == "joined")
    said = scorer.member_scores(document)
    pairs = scorer.pairs(document, said)
    found = scorer.trees.contributions(pairs.rows)  # [pairs, features]
    kinds = list(scorer.evidence.kinds.values())
    row_of = {int(label): row for row, label in enumerate(pairs.labels)}
    evidence = []
    for column in columns:
        added: dict[str, float] = dict.fromkeys(kinds, 0.0)
        for kind, weight in zip(kinds, found[row_of[column]] if column in row_of else (), strict=False):
            added[kind] += float(weight)
        evidence.append(_shares(added, {kind: float(scores[0, column]) for kind, scores in said.items()}))
    words = _occluded(scorer, document, columns, lambda documents: _mean_scores(scorer, documents))
    reasons = (replace(one, evidence=shares) for one, shares in zip(words.reasons, evidence, strict=True))
    return replace(words, reasons=tuple(reasons))


def _shares(added: Mapping[str, float], said: Mapping[str, float]) -> tuple[EvidenceShare, ...]:
    """What each kind of evidence adds to a logit, the weightiest first, with its score if it has one."""
    shares = (
        EvidenceShare(kind, rounded(weight), rounded(said[kind]) if kind in said else None)
        for kind, weight in added.items()
    )
    return tuple(sorted(shares, key=lambda one: -abs(one.weight)))


def _at(values: Mapping[str, NDArray[np.float32]], column: int) -> dict[str, float]:
    return {kind: float(of_labels[column]) for kind, of_labels in values.items()}


def _mean_scores(scorer: Any, documents: EncodedDocuments) -> NDArray[np.float32]:
    """The mean of the joined score and that of the members: where it is sure, the join does not miss single words."""
    found: NDArray[np.float32] = np.mean([scorer.scores(documents), *scorer.member_scores(documents).values()], axis=0)
    return found


def explain_words_matrix(scorer: Any, document: EncodedDocuments, columns: Sequence[int]) -> Evidence:
    """Occlusion, and what a network made of the rows of its words-matrix: attention, shares, and the graph."""
    _check("words-matrix", "reads words-matrices", "words-matrix" in scorer.config.encodings)
    import torch

    from taxocaps.nn.trace import trace

    graph = GraphOfWords(
        document.tokens.document(0), document.tokens.document_sentence_ends(0), scorer.config.encodings["words-matrix"]
    )
    network = scorer.network.eval()
    device = next(network.parameters()).device
    arrays = scorer.inputs(document).arrays(np.zeros(1, np.int64))
    found = trace(network, [torch.from_numpy(array).to(device) for array in arrays])
    shares = [found.row_shares(column) for column in columns]
    rows = (None if share is None else _row_shares(graph, share) for share in shares)
    parts = scorer.logit_parts(document)
    said = {name: member.scores(document)[0] for name, member in scorer.members.items()}
    evidence = (_shares(_at(parts, column), _at(said, column)) for column in columns)
    reasons = zip(explain_occlusion(scorer, document, columns).reasons, rows, evidence, strict=True)
    return Evidence(
        "occlusion",
        tuple(replace(one, rows=given, evidence=parts) for one, given, parts in reasons),
        describe_rows(graph, found.attention),
        describe_graph(graph),
    )


def _check(method: str, needs: str, is_met: bool) -> None:
    if not is_met:
        raise ModelError(f"the explainer {method} needs a model that {needs}; occlusion works for all models")


def _reasons(scorer: Scorer, column: int, weights: Mapping[str, float]) -> LabelReasons:
    found = [WordWeight(word, rounded(weight)) for word, weight in weights.items() if weight]
    return LabelReasons(scorer.classes.names[column], tuple(sorted(found, key=lambda one: -one.weight)))


@dataclass(frozen=True, eq=False)
class _Occlusion:
    """One document many times over, each time with another word made unknown."""

    scorer: Scorer
    document: EncodedDocuments
    score: Callable[[EncodedDocuments], Any]
    positions: dict[str, NDArray[np.int64]] = field(init=False)  # of each word, in the tokens

    def __post_init__(self) -> None:
        by_character = self.scorer.encoder.pipeline.is_by_character
        object.__setattr__(self, "positions", self._written_words() if by_character else self._known_words())

    def scores(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """For each word, the scores of all labels without it, [L]; a bounded number of copies at a time."""
        words = list(self.positions)
        step = max(1, _TOKENS_AT_ONCE // max(1, len(self.document.tokens.ids)))
        for start in range(0, len(words), step):
            chosen = words[start : start + step]
            yield from zip(chosen, self.score(self._without(chosen)), strict=True)

    def _known_words(self) -> dict[str, NDArray[np.int64]]:
        """The words that the scorer knows and reads."""
        tokens = self.document.tokens
        read = [encoding.arrays(np.zeros(1, np.int64))[0] for encoding in self.document.encodings.values()]
        ids = np.unique(np.concatenate([one.ravel() for one in read])) - Vocabulary.FIRST if read else tokens.ids
        knows = self.scorer.knows
        indices = [index for index in np.unique(ids).tolist() if index >= 0 and knows(tokens.words[index])]
        shown, found = self.scorer.encoder.pipeline.shown, dict[str, list[int]]()
        for index in indices:
            found.setdefault(shown(tokens.words[index]), []).extend(np.flatnonzero(tokens.ids == index).tolist())
        return {word: np.array(positions) for word, positions in found.items()}

    def _written_words(self) -> dict[str, NDArray[np.int64]]:
        """For a scorer that reads characters: what stands between spaces."""
        text = "".join(self.document.tokens.document(0))
        read = self._characters_read(len(text))
        found: dict[str, list[int]] = {}
        for match in re.finditer(r"\S+", text):
            if match.start() < read:
                found.setdefault(match.group(), []).extend(range(*match.span()))
        return {word: np.array(positions) for word, positions in found.items()}

    def _characters_read(self, length: int) -> int:
        """How far into a text a network reads; what is computed from all tokens, such as a graph, counts as all."""
        encodings, encoders = self.document.encodings, self.scorer.encoder.encoders
        if not encoders or any(encoder.stored is not None for encoder in encoders.values()):
            return length
        return max(int(np.count_nonzero(one.arrays(np.zeros(1, np.int64))[0])) for one in encodings.values())

    def _without(self, words: Sequence[str]) -> EncodedDocuments:
        tokens = self.document.tokens
        copies, length = len(words), len(tokens.ids)
        ids = np.tile(tokens.ids, copies)
        for copy, word in enumerate(words):
            ids[self.positions[word] + copy * length] = len(tokens.words)  # one more word, which is unknown
        starts = np.repeat(np.arange(copies) * length, len(tokens.sentence_ends))
        occluded = Tokens(
            (*tokens.words, ""),
            ids,
            np.arange(copies + 1, dtype=np.int64) * length,
            np.tile(tokens.sentence_ends, copies) + starts,
        )
        gone = np.array([int(tokens.ids[self.positions[word][0]]) for word in words], np.int64)
        by_character = self.scorer.encoder.pipeline.is_by_character
        encodings: dict[str, Encoding] = {
            # A view of the tokens is made anew; what was computed from them, such as the graph, stays as it is, except
            # where a word is many tokens.
            name: encoder.encode(occluded)
            if encoder.stored is None or by_character
            else _Without(self.document.encodings[name], gone)
            for name, encoder in self.scorer.encoder.encoders.items()
        }
        return EncodedDocuments((), occluded, encodings)


@dataclass(frozen=True, eq=False)
class _Without:
    """Copies of one encoded document, each with one word made unknown."""

    encoding: Encoding
    words: NDArray[np.int64]  # indices into the words of the tokens

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.repeat(self.encoding.lengths[:1], len(self.words))

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        one = self.encoding.arrays(np.zeros(1, np.int64))
        ids, *others = (np.repeat(array, len(documents), axis=0) for array in one)
        gone = self.words[documents].reshape(-1, *[1] * (ids.ndim - 1)) + Vocabulary.FIRST  # [B, 1, ...]
        return np.where(ids == gone, ids.dtype.type(Vocabulary.UNKNOWN), ids), *others


def describe_graph(graph: GraphOfWords) -> Graph:
    """The graph, its words the most central first."""
    nodes = (
        GraphNode(word, rounded(graph.closeness[word]), graph.positions[word], rank if rank <= graph.config.N else None)
        for rank, word in enumerate(graph.central_words, 1)
    )
    return Graph(tuple(nodes), tuple(GraphEdge(*ends, count) for ends, count in graph.edges.items()))


def describe_rows(graph: GraphOfWords, attention: Sequence[Any] = ()) -> tuple[MatrixRow, ...]:
    """The rows, with the attention of every layer that has one."""
    layers = [_factors(layer) for layer in attention]
    return tuple(
        MatrixRow(
            row.central_word,
            tuple(block.words for block in row.blocks),
            tuple(tuple(factors[index].get(block) for block in range(1, len(row.blocks) + 1)) for factors in layers),
        )
        for index, row in enumerate(graph.rows())
    )


def _factors(layer: Any) -> list[dict[int, float]]:
    """For each row the factor of each block that a window belongs to."""
    return [
        {block: rounded(factor) for block, factor in zip(blocks, factors, strict=True) if block}
        for blocks, factors in zip(layer.blocks.tolist(), layer.alpha.tolist(), strict=True)
    ]


def _row_shares(graph: GraphOfWords, shares: Any) -> tuple[RowShare, ...]:
    """What each row gave to a label, the largest share first."""
    rows = zip(graph.rows(), shares.tolist(), strict=True)
    found = [RowShare(index, row.central_word, rounded(share)) for index, (row, share) in enumerate(rows, 1)]
    return tuple(sorted(found, key=lambda one: -one.share))
