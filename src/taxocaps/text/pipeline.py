"""The text pipeline: from a text to the words that are kept of it, and where its sentences end."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import pays
from taxocaps.config import Config, fingerprint
from taxocaps.errors import TextError, nearest
from taxocaps.text.normalize import LONGEST_RAW, Memory, Normalizer, lemmatizer, load_stop_words, read_stop_words
from taxocaps.text.tokenizers import (
    code_of,
    custom_tokenizer,
    raw_tokens,
    raw_tokens_with_marks,
    spacy_tokenizer,
    split_raw,
)
from taxocaps.text.tokens import Tokens, from_pieces, gather, joined_spans, locate

__all__ = ["Content", "TextConfig", "TextPipeline"]

_SAVED = 6e-8
"""CPU seconds a letter that compiled code saves."""

# A raw token, still to be normalised, is a string; a finished word is a tuple of one. Both can stand in one chunk.
Piece = str | tuple[str, ...]

Content = str | Sequence[str]
"""A text, or ready tokens, which replace the tokenizer."""


class TextConfig(Config):
    """How texts become words.

    Attributes:
        language: Code of the language, such as `en`.
        tokenizer: `words` (the built-in rules), `plain` (words as they are, in lower case, with stop words, `!` and
            `?`), `none` (ready tokens between white space), `characters` (each a token, in lower case), `spacy:NAME`
            (a spaCy pipeline, by package or path), `module:function` (a callable from a text to a list of words), or
            `raw` (for joined models: the tokens of the text itself, which members read as `words` or `plain`).
            The other keys apply to `words`; spaCy has its own language, lemmas and, by default, stop words; what the
            others give is final.
        lemmas: Whether words are replaced by their lemmas.
        stop_words: `default` (the list of the language), `none`, or a file with one word a line.
        lowercase: Whether words are put into lower case.
        numbers: Whether tokens without letters are kept.
    """

    section: ClassVar[str] = "text"
    language: str = "en"
    tokenizer: str = "words"
    lemmas: Literal["simplemma", "none"] = "simplemma"
    stop_words: str = "default"
    lowercase: bool = True
    numbers: Literal["keep", "drop"] = "keep"

    @property
    def portable(self) -> Self:
        """The same without the place of a file of stop words, which is another one in every copy of a model."""
        return self if self.stop_words in ("default", "none") else self.replace(stop_words="file")


class TextPipeline:
    """From texts to words, by one configuration; built once, since it loads dictionaries and remembers words.

    >>> pipeline = TextPipeline(TextConfig())
    >>> pipeline.tokenize(["Musk told the electric car company that it had gone."]).document(0)
    ['musk', 'tell', 'electric', 'car', 'company', 'go']
    """

    def __init__(self, config: TextConfig | None = None) -> None:
        """Prepare tokenizer, lemmas and stop words.

        Raises:
            TextError: For an unknown language, tokenizer or list of stop words.
            MissingExtraError: For a spaCy tokenizer when spaCy is not installed.
        """
        self.config = config or TextConfig()
        self._pieces, normalize = _parts(self.config)
        self._words_of = _PieceMemory(normalize).__getitem__
        self._read_of = Memory(self._find_words).__getitem__
        self._parts_of = Memory(self._find_parts).__getitem__

    @property
    def is_by_character(self) -> bool:
        """Whether every character counts as a word."""
        return self.config.tokenizer == "characters"

    def tokenize(self, contents: Iterable[Content], *, spans: bool = False) -> Tokens:
        """The words of many documents.

        Args:
            contents: Texts, or lists of ready tokens, which are taken as they are.
            spans: Find out where in its text each word stands, too.
        """
        contents = list(contents)
        if not spans:
            if self._is_scanned(contents):
                return self._scan(contents)
            return gather(map(self._document_pieces, contents), self._words_of)
        pieces = [list(self._document_pieces(content)) for content in contents]
        found = [self._spans(content, parts) for content, parts in zip(contents, pieces, strict=True)]
        tokens = gather(pieces, self._words_of)
        return replace(tokens, spans=np.concatenate([np.zeros((0, 2), np.int64), *found]))

    def _is_scanned(self, contents: Sequence[Content]) -> bool:
        """Whether compiled code finds the raw tokens."""
        if self.config.tokenizer not in ("words", "raw") or not all(isinstance(content, str) for content in contents):
            return False
        return pays("taxocaps.text.scan_kernels:scan_texts", _SAVED * sum(map(len, contents)))

    def _scan(self, contents: Sequence[Any]) -> Tokens:
        from taxocaps.text.scanner import scan

        return from_pieces(*scan(contents, with_marks=self.config.tokenizer == "raw"), self._words_of)

    @cached_property
    def raw(self) -> "TextPipeline":
        """The pipeline that `reread` continues: that of raw tokens, or this one if its tokenizer gives words."""
        begins_raw = self.config.tokenizer in ("words", "plain")
        return TextPipeline(self.config.replace(tokenizer="raw")) if begins_raw else self

    def reread(self, raw: Tokens, *, keep_raw: bool = False) -> Tokens:
        """The words of documents that were tokenised before, by a pipeline with the tokenizer `raw`.

        Only `words` and `plain` begin with raw tokens; ready tokens of documents stay as they are.

        Args:
            raw: The raw tokens.
            keep_raw: Keep them with the words.

        >>> raw = TextPipeline(TextConfig(tokenizer="raw")).tokenize(["Cars were sold!"])
        >>> TextPipeline(TextConfig()).reread(raw).document(0)
        ['car', 'sell']
        >>> TextPipeline(TextConfig(tokenizer="plain")).reread(raw).document(0)
        ['cars', 'were', 'sold', '!']
        """
        if keep_raw and self.raw is self:  # words already
            return replace(raw, raw=raw, origins=np.arange(len(raw.ids)))
        return raw.expanded(self._read_of, keep_raw=keep_raw)

    def read(self, raw: str) -> tuple[str, ...]:
        """The words of one raw token, and "" if it ends a sentence."""
        return self._read_of(raw)

    def _find_words(self, raw: str) -> tuple[str, ...]:
        if raw.startswith(_READY):
            return (raw[1:],)
        return tuple(_plain_words(raw)) if self.config.tokenizer == "plain" else self._words_of(raw)

    def shown(self, word: str) -> str:
        """A word as people are shown it: raw tokens in lower case, without what ends their sentences.

        >>> TextPipeline(TextConfig(tokenizer="raw")).shown("Cars.")
        'cars'
        """
        if self.config.tokenizer != "raw":
            return word
        return word[1:] if word.startswith(_READY) else (split_raw(word)[0] or word).lower()

    @staticmethod
    def written(raw: str) -> tuple[str, str]:
        """A raw token as it stands in the text: its word, and the sentence end behind it, which may be empty.

        >>> TextPipeline.written("pct).")
        ('pct', ').')
        """
        token = raw.removeprefix(_READY)
        word, end = split_raw(token)
        return (word, end) if word else (token, "")

    def parts(self, word: str) -> tuple[str, ...]:
        """The words inside a word or a name, which may be an identifier such as `shortest_paths` or `facet::tag`.

        >>> TextPipeline(TextConfig()).parts("networkx.shortest_paths")
        ('networkx', 'short', 'path')
        """
        return self._parts_of(word)

    def reread_parts(self, raw: Tokens) -> Tokens:
        """The words inside the words of documents, see `parts`."""
        return raw.expanded(self._parts_of)

    def _find_parts(self, word: str) -> tuple[str, ...]:
        pieces = _PARTS.findall(word.removeprefix(_READY))
        return tuple(found for piece in pieces for found in self._words_of(piece) if found)

    def _document_pieces(self, content: Content) -> Iterable[Piece]:
        if isinstance(content, str):
            return self._pieces(content)
        if self.is_by_character:
            return self._pieces(" ".join(content))
        words = filter(None, content)
        return zip(map(_READY.__add__, words) if self.config.tokenizer == "raw" else words, strict=True)

    def _spans(self, content: Content, pieces: Iterable[Piece]) -> NDArray[np.int64]:
        if self.is_by_character:
            return np.full((len(list(pieces)), 2), -1, np.int64)
        if isinstance(content, str):
            parts = ((piece, [word for word in self._words_of(piece) if word]) for piece in pieces)
            found = locate(content, parts)
        else:
            spans = zip(content, joined_spans(content), strict=True)
            found = [span for word, span in spans if word]
        return np.array([span or (-1, -1) for span in found], np.int64).reshape(-1, 2)

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides the words: the configuration, and what a user's files and functions hold."""
        name = self.config.tokenizer
        is_own = ":" in name and not name.startswith("spacy:")
        uses_stop_words = name == "words" or (name.startswith("spacy:") and self.config.stop_words != "default")
        stop_words = sorted(_stop_words(self.config)) if uses_stop_words else []
        return fingerprint([self.config.portable.as_mapping(), stop_words, code_of(name) if is_own else ""])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.config,)


