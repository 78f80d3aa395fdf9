import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.text.normalize import _ASCII_MARKS, LONGEST_WORD, Normalizer, lemmatizer, load_stop_words
from taxocaps.text.tokenizers import raw_tokens, split_raw


@pytest.fixture(scope="module")
def english():
    return Normalizer("en", lemmatizer("en"), load_stop_words("en"))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("Companies", ["company"]),
        ("The", []),
        ("company's", ["company"]),
        ("Company’s", ["company"]),
        ("don't", []),
        ("needn't", ["need"]),
        ("it'll", []),
        ("O'Brien", ["o'brien"]),
        ("others", []),
        ("U.S", ["u.s."]),
        ("e.g", ["e.g."]),
        ("Ph.D", ["ph.d."]),
        ("x.t", ["x.t"]),
        ("np.array", ["np.array"]),
        ("sort_values", ["sort_values"]),
        ("_emphasis_", ["emphasis"]),
        ("___", []),
        ("1,200.5", ["1,200.5"]),
        ("AT&T", ["at&t"]),
        ("cafe\u0301", ["café"]),
        ("ﬁle", ["file"]),
        ("½", ["1", "2"]),
        ("ｗｏｒｄ", ["word"]),
        ("co\u00adop\u200derate", ["cooperate"]),
        ("İzmir", ["izmir"]),
    ],
)
def test_words(english, raw, words):
    assert english(raw) == tuple(words)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("rose.", ("rose", "")),
        ("rise!”", ("rise", "")),
        ("the.", ("",)),
        ("Mr.", ("mr",)),
        ("U.S.", ("u.s.",)),
        ("J.", ("j",)),
        ("3.", ("3",)),
        ("3).", ("3", "")),
        ("\n \n", ("",)),
        (".", ("",)),
        ("。", ("",)),
    ],
)
def test_sentence_ends(english, raw, words):
    assert english(raw) == words


def test_longest_word(english):
    assert english("q" * LONGEST_WORD) == ("q" * LONGEST_WORD,)
    assert english("q" * (LONGEST_WORD + 1)) == ()


@pytest.mark.parametrize(
    ("language", "raw", "words"),
    [
        ("fr", "L'homme", ("homme",)),
        ("fr", "qu’il", ()),
        ("fr", "aujourd'hui", ("aujourd'hui",)),
        ("it", "dell'anno", ("anno",)),
        ("de", "Häuser", ("haus",)),
        ("de", "z.B", ("z.b.",)),
        ("ru", "Её", ()),
        ("ru", "самолёты", ("самолет",)),
        ("no", "husene", ("hus",)),
    ],
)
def test_other_languages(language, raw, words):
    assert Normalizer(language, lemmatizer(language), load_stop_words(language))(raw) == words


def test_without_stop_words_clitics_still_go():
    normalize = Normalizer("en", None, frozenset())
    assert normalize("Company's") == ("company",)
    assert normalize("don't") == ("don't",)
    assert normalize("The") == ("the",)


def test_case_kept():
    normalize = Normalizer("en", lemmatizer("en"), load_stop_words("en"), lowercase=False)
    assert [normalize(raw) for raw in ["NASA", "Musk", "THE", "Companies"]] == [("NASA",), ("Musk",), (), ("company",)]


def test_numbers_dropped():
    normalize = Normalizer("en", None, frozenset(), keep_numbers=False)
    assert [normalize(raw) for raw in ["1,200.5", "1990.", "mp3", "½", "5th"]] == [(), ("",), ("mp3",), (), ("5th",)]


@given(st.text(max_size=60))
def test_any_text_gives_words_that_are_whole_lower_case_and_no_stop_words(text):
    stop_words = load_stop_words("en")
    normalize = Normalizer("en", None, stop_words)
    for raw in raw_tokens(text):
        words = normalize(raw)
        assert "" not in words[:-1]
        for word in words:
            assert word == word.lower()
            assert word not in stop_words
            assert word == "".join(word.split())


@given(st.text(max_size=40))
def test_kept_words_stay_as_they_are(text):
    """What comes out of the rules goes through them unchanged, but for dots and apostrophes at the edges."""
    normalize = Normalizer("en", None, frozenset())
    for raw in raw_tokens(text):
        for word in filter(str.isalnum, normalize(raw)):
            assert normalize(word) == (word,)


@given(st.text(alphabet="aB1_ .,'!?)(\"-:;&\n", max_size=40))
def test_the_word_of_an_ascii_token_is_found_without_patterns(text):
    for raw in raw_tokens(text):
        assert raw.rstrip(_ASCII_MARKS) == split_raw(raw)[0]
