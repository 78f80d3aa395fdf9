from pathlib import Path

import pytest
import simplemma

import taxocaps.text.normalize as module
from taxocaps.errors import TextError
from taxocaps.text.normalize import lemma_languages, lemmatizer, load_overrides

ROWS = [
    line.split("\t")
    for line in (Path(module.__file__).parent / "lemma_overrides.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def english():
    return lemmatizer("en")


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("companies", "company"),
        ("told", "tell"),
        ("gone", "go"),
        ("fixed", "fix"),
        ("modelling", "model"),
        ("preferred", "prefer"),
        ("wives", "wife"),
        ("axes", "axis"),
        ("ml", "ml"),
        ("ai", "ai"),
        ("us", "us"),
        ("gan", "gan"),
        ("torus", "torus"),
        ("matrices", "matrix"),
        ("don't", "do"),
        ("xqzzy", "xqzzy"),
    ],
)
def test_english(english, word, lemma):
    assert english(word) == lemma


@pytest.mark.parametrize("word", ["sort_values", "x_i", "h_2", "np.arrays", "u.s.", "1,200.5", "3.5", "r&ds", "mp3s"])
def test_identifiers_and_numbers_are_their_own_lemma(english, word):
    assert english(word) == word


@pytest.mark.parametrize("word", ["popup", "wifi", "etc"])
def test_a_lemma_of_several_tokens_is_not_taken(english, word):
    assert simplemma.lemmatize(word, lang="en") != word
    assert english(word) == word


def test_case_alone_is_not_changed(english):
    assert english("canada") == "canada"
    assert english("Zuckerberg") == "Zuckerberg"


@pytest.mark.parametrize("word", ["Häuser", "häuser", "HÄUSER"])
def test_german_nouns(word):
    assert lemmatizer("de")(word) == "Haus"


def test_german_case_tells_words_apart():
    assert lemmatizer("de")("weiß") == "wissen"
    assert lemmatizer("de")("Weiß") == "Weiß"


def test_norwegian():
    assert lemmatizer("no")("husene") == "hus"


def test_override_table_is_in_order_and_has_no_row_in_vain():
    assert sorted(ROWS) == ROWS
    assert len({(code, word) for code, word, _ in ROWS}) == len(ROWS) > 200
    # Words of one or two letters are not given to simplemma at all, so that its answer tells nothing.
    needless = [
        word for code, word, lemma in ROWS if len(word) > 2 and simplemma.lemmatize(word, lang=code).lower() == lemma
    ]
    assert needless == []


def test_overrides_lead_to_words_that_stay(english):
    assert [lemma for _, _, lemma in ROWS if english(lemma) != lemma] == []


def test_overrides_are_those_of_the_language():
    assert load_overrides("en")["gone"] == "go"
    assert load_overrides("de") == {}


@pytest.mark.parametrize(
    ("language", "hint"),
    [("en-US", "did you mean en"), ("EN", "did you mean en"), ("German", "did you mean de"), ("xx", "allowed: ar, ")],
)
def test_unknown_language(language, hint):
    with pytest.raises(TextError, match=f"no lemmas for language '{language}'; .*{hint}.* text.lemmas to none"):
        lemmatizer(language)


def test_languages():
    assert {"en", "de", "nb", "ru"} <= set(lemma_languages())
    assert len(lemma_languages()) > 40
