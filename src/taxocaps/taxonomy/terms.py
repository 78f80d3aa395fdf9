"""The names of labels: preferred, alternative and hidden names and notations, each in a language or in none."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal, NamedTuple, get_args

__all__ = ["Term", "TermKind", "best_name", "collect_terms", "sorted_terms"]

TermKind = Literal["preferred", "alternative", "hidden", "notation"]

_KINDS: tuple[TermKind, ...] = get_args(TermKind)
_LANGUAGE = re.compile(r"[a-z]{1,8}(-[a-z0-9]{1,8})*")


class Term(NamedTuple):
    """A name of a label, with the distinctions of SKOS.

    Attributes:
        text: The name, on one line.
        kind: `preferred` (the name that is shown, at most one for each language), `alternative` (a synonym), `hidden`
            (used to recognise the label, such as a common misspelling, but never shown) or `notation` (a code).
        language: The language tag in lower case, such as "en" or "pt-br"; None if the name belongs to no language.
    """

    text: str
    kind: TermKind = "preferred"
    language: str | None = None


def collect_terms(label: str, terms: Iterable[Term], known: dict[Term, None]) -> Iterator[str]:
    """Add the terms of a label to `known`, as single lines of valid Unicode, and describe those that are invalid.

    Blank and repeated terms are left out, and so is a preferred name or notation without a language that only repeats
    the label.

    Args:
        label: The label.
        terms: Its terms.
        known: Its terms so far, as keys; changed in place.

    Yields:
        A message for each invalid term, which is not added.

    >>> known = {Term("dogs", language="en"): None}
    >>> list(collect_terms("D", [Term("canines", language="EN"), Term("hounds", "alternative", "en")], known))
    ["the label 'D' has two preferred names in 'en', 'dogs' and 'canines'; keep one"]
    >>> list(known)[1:]
    [Term(text='hounds', kind='alternative', language='en')]
    """
    for text, kind, language in terms:
        term = Term(_one_line(text), kind, language.lower() if language else None)
        if not term.text or term in known or _repeats_label(term, label):
            continue
        if problem := _problem(label, term, known):
            yield problem
        else:
            known[term] = None


def sorted_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms by kind and language, those without a language first; otherwise in the given order."""
    return tuple(sorted(terms, key=lambda term: (_KINDS.index(term.kind), term.language or "")))


def best_name(terms: Iterable[Term], language: str | None) -> str | None:
    """The preferred name in a language, else in a variant of it, without a language, in English, or in any language.

    >>> best_name([Term("Hunde", language="de"), Term("dogs", language="en")], "de-at")
    'Hunde'
    """
    preferred = [term for term in terms if term.kind == "preferred"]
    wanted = language.lower() if language else None

    def rank(term: Term) -> int:
        matches = (
            term.language == wanted,
            term.language and wanted and _primary(term.language) == _primary(wanted),
            term.language is None,
            term.language and _primary(term.language) == "en",
            True,
        )
        return next(position for position, is_match in enumerate(matches) if is_match)

    best = min(preferred, key=rank, default=None)
    return best.text if best else None


def _one_line(text: str) -> str:
    joined = " ".join(text.split())
    return joined if joined.isascii() else joined.encode("utf-8", "replace").decode("utf-8")


def _repeats_label(term: Term, label: str) -> bool:
    return term.language is None and term.kind in ("preferred", "notation") and term.text == _one_line(label)


def _problem(label: str, term: Term, known: Iterable[Term]) -> str | None:
    if term.kind not in _KINDS:
        return f"the name {term.text!r} of the label {label!r} must be one of {', '.join(_KINDS)}; got {term.kind!r}"
    if term.language and not _is_language(term.language):
        return (
            f"the name {term.text!r} of the label {label!r} has the language {term.language!r}; "
            "give a tag such as en or pt-br"
        )
    for other in known if term.kind == "preferred" else ():
        if (other.kind, other.language) == ("preferred", term.language):
            where = f" in {term.language!r}" if term.language else ""
            return f"the label {label!r} has two preferred names{where}, {other.text!r} and {term.text!r}; keep one"
    return None


@cache
def _is_language(tag: str) -> bool:
    return _LANGUAGE.fullmatch(tag) is not None


def _primary(language: str) -> str:
    return language.partition("-")[0]
