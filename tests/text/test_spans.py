"""Every kept word is found where it stands in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.tokens import joined_spans, locate

PIPELINE = TextPipeline(TextConfig(stop_words="none", lemmas="none", lowercase=False))


def spans_of(text):
    tokens = PIPELINE.tokenize([text], spans=True)
    return tokens.document(0), [tuple(span) for span in tokens.spans.tolist()]


def shown(text, config=None):
    pipeline = TextPipeline(config or TextConfig())
    tokens = pipeline.tokenize([text], spans=True)
    return [(word, text[start:end]) for word, (start, end) in zip(tokens.document(0), tokens.spans, strict=True)]


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


def test_words_that_a_tokenizer_put_into_lower_case_stand_at_the_nearest_occurrence():
    text = "The car, the CAR"
    words = [((word,), (word,)) for word in ("the", "car", "the", "car")]
    assert locate(text, words) == [(0, 3), (4, 7), (9, 12), (13, 16)]


def test_a_word_that_is_part_of_an_earlier_one_is_found_at_its_own_place():
    assert spans_of("cart car. A car")[1][1:] == [(5, 8), (10, 11), (12, 15)]


@given(st.text(alphabet=st.sampled_from("ab é.,!'½\n\u200b1_-Ａ ") | st.characters()))
def test_spans_stand_in_order_and_there_is_one_for_each_word(text):
    words, spans = spans_of(text)
    assert len(spans) == len(words)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@given(st.text(alphabet="abc .!?\n"))
def test_plain_words_are_what_stands_at_their_spans(text):
    words, spans = spans_of(text)
    assert [word.rstrip(".") for word in words] == [text[start:end] for start, end in spans]


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


def test_spans_of_many_documents_stand_one_after_the_other():
    texts = ["The cat sat.", ["Ready", "", "words"], ""]
    tokens = TextPipeline().tokenize(texts, spans=True)
    assert tokens.spans.tolist() == [[4, 7], [8, 11], [0, 5], [7, 12]]
    assert list(tokens.documents()) == [["cat", "sit"], ["Ready", "words"], []]


def test_words_without_a_known_position():
    tokens = TextPipeline(TextConfig(tokenizer="characters")).tokenize(["ab"], spans=True)
    assert tokens.spans.tolist() == [[-1, -1], [-1, -1]]
