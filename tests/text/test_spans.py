"""Every kept word is found where it stands in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.tokens import joined_spans, locate

PIPELINE = TextPipeline(TextConfig(stop_words="none", lemmas="none", lowercase=False))


def shown(text, config=None):
    pipeline = TextPipeline(config or TextConfig())
    spans = pipeline.spans(text)
    return list(zip(pipeline(text).words, [span and text[slice(*span)] for span in spans], strict=True))


def test_lemmas_and_stop_words():
    assert shown("Musk told the (electric) cars.  It had gone!\n\nThe cars' end") == [
        ("musk", "Musk"),
        ("tell", "told"),
        ("electric", "electric"),
        ("car", "cars"),
        ("go", "gone"),
        ("car", "cars"),
        ("end", "end"),
    ]


def test_a_word_that_is_part_of_an_earlier_one_is_found_at_its_own_place():
    assert PIPELINE.spans("cart car. A car")[1:] == [(5, 8), (10, 11), (12, 15)]


@given(st.text(alphabet=st.sampled_from("ab é.,!'½\n\u200b1_-Ａ ") | st.characters()))
def test_spans_stand_in_order_and_there_is_one_for_each_word(text):
    spans = PIPELINE.spans(text)
    assert len(spans) == len(PIPELINE(text).words)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@given(st.text(alphabet="abc .!?\n"))
def test_plain_words_are_what_stands_at_their_spans(text):
    found = [text[start:end] for start, end in PIPELINE.spans(text)]
    assert [word.rstrip(".") for word in PIPELINE(text).words] == found


def test_ready_words_between_white_space():
    assert shown("a  b\ta", TextConfig(tokenizer="none")) == [("a", "a"), ("b", "b"), ("a", "a")]


FOREIGN = [("Cars go.", ["car", "go"], [(0, 3), (5, 7)]), ("x", ["y"], [None])]


@pytest.mark.parametrize(("text", "words", "spans"), FOREIGN)
def test_foreign_words_are_looked_for(text, words, spans):
    assert locate(text, [((word,), (word,)) for word in words]) == spans


def test_joined_words():
    words = ["to", "be", "", "or"]
    text = " ".join(words)
    assert [text[slice(*span)] for span in joined_spans(words)] == words
