"""Compiled raw tokens: the same as by the patterns, whatever the text."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.datasets import toy
from taxocaps.text import pipeline, tokens
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.scanner import scan
from taxocaps.text.tokenizers import raw_tokens, raw_tokens_with_marks

PATTERNS = {False: raw_tokens, True: raw_tokens_with_marks}

# Letters, digits, marks, spaces and sentence ends of several scripts, ASCII separators that are no space, surrogates.
ODD = "aZ1_ .!?\u2026'\u2019,;:()&\u00b7\n\t\r\u2029\u3002"
ODD += "\u00e9\u0301\u00df\x1c\xa0\u00ad\u0416\u0663\u0967\U0001d7d9\ud800"
texts = st.text(st.one_of(st.sampled_from(ODD), st.characters()), max_size=40)


def scanned(contents, with_marks):
    pieces, numbers, bounds = scan(contents, with_marks=with_marks)
    assert len(set(pieces)) == len(pieces)
    lists = [[pieces[number] for number in numbers[begin:end]] for begin, end in itertools.pairwise(bounds)]
    assert pieces == list(dict.fromkeys(piece for found in lists for piece in found))
    return lists


@pytest.mark.parametrize("with_marks", [False, True])
@given(contents=st.lists(texts, max_size=4))
def test_any_text_has_the_raw_tokens_of_the_patterns(with_marks, contents):
    assert scanned(contents, with_marks) == list(map(PATTERNS[with_marks], contents))


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Musk (5.2 pct). He's in the U.S. now!\n\nEnd",
        "1,000,000.5 and 1,0000 and ,123 and a,123 and 1,23",
        'He said: "No." She left; e.g. then... He (she?!) went .',
        "a.b.c&d's AT&T \n \n\t\n x ! y . z ? ?? !",
        "\u4eca\u65e5\u306f\u3002\u660e\u65e5\uff01 \u00bfQu\u00e9? S\u00ed\u2026 Nu\u0308n",
        "",
        "\n",
        ".",
    ],
)
@pytest.mark.parametrize("with_marks", [False, True])
def test_texts_that_use_every_rule(text, with_marks):
    assert scanned([text, text, "x"], with_marks) == [*[PATTERNS[with_marks](text)] * 2, PATTERNS[with_marks]("x")]


@pytest.mark.parametrize("tokenizer", ["words", "raw"])
def test_many_letters_are_read_as_few_are(monkeypatch, tokenizer):
    contents = [document.text for _, document in toy.load().documents()] + ["\u00dcber Gro\u00dfes. Ein Satz!", ""]
    few = TextPipeline(TextConfig(tokenizer=tokenizer)).tokenize(contents)
    for module in (pipeline, tokens):
        monkeypatch.setattr(module, "pays", lambda *_: True)
    many = TextPipeline(TextConfig(tokenizer=tokenizer)).tokenize(contents)
    assert few.words == many.words
    for name in ("ids", "offsets", "sentence_ends"):
        assert getattr(few, name).tolist() == getattr(many, name).tolist()


@pytest.mark.parametrize("part", ["a", "?", "\n ", ". ", "a. ", "1,", "(", "a'", "!a", "\u0301"])
def test_time_grows_with_the_length_of_the_text_only(part):
    scan([part], with_marks=True)
    begin = time.process_time()
    scan([part * (1_000_000 // len(part))], with_marks=True)
    assert time.process_time() - begin < 2
