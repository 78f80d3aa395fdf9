"""Explain why a fitted model gives a document its labels."""

import re
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import Between, Config
from taxocaps.corpus.document import Document
from taxocaps.corpus.label_names import LabelResolver
from taxocaps.encoding.documents import EncodedDocuments, plain_text
from taxocaps.errors import CorpusError, ModelError, nearest
from taxocaps.explanations.explainers import EXPLAINERS
from taxocaps.explanations.explanation import Explanation, JudgedLabel, KeptWord, rounded
from taxocaps.scorers.decision import MOST_LABELS
from taxocaps.scorers.model import FittedModel

__all__ = ["MOST_CHARACTERS", "MOST_WORDS", "ExplainOptions", "explain_document", "explain_encoded"]

MOST_CHARACTERS = 1_000_000
MOST_WORDS = 20_000
"""The readable graph of so many words takes ten seconds, and twice as many take four times as long."""

_TITLE_WORDS = 8
_LONGEST_TITLE = 100


class ExplainOptions(Config):
    """What is explained of a document, and how.

    Attributes:
        labels: The labels to explain; by default all that are given or, if there are none, the nearest miss.
        near_misses: How many labels that were not given are listed, too.
        method: The explainer, such as `linear`, `occlusion` or `words-matrix`; by default that of the model.
    """

    labels: tuple[str, ...] = ()
    near_misses: Annotated[int, Between(0, MOST_LABELS)] = 5
    method: str | None = None

    def model_post_init(self, context: object, /) -> None:
        """The explainer must be known."""
        if self.method is not None:
            EXPLAINERS.check(self.method)


def explain_document(
    model: FittedModel,
    document: Document,
    options: ExplainOptions | None = None,
    *,
    most_words: int = MOST_WORDS,
) -> Explanation:
    """Why a document gets its labels; it is tokenised once and encoded once.

    Args:
        model: Of any kind.
        document: The document; its id, if it has one, is the title.
        options: What is explained, and how.
        most_words: A longer document is refused.

    Raises:
        CorpusError: If the document is too long.
        ModelError: If the model has no such label.
    """
    options = options or ExplainOptions()
    for label in options.labels:  # refuse a mistyped one before any work
        _column(model, label)
    text = plain_text(document)
    _check_size(len(text), MOST_CHARACTERS, "characters")
    encoder = model.scorer.encoder
    tokens = encoder.tokenize([document.content], spans=True)
    _check_size(len(text.split()) if encoder.pipeline.is_by_character else len(tokens.ids), most_words, "words")
    encoded = EncodedDocuments([document], tokens, encoder.encode_tokens(tokens))
    return explain_encoded(model, encoded, text, options)


def explain_encoded(
    model: FittedModel, document: EncodedDocuments, text: str, options: ExplainOptions | None = None
) -> Explanation:
    """Why one encoded document gets its labels; see `explain_document`."""
    options = options or ExplainOptions()
    columns = [_column(model, label) for label in options.labels]
    words = _words(model, document, text)
    _check_size(len(words), MOST_WORDS, "words")
    raw = model.raw_scores(document)
    (given,) = document.documents
    title = given.id or _title(text)
    if not raw.any():
        warning = "the text has no words that the model reads"
        return Explanation(model.name.model, title, text, words, (), "none", (), None, None, warning)
    judged = _judged(model, raw, options.near_misses, columns)
    asked = columns or [model.classes.names.index(one.label) for one in _given(judged)]
    found = EXPLAINERS[options.method or model.scorer.explainer](model.scorer, document, asked)
    return Explanation(model.name.model, title, text, words, judged, **vars(found), names=_names(model, judged))


def _column(model: FittedModel, label: str) -> int:
    """The column of a label, which is given by its id or, as in documents, by one of its names."""
    names = model.classes.names
    (found,) = LabelResolver(model.classes.taxonomy).resolve([label])
    if found in names:
        return names.index(found)
    close = nearest(label, names)
    hint = f"; did you mean {close!r}?" if close else ""
    raise ModelError(f"the model has no label {label!r}{hint}")


def _check_size(found: int, most: int, unit: str) -> None:
    if found > most:
        raise CorpusError(f"the document has {found:,} {unit}; at most {most:,} can be explained: give a part of it")


def _words(model: FittedModel, document: EncodedDocuments, text: str) -> tuple[KeptWord, ...]:
    """The words in order, with their positions in the text."""
    if model.scorer.encoder.pipeline.is_by_character:
        found = re.finditer(r"\S+", text)
        return tuple(KeptWord(one.group().lower(), one.start(), one.end(), is_known=True) for one in found)
    words, knows = document.tokens.document(0), model.scorer.knows
    shown = model.scorer.encoder.pipeline.shown
    spans = np.full((len(words), 2), -1) if document.tokens.spans is None else document.tokens.spans
    return tuple(
        KeptWord(shown(word), start if start >= 0 else None, end if end >= 0 else None, knows(word))
        for word, (start, end) in zip(words, spans.tolist(), strict=True)
    )


def _judged(
    model: FittedModel, raw: NDArray[np.float32], near_misses: int, asked: Sequence[int]
) -> tuple[JudgedLabel, ...]:
    """The labels given, the most probable first, then those that missed by least, and those that were asked about."""
    own = model.calibration.apply(raw)
    scores, given = model.consistent(own), set(model.choose(own).indices.tolist())
    others = [column for column in range(len(model.classes)) if column not in given]
    others.sort(key=lambda column: model.thresholds[column] - scores[0, column])
    missed = [column for rank, column in enumerate(others) if rank < near_misses or column in asked]
    ordered = [*sorted(given, key=lambda column: (-scores[0, column], column)), *missed]
    has_thresholds = model.decision.top_k is None
    names = model.classes.names
    return tuple(
        JudgedLabel(
            names[column],
            model.title(names[column]),
            rounded(scores[0, column]),
            rounded(raw[0, column]),
            rounded(model.thresholds[column]) if has_thresholds else None,
            column in given,
            model.classes.taxonomy.paths(names[column]),
        )
        for column in ordered
    )


def _names(model: FittedModel, judged: Sequence[JudgedLabel]) -> dict[str, str]:
    """The names of the labels on the paths, of those that have one other than their id."""
    steps = {step for one in judged for path in one.paths for step in (one.label, *path)}
    return {step: name for step in sorted(steps) if (name := model.title(step)) != step}


def _given(judged: Sequence[JudgedLabel]) -> Sequence[JudgedLabel]:
    return [one for one in judged if one.is_given] or judged[:1]


def _title(text: str) -> str:
    if not text.strip():
        return "Empty text"
    words = text[: 10 * _LONGEST_TITLE].split()
    begin = " ".join(words[:_TITLE_WORDS])[:_LONGEST_TITLE]
    return f"{begin} …" if len(begin) < len(" ".join(text.split())) else begin
