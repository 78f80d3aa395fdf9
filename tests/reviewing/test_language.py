"""The language of a document is doubted only where its function words are clear."""

import pytest

from taxocaps.reviewing.language import LanguageGuesser

TEXTS = {
    "de": "Die Regierung hat am Montag gesagt, dass sie den Haushalt nicht mehr ändern will.",
    "fr": "Le gouvernement a dit que les prix ne sont pas dans la loi et qu'il ne veut plus en parler avec eux.",
    "es": "El gobierno ha dicho que los precios no están en la ley y que no quiere hablar más de ello con ellos.",
    "en": "The government said on Monday that it would not change the budget, because it is too late for that.",
}


@pytest.mark.parametrize("expected", TEXTS)
@pytest.mark.parametrize("language", TEXTS)
def test_running_text_of_another_language_is_recognised(expected, language):
    assert LanguageGuesser(expected)(TEXTS[language]) == (None if language == expected else language)


@pytest.mark.parametrize(
    "text", ["", "1234 5678", "Qtr net 12.5 mln vs 10.1 mln", "de la Rosa", "IBM NV AG SA", "dog bark dog leash dog"]
)
def test_names_and_numbers_are_of_no_language(text):
    assert LanguageGuesser("en")(text) is None


def test_a_language_without_a_list_is_not_guessed():
    guess = LanguageGuesser("ja")
    assert not guess.is_able
    assert guess(TEXTS["de"]) is None
