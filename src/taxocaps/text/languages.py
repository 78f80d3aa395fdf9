"""What the text pipeline must know of single languages: other names, abbreviations, clitics, letters."""

from collections.abc import Callable

__all__ = [
    "CAPITAL_NOUNS",
    "INVISIBLE",
    "abbreviations",
    "clitics",
    "lemma_code",
    "letter_table",
    "lower_function",
    "stop_list_code",
]

CAPITAL_NOUNS = frozenset({"de", "lb"})
"""Languages that write nouns with a capital, so that case helps to find the lemma."""

_LEMMA_CODES = {"no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs"}
_STOP_LIST_CODES = {"nb": "no"}

_EVERYWHERE = "dr prof st vs vol fig cf al art nr no"
_ABBREVIATIONS = {
    "en": "mr mrs ms messrs sr jr rev hon gen col lt capt sgt sen rep gov e.g i.e a.m p.m n.a nos figs eq eqs sec "
    "ch pp ed eds approx dept inc corp ltd co bros jan feb apr jun jul aug sep sept oct nov dec ave blvd ft mt",
    "de": "hr fr bzw ca abs str vgl hrsg bd z.b d.h u.a u.u z.t i.d.r jan feb apr aug sept okt nov dez",
    "fr": "m mm mme mmes mlle mgr p.ex n env av bd éd chap",
    "es": "sr sra srta dra ud uds núm pág págs p.ej av avda ee.uu",
    "it": "sig sigg dott avv ing pag pagg p.es es ecc",
    "pt": "sr sra dra núm pág p.ex av",
    "nl": "dhr mevr mw drs ir bijv blz m.b.t o.a d.w.z",
    "sv": "t.ex bl.a d.v.s s.k kl ca",
    "da": "f.eks bl.a d.v.s hr kl ca",
    "no": "f.eks bl.a dvs kl ca",
    "fi": "esim mm ym nro s.o ts",
    "hu": "pl kb ld stb sz ún ill",
    "ru": "т.е т.д т.п т.к г гг ул им стр рис руб тыс млн млрд см",
}

_CLITICS = {
    "en": "s d ll m re ve",
    "de": "s",
    "nl": "s",
    "fr": "c d j l m n s t qu jusqu lorsqu puisqu quoiqu",
    "it": "l un d c m t s v n gl all dall dell nell sull coll agl dagl degl negl sugl",
    "ca": "l d m n s t",
}

INVISIBLE = "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff"
"""Characters without width that may stand inside a word: soft hyphen, joiners, direction marks."""

_ZERO_WIDTH_NON_JOINER = 0x200C
_DOTLESS = frozenset({"tr", "az"})
_TURKISH_CAPITALS = str.maketrans("Iİ", "ıi")


def lemma_code(language: str) -> str:
    """The code under which simplemma knows a language.

    >>> lemma_code("no")
    'nb'
    """
    return _LEMMA_CODES.get(language, language)


def stop_list_code(language: str) -> str:
    """The code under which our stop word lists know a language.

    >>> stop_list_code("nb")
    'no'
    """
    return _STOP_LIST_CODES.get(language, language)


def abbreviations(language: str) -> frozenset[str]:
    """Words in lower case, without their last full stop, after which a full stop does not end the sentence.

    >>> "e.g" in abbreviations("en")
    True
    """
    own = _ABBREVIATIONS.get(stop_list_code(language), "")
    return frozenset(f"{_EVERYWHERE} {own}".split())


def clitics(language: str) -> frozenset[str]:
    """What stands beside an apostrophe without being a word of its own.

    >>> sorted(clitics("en"))
    ['d', 'll', 'm', 're', 's', 've']
    """
    return frozenset(_CLITICS.get(language, "").split())


def letter_table(language: str) -> dict[int, str | None]:
    r"""A table for `str.translate`: apostrophes made one, invisible characters dropped, spelling variants joined.

    The zero-width non-joiner is spelling in Persian and typesetting elsewhere. Russian texts, and the Russian stop word
    list, mostly write е for ё. The Turkish capital İ has a lower case of its own only in Turkish.

    >>> "co\u00adoperate’s".translate(letter_table("en"))
    "cooperate's"
    """
    table: dict[int, str | None] = {**dict.fromkeys(map(ord, "’ʼ"), "'"), **dict.fromkeys(map(ord, INVISIBLE))}
    if language == "fa":
        del table[_ZERO_WIDTH_NON_JOINER]
    if language == "ru":
        table |= {ord("ё"): "е", ord("Ё"): "Е"}
    if language not in _DOTLESS:
        table[ord("İ")] = "I"
    return table


def lower_function(language: str) -> Callable[[str], str]:
    """The function that puts a word into lower case as the language does: Turkish has an i without a dot, capital I.

    >>> lower_function("tr")("IŞIK"), lower_function("en")("LIGHT")
    ('ışık', 'light')
    """
    return _turkish_lower if language in _DOTLESS else str.lower


def _turkish_lower(word: str) -> str:
    return word.translate(_TURKISH_CAPITALS).lower()
