import unicodedata
from pathlib import Path

import pytest

import taxocaps.text.normalize as module
from taxocaps.errors import FileError, TextError
from taxocaps.text.normalize import load_stop_words, read_stop_words, stop_word_languages

FOLDER = Path(module.__file__).parent / "stopwords"


def test_thirteen_languages():
    assert stop_word_languages() == ["da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv"]


@pytest.mark.parametrize("language", stop_word_languages())
def test_lists_hold_words_and_no_comments(language):
    words = load_stop_words(language)
    assert len(words) > 90
    for word in words:
        assert word.replace("'", "").isalpha(), word
        assert word == word.lower() == unicodedata.normalize("NFKC", word)


def test_known_words():
    assert {"the", "don't", "cannot", "herself"} <= load_stop_words("en")
    assert {"und", "nicht"} <= load_stop_words("de")
    assert {"l", "qu"} <= load_stop_words("fr")
    assert not {"company", "us", "|", "subject", "one"} & load_stop_words("en")


def test_auxiliaries_are_added_in_a_marked_block():
    text = (FOLDER / "en.txt").read_text(encoding="utf-8")
    _, mark, added = text.partition("| added by taxocaps:")
    assert mark
    assert added.split("\n")[1:-1] == ["can", "may", "might", "must", "shall", "will"]
    assert {"can", "may", "might", "must", "shall", "will"} <= load_stop_words("en")


def test_the_licence_lies_beside_the_lists():
    text = (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "Martin Porter" in text
    assert "Richard Boulton" in text


def test_both_codes_of_norwegian():
    assert load_stop_words("nb") == load_stop_words("no")


def test_a_language_without_a_list():
    with pytest.raises(TextError, match=r"no list for language 'pl'; there are lists for da, de, .*none or to a file"):
        load_stop_words("pl")


def test_own_file(tmp_path):
    file = tmp_path / "stop.txt"
    file.write_text("\ufeffFoo\n| a comment\n  bar  | two\n\nit’s\nill.\nU.S.\n", encoding="utf-8")
    assert read_stop_words(file) == {"foo", "bar", "it's", "ill", "u.s."}


def test_missing_file(tmp_path):
    with pytest.raises(FileError, match=r"none.txt: no such file"):
        read_stop_words(tmp_path / "none.txt")
