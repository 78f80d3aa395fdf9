"""Stop words: the published lists inside the package, or a user's file in the same format."""

from pathlib import Path

from taxocaps.errors import TextError
from taxocaps.files import read_lines
from taxocaps.text.languages import stop_list_code
from taxocaps.text.tokenize import is_dotted

__all__ = ["load_stop_words", "read_stop_words", "stop_word_languages"]

_FOLDER = Path(__file__).parent / "stopwords"


def stop_word_languages() -> list[str]:
    """The languages that have a list.

    >>> "en" in stop_word_languages()
    True
    """
    return sorted(path.stem for path in _FOLDER.glob("*.txt"))


def load_stop_words(language: str) -> frozenset[str]:
    """The published stop words of a language, in lower case.

    Raises:
        TextError: When there is no list for the language.

    >>> "the" in load_stop_words("en")
    True
    """
    available = stop_word_languages()
    code = stop_list_code(language)
    if code not in available:
        raise TextError(
            f"text.stop_words: no list for language {language!r}; there are lists for {', '.join(available)}; "
            "set text.stop_words to none or to a file with one word a line"
        )
    return read_stop_words(_FOLDER / f"{code}.txt")


def read_stop_words(path: Path) -> frozenset[str]:
    """The words of a file, in lower case; white space separates them, and `|` begins a comment.

    They get the form that tokens have: abbreviations keep their last full stop only if there is another inside.
    """
    lines = (line.partition("|")[0] for _, line in read_lines(path))
    words = (word for line in lines for word in line.lower().replace("’", "'").split())
    return frozenset(word if is_dotted(word[:-1]) else word.rstrip(".") for word in words)
