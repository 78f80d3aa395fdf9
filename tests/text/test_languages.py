import unicodedata

import pytest

from taxocaps.text.languages import (
    INVISIBLE,
    abbreviations,
    clitics,
    lemma_code,
    letter_table,
    lower_function,
    stop_list_code,
)
from taxocaps.text.normalize import lemma_languages, stop_word_languages
from taxocaps.text.tokenizers import word_runs


def test_every_language_with_stop_words_has_lemmas():
    assert [code for code in stop_word_languages() if lemma_code(code) not in lemma_languages()] == []


@pytest.mark.parametrize("language", ["no", "nb"])
def test_norwegian_goes_by_two_codes(language):
    assert lemma_code(language) == "nb"
    assert stop_list_code(language) == "no"
    assert "f.eks" in abbreviations(language)


@pytest.mark.parametrize("language", [*stop_word_languages(), "xx"])
def test_abbreviations_are_in_the_form_in_which_tokens_are_looked_up(language):
    for word in abbreviations(language):
        assert word == word.lower() == unicodedata.normalize("NFKC", word)
        assert word_runs(word) == [word], "one token, without a last full stop"


def test_clitics_of_an_unknown_language_are_none():
    assert clitics("xx") == frozenset()


def test_letter_table_drops_what_cannot_be_seen():
    assert f"a{INVISIBLE}b".translate(letter_table("en")) == "ab"
    assert all(unicodedata.category(character) == "Cf" for character in INVISIBLE)


def test_persian_keeps_the_joiner_that_it_spells_with():
    assert "می\u200cخواهم".translate(letter_table("fa")) == "می\u200cخواهم"


def test_russian_joins_two_spellings():
    assert "Ещё ёлка".translate(letter_table("ru")) == "Еще елка"
    assert "Ещё".translate(letter_table("bg")) == "Ещё"


def test_turkish_lower_case():
    assert lower_function("tr")("İZMİR ISI") == "izmir ısı"
    assert lower_function("de")("ÄRGER") == "ärger"


def test_dotted_capital_leaves_no_combining_dot_outside_turkish():
    assert lower_function("en")("İzmir".translate(letter_table("en"))) == "izmir"
