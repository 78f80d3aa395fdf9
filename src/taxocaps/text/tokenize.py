r"""Raw tokens of a text by one regular expression, each with the end of its sentence glued on.

A token is a run of letters, digits, underscores and combining marks. Apostrophes, full stops, `&` and the Catalan
middle dot join runs (`don't`, `3.5`, `U.S`, `np.array`, `AT&T`), and so does a comma before a group of three digits
(`1,200.5`); hyphens and everything else, emoji too, separate. Scripts that put no spaces between words (Chinese,
Japanese, Thai) come out as whole phrases: such text needs a tokenizer of its own.

A sentence ends at `.`, `!`, `?` or `…` when white space and then anything but a lower-case letter follow, at such a
mark standing alone between spaces, at the full stops of other scripts, and at a blank line. `ends_sentence` takes back
the ends that are only those of abbreviations.
"""

import re
import unicodedata

from taxocaps.text.languages import INVISIBLE

__all__ = ["ends_sentence", "is_dotted", "raw_tokens", "split_raw", "word_runs"]

_MARKS = "".join(c for c in map(chr, range(0x300, 0xFE00)) if unicodedata.category(c).startswith("M"))
_LOWER = "".join(c for c in map(chr, range(0x2000)) if c.islower())

# Quantifiers are possessive (`++`, `*+`): nothing is ever tried twice, so no text can make matching slow.
_RUN = rf"\w[\w{_MARKS}{INVISIBLE}]*+"
_WORD = rf"{_RUN}(?:['’.&·]{_RUN}|,(?<=\d,)\d{{3}}(?!\w))*+"
_END = rf"[^\w\s.!?…]*+[.!?…]++[^\w\s,;:]*+(?=\s++[^\w\s]*+[^\W{_LOWER}])"
_RAW = rf"{_WORD}(?:{_END})?+|\n\s*\n|[.!?](?<=\s.)(?=\s)|[。！？｡।॥؟۔።។\u2029]"

_WORD_PATTERN = re.compile(_WORD)
_RAW_PATTERN = re.compile(_RAW)
_RAW_ASCII_PATTERN = re.compile(_RAW, re.ASCII)
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")


def raw_tokens(text: str) -> list[str]:
    r"""The tokens of a text with glued-on sentence ends; a lone mark or blank line that ends a sentence is one too.

    >>> raw_tokens("Mr. Musk (5.2 pct). He's in the U.S. now!\n\nEnd")
    ['Mr.', 'Musk', '5.2', 'pct).', "He's", 'in', 'the', 'U.S', 'now!', '\n\n', 'End']
    """
    pattern = _RAW_ASCII_PATTERN if text.isascii() else _RAW_PATTERN
    return pattern.findall(text)


def split_raw(raw: str) -> tuple[str, str]:
    """A raw token as its word and the sentence end behind it; either may be empty.

    >>> split_raw("pct).")
    ('pct', ').')
    """
    match = _WORD_PATTERN.match(raw)
    word = match.group() if match else ""
    return word, raw[len(word) :]


def word_runs(text: str) -> list[str]:
    r"""The words of a text by the rules for raw tokens, without sentence ends.

    >>> word_runs("1\u20442 cup")
    ['1', '2', 'cup']
    """
    return _WORD_PATTERN.findall(text)


def is_dotted(word: str) -> bool:
    """Whether a word is an abbreviation with dots inside, its last one left out.

    >>> is_dotted("U.S"), is_dotted("Ph.D"), is_dotted("np.array"), is_dotted("3.5")
    (True, True, False, False)
    """
    return _DOTTED.fullmatch(word) is not None


def ends_sentence(word: str, end: str, abbreviations: frozenset[str]) -> bool:
    """Whether a raw token ends a sentence.

    A single full stop does not after an abbreviation, an initial, or a number of one or two digits, which is a list
    item or an ordinal more often than the last word. In doubt two sentences stay one.

    Args:
        word: First part of the raw token, by `split_raw`.
        end: Second part.
        abbreviations: Those of the language, in lower case.

    >>> ends_sentence("Mr", ".", frozenset({"mr"})), ends_sentence("pct", ").", frozenset({"mr"}))
    (False, True)
    """
    if not end or not word:
        return bool(end)
    if end != ".":
        return True
    initial = len(word) == 1 and word.isupper()
    short_number = len(word) <= 2 and word.isdigit()
    return not (initial or short_number or is_dotted(word) or word.lower() in abbreviations)