class _PieceMemory(Memory):
    """Remembers the words of raw tokens, but not of finished words, which may stand among them, or encoded data."""

    def __missing__(self, piece: Any) -> tuple[str, ...]:
        if isinstance(piece, tuple):
            return piece
        return super().__missing__(piece) if len(piece) <= LONGEST_RAW else ()


def _parts(config: TextConfig) -> tuple[Callable[[str], Iterable[Piece]], Callable[[str], tuple[str, ...]]]:
    """The function from a text to its pieces, and the one from a raw token to its words."""
    name = config.tokenizer
    if name == "words":
        return raw_tokens, _normalizer(config)
    if name == "raw":
        return raw_tokens_with_marks, _finished
    built_in: dict[str, Callable[[str], Iterable[str]]] = {
        "none": str.split,
        "plain": _plain_words,
        "characters": _characters,
    }
    words = built_in[name] if name in built_in else _foreign_tokenizer(name, config)
    return lambda text: zip(words(text), strict=True), _finished


def _normalizer(config: TextConfig) -> Normalizer:
    return Normalizer(
        config.language,
        lemmatizer(config.language) if config.lemmas == "simplemma" else None,
        _stop_words(config),
        lowercase=config.lowercase,
        keep_numbers=config.numbers == "keep",
    )


