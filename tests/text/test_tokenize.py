import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from taxocaps.text.languages import abbreviations
from taxocaps.text.tokenizers import ends_sentence, is_dotted, raw_tokens, split_raw, word_runs

ENGLISH = abbreviations("en")
TEXTS = st.text(
    st.one_of(
        st.sampled_from("aBzÉß09_.,!?…'’&\"()-:; \n\t。।İ\u00ad\u200d\u0301"),
        st.characters(exclude_categories=["Cs"]),
    )
)


def words(text):
    return [word for word, _ in map(split_raw, raw_tokens(text)) if word]


def sentences(text):
    """The words of each sentence, by a plain loop over raw tokens."""
    result = [[]]
    for raw in raw_tokens(text):
        word, end = split_raw(raw)
        if word:
            result[-1].append(word)
        if ends_sentence(word, end, ENGLISH):
            result.append([])
    return [sentence for sentence in result if sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("1,200.5 and 3.5", ["1,200.5", "and", "3.5"]),
        ("in 1990,1991 or 1,2", ["in", "1990", "1991", "or", "1", "2"]),
        ("1,234,567", ["1,234,567"]),
        ("the U.S. dollar", ["the", "U.S", "dollar"]),
        ("np.array(sort_values)", ["np.array", "sort_values"]),
        ("company's l’homme 'quoted'", ["company's", "l’homme", "quoted"]),
        ("AT&T & R&D", ["AT&T", "R&D"]),
        ("col·legi", ["col·legi"]),
        ("www.example.com/a?b", ["www.example.com", "a", "b"]),
        ("cafe\u0301 co\u00adop", ["cafe\u0301", "co\u00adop"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("I ❤️ 👍🏽 it", ["I", "it"]),
        ("a\u200bb", ["a", "b"]),
        ("--- ... !", []),
        ("", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected
    assert word_runs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two. Three", [["One", "two"], ["Three"]]),
        ("One two. three", [["One", "two", "three"]]),
        ("Really?! Yes… No", [["Really"], ["Yes"], ["No"]]),
        ('He said "go." Then (he left.) Now', [["He", "said", "go"], ["Then", "he", "left"], ["Now"]]),
        ("rose 5 (or 7%). The end", [["rose", "5", "or", "7"], ["The", "end"]]),
        ("It fell. “Why?” She left", [["It", "fell"], ["Why"], ["She", "left"]]),
        ("Mr. Smith and Dr. J. R. Jones", [["Mr", "Smith", "and", "Dr", "J", "R", "Jones"]]),
        ("the U.S. Government, e.g., Congress", [["the", "U.S", "Government", "e.g", "Congress"]]),
        ("Fig. 3 and No. 5", [["Fig", "3", "and", "No", "5"]]),
        ("1. Introduction", [["1", "Introduction"]]),
        ("in 1987. Then", [["in", "1987"], ["Then"]]),
        ("a headline\n\nthe text", [["a", "headline"], ["the", "text"]]),
        ("a line\nof text\r\n \r\nmore", [["a", "line", "of", "text"], ["more"]]),
        ("split tokens . like these ? yes", [["split", "tokens"], ["like", "these"], ["yes"]]),
        ("wait ... for it", [["wait", "for", "it"]]),
        ("他说。我们去！好", [["他说"], ["我们去"], ["好"]]),
        ("शब्द। शब्द", [["शब्द"], ["शब्द"]]),
        ("ends. Здесь. здесь. Ça", [["ends"], ["Здесь", "здесь"], ["Ça"]]),
        ("np.array. It", [["np.array"], ["It"]]),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


@given(TEXTS)
@example("a.'b''c. D")
def test_tokens_stand_in_the_text_in_order_and_lose_no_letter_or_digit(text):
    place = 0
    for raw in raw_tokens(text):
        place = text.index(raw, place) + len(raw)
        word, end = split_raw(raw)
        assert word + end == raw
        assert not any(map(str.isalnum, end))
    kept = "".join(filter(str.isalnum, "".join(raw_tokens(text))))
    assert kept == "".join(filter(str.isalnum, text))


@given(TEXTS.filter(str.isascii))
def test_the_path_for_ascii_gives_what_the_general_one_gives(text):
    # A letter outside ASCII far away must not change the tokens before it.
    text = text.translate(dict.fromkeys(range(0x1C, 0x20)))  # separators that only Unicode counts as white space
    assert raw_tokens(f"{text} ,, x ,, ") == raw_tokens(f"{text} ,, x ,, é")[:-1]


@pytest.mark.parametrize("unit", ["a", "a.", "a'", ".", "!)", "\n ", " ", "a. ", "1,", "1,000", "_", "é", "é.)"])
def test_time_is_linear(unit):
    def seconds(size):
        text = (unit * size)[:size]
        start = time.perf_counter()
        raw_tokens(text)
        return time.perf_counter() - start

    assert seconds(400_000) < 2.0  # linear takes 0.1 s, quadratic many minutes


def test_dotted():
    assert [word for word in ["U.S", "e.g", "Ph.D", "i.d.r", "U", "3.5", "np.array", "a_.b"] if is_dotted(word)] == [
        "U.S",
        "e.g",
        "Ph.D",
        "i.d.r",
    ]


def test_a_mark_alone_ends_a_sentence_and_a_word_alone_does_not():
    assert ends_sentence("", "\n\n", ENGLISH)
    assert not ends_sentence("word", "", ENGLISH)
