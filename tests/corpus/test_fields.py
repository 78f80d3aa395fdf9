import pytest
from hypothesis import given
from hypothesis import strategies as st
from taxocaps.settings import as_mapping, resolve

from taxocaps.corpus.document import Document
from taxocaps.corpus.fields import CorpusConfig, Record, check_columns, encoding_problem, split_labels, to_document
from taxocaps.errors import ConfigError, CorpusError


def make(fields, **options):
    return to_document(Record("f.jsonl, line 3", fields), CorpusConfig(**options))


def test_all_fields_are_taken():
    fields = {"text": "Hello", "id": "d1", "labels": ["a", "b"], "split": "dev", "tokens": ["hello"], "other": 1}
    assert make(fields) == Document("Hello", "d1", ("a", "b"), ("hello",), "dev")


def test_fields_may_have_other_names():
    fields = {"body": "Hello", "key": 7, "topics": ["a"], "part": "dev", "words": "hel lo"}
    options = {"text_field": "body", "id_field": "key", "labels_field": "topics", "split_field": "part"}
    assert make(fields, tokens_field="words", **options) == Document("Hello", "7", ("a",), ("hel", "lo"), "dev")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"title": "T", "body": "B"}, "T\nB"),
        ({"title": None, "body": "B"}, "B"),
        ({"title": "T", "body": ""}, "T"),
        ({"title": None, "body": None}, ""),
    ],
)
def test_several_text_fields_are_joined(fields, text):
    assert make(fields, text_field="title, body").text == text


def test_an_absent_part_of_the_text_is_an_error():
    with pytest.raises(CorpusError, match=r"f\.jsonl, line 3: no field 'body'"):
        make({"title": "T"}, text_field="title,body")


def test_a_missing_text_names_the_fields_there_and_the_nearest():
    with pytest.raises(CorpusError) as caught:
        make({"Texts": "x", "id": 1})
    message = str(caught.value)
    assert message.startswith("f.jsonl, line 3: no field 'text' with the text, nor 'tokens' with tokens")
    assert "'Texts', 'id'" in message
    assert "did you mean 'Texts'?" in message
    assert "corpus.text_field" in message
    assert "\n" not in message


def test_tokens_stand_in_for_text():
    assert make({"tokens": ["a", "b"]}) == Document(tokens=("a", "b"))
    assert make({"tokens": " a  b\n"}) == Document(tokens=("a", "b"))
    assert make({"tokens": None}) == Document(tokens=())
    assert make({"tokens": None, "text": "x"}) == Document("x")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([], ()),
        (None, None),
        (["b", "a", "b"], ("b", "a")),
        ([2020, "2020", 1.5], ("2020", "1.5")),
        ([" a\n", "a", "b c"], ("a", "b c")),
    ],
)
def test_labels(labels, expected):
    assert make({"text": "x", "labels": labels}).labels == expected


def test_no_label_field_is_no_labels():
    assert make({"text": "x"}).labels is None


def test_labels_in_one_string_need_a_separator():
    with pytest.raises(CorpusError, match=r"must hold a list of labels; got the text 'a;b'.*corpus\.label_separator"):
        make({"text": "x", "labels": "a;b"})
    assert make({"text": "x", "labels": "a; b;"}, label_separator=";").labels == ("a", "b")
    assert make({"text": "x", "labels": ["a;b"]}, label_separator=";").labels == ("a;b",)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": 5}, "'text' must hold text; got a number 5"),
        ({"text": ["x"]}, "'text' must hold text; got a list"),
        ({"text": "x", "labels": {"a": 1}}, "list of labels; got an object"),
        ({"text": "x", "labels": 5}, "list of labels; got a number 5"),
        ({"text": "x", "labels": ["a", None]}, "blank label"),
        ({"text": "x", "labels": [" "]}, "blank label"),
        ({"text": "x", "labels": [["a"]]}, "'labels' must hold text or a number; got a list"),
        ({"text": "x", "labels": [True]}, "'labels' must hold text or a number; got true or false"),
        ({"text": "x", "tokens": 5}, "'tokens' must hold a list of tokens"),
        ({"text": "x", "tokens": ["a", 5]}, "tokens that are text; got a number 5"),
        ({"text": "x", "tokens": ["a", " "]}, "tokens that are text; got the text ' '"),
        ({"text": "x", "id": {}}, "'id' must hold text or a number"),
        ({"text": "x", "split": [1]}, "'split' must hold text or a number"),
        ({"text": 5, "labels": ["x" * 1000]}, "must hold text"),
    ],
)
def test_wrong_values_are_told_with_place_and_field(fields, words):
    with pytest.raises(CorpusError) as caught:
        make(fields)
    message = str(caught.value)
    assert message.startswith("f.jsonl, line 3: field ")
    assert words in message
    assert len(message) < 300


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_blank_ids_and_splits_are_none(blank):
    assert make({"text": "x", "id": blank, "split": blank}) == Document("x")


def test_a_broken_record_raises_its_problem():
    with pytest.raises(CorpusError, match=r"^here: all wrong$"):
        to_document(Record("here", {}, "all wrong"), CorpusConfig())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["text", "tokens", "id", "labels", "split", "more"]), JSON))
def test_any_record_gives_a_document_or_one_clear_line(fields):
    try:
        document = make(fields)
    except CorpusError as error:
        assert str(error).startswith("f.jsonl, line 3: ")
        assert "\n" not in str(error)
    else:
        assert isinstance(document.text, str)
        assert document.labels is None or all(label.strip() for label in document.labels)
        assert document.labels is None or len(set(document.labels)) == len(document.labels)


@given(st.lists(st.text(st.characters(exclude_characters=";"), min_size=1).map(str.strip).filter(bool)))
def test_split_labels_undoes_joining(labels):
    assert split_labels(";".join(labels), ";") == labels


def test_columns_need_text_or_tokens():
    config = CorpusConfig()
    assert check_columns(["id", "text"], config) is None
    assert check_columns(["tokens"], config) is None
    assert "the fields are: none" in check_columns([], config)


def test_encoding_problems():
    assert encoding_problem("naïve", "utf-8") is None
    assert "--encoding latin-1" in encoding_problem("na\udcefve", "utf-8")
    assert "NUL" in encoding_problem("a\0b", "utf-8")


@pytest.mark.parametrize(
    "options",
    [
        {"text_field": ""},
        {"text_field": "title,,body"},
        {"labels_field": " "},
        {"label_separator": ""},
        {"format": "xml"},
        {"on_error": "ignore"},
        {"quotes": "maybe"},
    ],
)
def test_bad_settings_are_refused_by_name(options):
    with pytest.raises(ConfigError, match=rf"^corpus\.{next(iter(options))} must"):
        CorpusConfig(**options)


def test_settings_survive_a_mapping():
    config = CorpusConfig(text_field="title,body", split="train")
    assert config.text_fields == ("title", "body")  # cached, and still no part of what is saved
    assert resolve(CorpusConfig, as_mapping(config)) == config