def _foreign_tokenizer(name: str, config: TextConfig) -> Callable[[str], Iterable[str]]:
    kind, colon, rest = name.partition(":")
    if not (kind and colon and rest):
        known = ("words", "plain", "none", "characters", "raw", "spacy:NAME", "module:function")
        close = nearest(name, known, likeness=0.5)
        hint = f"; did you mean {close}?" if close else ""
        raise TextError(
            "text.tokenizer must be words, plain, none, characters, raw, spacy:NAME or module:function; "
            f"got {name!r}{hint}"
        )
    if kind != "spacy":
        return custom_tokenizer(name)
    return spacy_tokenizer(
        rest,
        None if config.stop_words == "default" else _stop_words(config),
        lemmas=config.lemmas != "none",
        lowercase=config.lowercase,
        keep_numbers=config.numbers == "keep",
    )


def _stop_words(config: TextConfig) -> frozenset[str]:
    if config.stop_words == "none":
        return frozenset()
    if config.stop_words == "default":
        return load_stop_words(config.language)
    path = Path(config.stop_words)
    if not path.is_file():
        raise TextError(f"text.stop_words must be default, none or a file with one word a line; no file {str(path)!r}")
    return read_stop_words(path)


_READY = "\x1f"
"""Stands before the ready tokens of a document among raw ones: they are words already."""

_PARTS = re.compile(r"[^\W_]+")
_PLAIN = re.compile(r"\w+|[!?]+")


def _plain_words(text: str) -> Iterable[str]:
    return _PLAIN.findall(text.lower())


def _characters(text: str) -> Iterable[str]:
    return " ".join(text.lower().split())


def _finished(raw: str) -> tuple[str, ...]:
    return (raw,)
