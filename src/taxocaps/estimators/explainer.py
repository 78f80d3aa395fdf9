"""Explain why a fitted model gives a document its labels."""

import difflib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taxocaps.encoding.corpus_words import Text
from taxocaps.errors import CorpusError, ModelError
from taxocaps.estimators.document_words import DocumentWords, plain_text, rounded
from taxocaps.estimators.explanations import Explanation, JudgedLabel, LabelReasons
from taxocaps.estimators.matrix_view import MatrixView
from taxocaps.estimators.model import FittedModel
from taxocaps.estimators.networks import NETWORKS
from taxocaps.estimators.neural import NetworkScorer

__all__ = ["MOST_CHARACTERS", "MOST_WORDS", "explain_document"]

MOST_CHARACTERS = 1_000_000
MOST_WORDS = 20_000
"""The readable graph of so many words takes ten seconds, and twice as many take four times as long."""

_TITLE_WORDS = 8
_LONGEST_TITLE = 100


def explain_document(
    model: FittedModel, content: Text, *, title: str | None = None, labels: Sequence[str] = (), near_misses: int = 5
) -> Explanation:
    """Why a document gets its labels.

    Args:
        model: Of any family.
        content: The text, or ready tokens.
        title: What the document is called; by default its first words.
        labels: The labels to explain; by default all that are given or, if there are none, the nearest miss.
        near_misses: How many labels that were not given are told too.

    Raises:
        CorpusError: If the document is too long.
        ModelError: If the model has no such label.
    """
    columns = [_column(model, label) for label in labels]
    words = DocumentWords(model.scorer, content)
    _check_size(plain_text(content), words)
    raw = model.raw_scores([content])
    judged = _judged(model, raw, near_misses, columns) if raw.any() else ()
    if judged and not columns:
        columns = _asked(model, judged)
    view = _view(model, content) if raw.any() else None
    return Explanation(
        model.name.model,
        title or _title(plain_text(content)),
        plain_text(content),
        words.kept,
        judged,
        words.method,
        _reasons(model, words, view, columns) if raw.any() else (),
        view.matrix if view else None,
        view.graph if view else None,
        None if raw.any() else "the text has no words that the model reads",
    )


def _column(model: FittedModel, label: str) -> int:
    names = model.classes.names
    if label in names:
        return names.index(label)
    nearest = difflib.get_close_matches(label, names, n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise ModelError(f"the model has no label {label!r}{hint}")


def _check_size(text: str, words: DocumentWords) -> None:
    if len(text) > MOST_CHARACTERS:  # words are looked for only in what may have few enough
        raise _too_long(len(text), MOST_CHARACTERS, "characters")
    if len(words.kept) > MOST_WORDS:
        raise _too_long(len(words.kept), MOST_WORDS, "words")


def _too_long(found: int, most: int, unit: str) -> CorpusError:
    return CorpusError(f"the document has {found:,} {unit}; at most {most:,} can be explained: give a part of it")


def _judged(
    model: FittedModel, raw: NDArray[np.float32], near_misses: int, asked: Sequence[int]
) -> tuple[JudgedLabel, ...]:
    """The labels given, the surest first, then those that missed by least, and those that were asked about."""
    scores = model.calibration.apply(raw)
    given = set(model.choose(scores).indices.tolist())
    others = [column for column in range(len(model.classes)) if column not in given]
    others.sort(key=lambda column: model.cuts[column] - scores[0, column])
    missed = [column for place, column in enumerate(others) if place < near_misses or column in asked]
    ordered = [*sorted(given, key=lambda column: -scores[0, column]), *missed]
    has_cuts = model.config.decision.rule != "top-k"
    names = model.classes.names
    return tuple(
        JudgedLabel(
            names[column],
            rounded(scores[0, column]),
            rounded(raw[0, column]),
            rounded(model.cuts[column]) if has_cuts else None,
            column in given,
            model.classes.taxonomy.path(names[column]),
        )
        for column in ordered
    )


def _asked(model: FittedModel, judged: Sequence[JudgedLabel]) -> list[int]:
    given = [one for one in judged if one.is_given] or judged[:1]
    return [model.classes.names.index(one.label) for one in given]


def _view(model: FittedModel, content: Text) -> MatrixView | None:
    scorer = model.scorer
    if not isinstance(scorer, NetworkScorer) or NETWORKS[scorer.config.network.kind].encoding != "words-matrix":
        return None
    return MatrixView.of(scorer, content)


def _reasons(
    model: FittedModel, words: DocumentWords, view: MatrixView | None, columns: Sequence[int]
) -> tuple[LabelReasons, ...]:
    return tuple(
        LabelReasons(model.classes.names[column], found, view.shares(column) if view else None)
        for column, found in zip(columns, words.weights(columns), strict=True)
    )


def _title(text: str) -> str:
    if not text.strip():
        return "Empty text"
    words = text[: 10 * _LONGEST_TITLE].split()
    begin = " ".join(words[:_TITLE_WORDS])[:_LONGEST_TITLE]
    return f"{begin} …" if len(begin) < len(" ".join(text.split())) else begin
