"""Where in a text the kept words stand."""

from collections.abc import Iterable, Sequence

from taxocaps.text.tokenize import split_raw

__all__ = ["Span", "joined_spans", "locate"]

Span = tuple[int, int] | None
"""The first character of a word and the one after its last; None if the word is not found."""

_REACH = 1_000
"""How far ahead a word of a foreign tokenizer is looked for; it may be a lemma that stands nowhere."""


def locate(text: str, pieces: Iterable[tuple[str | tuple[str, ...], Sequence[str]]]) -> list[Span]:
    """The places of the words of a text.

    Args:
        text: The text.
        pieces: Its pieces in order, each with the words kept of it: a raw token, or a finished word as a tuple of one.

    Returns:
        A span for each word; the words of one raw token share that of the token, its sentence end left out.

    >>> locate("The cars.", [("The", ()), ("cars.", ("car",))])
    [(4, 8)]
    """
    lower = text.lower()
    found: list[Span] = []
    place = 0
    for piece, words in pieces:
        if isinstance(piece, str):
            # Between raw tokens there are no letters: the first place that fits is the right one.
            start = text.find(piece, place)
            place = start + len(piece)
            found.extend([(start, start + len(split_raw(piece)[0]))] * len(words))
        elif words:
            span = _ahead(text, lower, words[0], place)
            place = span[1] if span else place
            found.append(span)
    return found


def joined_spans(words: Iterable[str]) -> list[Span]:
    """The places of words in a text that is made of them, joined by single spaces.

    >>> joined_spans(["to", "be"])
    [(0, 2), (3, 5)]
    """
    spans: list[Span] = []
    place = 0
    for word in words:
        spans.append((place, place + len(word)))
        place += len(word) + 1
    return spans


def _ahead(text: str, lower: str, word: str, place: int) -> Span:
    start = text.find(word, place, place + _REACH)
    if start < 0 and len(lower) == len(text):
        start = lower.find(word.lower(), place, place + _REACH)
    return (start, start + len(word)) if start >= 0 else None
