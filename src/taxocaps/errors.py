"""The exceptions that taxocaps raises for bad input; each message is one line that says what, where and what to do."""

import difflib
from collections.abc import Iterable
from itertools import islice

__all__ = [
    "CheckpointError",
    "ConfigError",
    "CorpusError",
    "FeedbackError",
    "FileError",
    "GraphError",
    "MissingExtraError",
    "ModelError",
    "StoreError",
    "TaxoCapsError",
    "TaxonomyError",
    "TextError",
    "UnfinishedError",
    "VectorsError",
    "WriteError",
    "nearest",
    "one_line",
    "printable",
]

_LONGEST_MESSAGE = 1_500
_LONGEST_COMPARED = 200
_MOST_COMPARED = 10_000
_SPACES = dict.fromkeys(map(ord, "\t\n\r"), " ")


class TaxoCapsError(Exception):
    """Base of all errors a user can cause and correct; the command line prints it as one line and exits with code 2."""

    def __str__(self) -> str:
        """The message, safe to show whatever names, paths and values it quotes."""
        return one_line(super().__str__())


class ConfigError(TaxoCapsError):
    """A configuration key or value that is not allowed."""


class FileError(TaxoCapsError):
    """A file that cannot be read as asked."""


class WriteError(FileError):
    """A file that cannot be written: no space, no permission."""


class TaxonomyError(TaxoCapsError):
    """A taxonomy that is not a directed acyclic graph of named labels."""


class CorpusError(TaxoCapsError):
    """A document, field or label that does not fit."""


class FeedbackError(TaxoCapsError):
    """A correction that contradicts one that is stored."""


class TextError(TaxoCapsError):
    """A text pipeline that cannot be built: unknown language, tokenizer or stop word list."""


class VectorsError(TaxoCapsError):
    """A word vector file that cannot be read."""


class GraphError(TaxoCapsError):
    """A document whose graph-of-words cannot be computed with the chosen options."""

    def __init__(self, message: str, document: int | None = None) -> None:
        """Keep the index of the document in its chunk, for a caller that knows its name."""
        super().__init__(message)
        self.document = document


class StoreError(TaxoCapsError):
    """An encoded store that is damaged, foreign or made from something else."""


class CheckpointError(TaxoCapsError):
    """A checkpoint that training cannot resume from."""


class ModelError(TaxoCapsError):
    """A model folder that is damaged, foreign or of another version."""


class UnfinishedError(TaxoCapsError):
    """Work of which a part could not be done; the rest is kept, and the same command continues from there."""


class MissingExtraError(TaxoCapsError):
    """An optional library that is not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        """Say which `extra` brings the `library` that `purpose` needs."""
        self.library, self.extra = library, extra
        super().__init__(
            f"{purpose} needs the library '{library}', which is not installed; run: pip install 'taxocaps[{extra}]'"
        )
        self._purpose = purpose

    def __reduce__(self) -> tuple[type, tuple[str, ...]]:
        """From another process it comes as it was raised there."""
        return type(self), (self.library, self.extra, self._purpose)


def one_line(text: str) -> str:
    r"""A text for a terminal or a log: control characters are escaped, line ends become spaces, and much of it is cut.

    >>> one_line("the label 'a\x1b[2J'\nis unknown")
    "the label 'a\\x1b[2J' is unknown"
    """
    if len(text) > _LONGEST_MESSAGE:  # its end says what to do
        text = f"{text[: _LONGEST_MESSAGE * 2 // 3]} ... {text[-_LONGEST_MESSAGE // 3 :]}"
    return printable(text.translate(_SPACES))


def printable(text: str) -> str:
    r"""A text for a terminal, which no name or value in it can steer: control characters but tabs and newlines escaped.

    >>> printable("the label 'a\x1b[2J'\nis unknown")
    "the label 'a\\x1b[2J'\nis unknown"
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\t\n" else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that a user probably meant by an unknown one, if any is similar enough.

    Args:
        name: The unknown name.
        known: The known names; very long ones, and those after the first ten thousand, are not compared.
        likeness: How similar the names must be, from 0 to 1.

    >>> nearest("txet", ["id", "text"])
    'text'
    """
    compared = (one for one in islice(known, _MOST_COMPARED) if len(one) <= _LONGEST_COMPARED)
    found = difflib.get_close_matches(name[:_LONGEST_COMPARED], compared, n=1, cutoff=likeness)
    return next(iter(found), None)
