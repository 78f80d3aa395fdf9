import sys

import pytest

from taxocaps.errors import MissingExtraError, TextError
from taxocaps.text.tokenizers import spacy_tokenizer

spacy = pytest.importorskip("spacy")
TEXT = "Musk told the electric car company. It paid 20 dollars!"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Saved pipelines: only a tokenizer, and one with sentences and some lemmas."""
    root = tmp_path_factory.mktemp("spacy")
    nlp = spacy.blank("en")
    nlp.to_disk(root / "blank")
    nlp.add_pipe("sentencizer")
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.add([[{"LOWER": "told"}]], {"LEMMA": "tell"})
    ruler.add([[{"LOWER": "musk"}]], {"LEMMA": "Musk"})
    nlp.to_disk(root / "full")
    return root


def load(path, stop_words=None, lemmas=True, lowercase=True, keep_numbers=True):
    return spacy_tokenizer(str(path), stop_words, lemmas=lemmas, lowercase=lowercase, keep_numbers=keep_numbers)


def test_without_lemmas_and_sentences(folder):
    words = list(load(folder / "blank")(TEXT))
    assert words == ["musk", "told", "electric", "car", "company", "paid", "20", "dollars"]


def test_lemmas_and_sentences(folder):
    words = list(load(folder / "full")(TEXT))
    assert words == ["", "musk", "tell", "electric", "car", "company", "", "paid", "20", "dollars"]


def test_options(folder):
    tokenize = load(folder / "full", frozenset({"car"}), lemmas=False, lowercase=False, keep_numbers=False)
    assert [word for word in tokenize(TEXT) if word] == [
        "Musk", "told", "the", "electric", "company", "It", "paid", "dollars",
    ]  # fmt: skip


def test_white_space_and_nothing(folder):
    assert list(load(folder / "full")("")) == []
    assert [word for word in load(folder / "full")(" \n\n\t ") if word] == []


def test_unknown_pipeline(tmp_path):
    for name in ["no_such_pipeline", str(tmp_path)]:
        with pytest.raises(TextError, match="cannot be loaded; give the name of an installed package"):
            load(name)


def test_text_that_is_too_long(folder):
    with pytest.raises(TextError, match=r"a document of 1,000,001 characters is too long .* \(at most 1,000,000\)"):
        list(load(folder / "blank")("a" * 1_000_001))


def test_spacy_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"'spacy:en' needs the library 'spacy'.*taxocaps\[spacy\]"):
        load("en")
