import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.config import resolve
from taxocaps.errors import ConfigError, FileError, TextError
from taxocaps.text import normalize
from taxocaps.text.pipeline import TextConfig, TextPipeline

MUSK = "Musk told the electric car company that he had gone."
TEXTS = st.lists(
    st.sampled_from(["Musk", "the", "cars.", "Car's", "don't", "U.S.", "Mr.", "\n\n", "!", "。", "½", "é"])
).map(" ".join) | st.text(max_size=50)


def tokenized(pipeline, content):
    """The words of one document, and the number of words up to the end of each sentence."""
    tokens = pipeline.tokenize([content])
    return tokens.document(0), tokens.document_sentence_ends(0)


def words_of(pipeline, content):
    return tokenized(pipeline, content)[0]


@pytest.fixture(scope="module")
def pipeline():
    return TextPipeline()


def test_the_example_of_the_paper(pipeline):
    words = words_of(pipeline, "Musk told the electric car company that he")
    assert words == ["musk", "tell", "electric", "car", "company"]
    assert words.index("company") + 1 == 5


def test_sentence_ends_count_kept_words(pipeline):
    text = "The dog barks. It is. Then the cats ran!\n\nMr. Smith left"
    assert tokenized(pipeline, text) == (["dog", "bark", "cat", "run", "mr", "smith", "left"], [2, 4, 7])


@pytest.mark.parametrize("text", ["", " \n\n ", "the of and.", "!!! ...", "👍"])
def test_text_without_words(pipeline, text):
    assert tokenized(pipeline, text) == ([], [])


def test_ready_tokens_pass_unchanged(pipeline):
    found = tokenized(pipeline, ["The", "U.S.", "", "two words", "cats"])
    assert found == (["The", "U.S.", "two words", "cats"], [4])
    assert tokenized(pipeline, []) == ([], [])


@given(st.lists(TEXTS | st.lists(st.sampled_from(["The", "cars", "", "a b"])), max_size=5))
def test_chunk_equals_documents_one_by_one(pipeline, documents):
    tokens = pipeline.tokenize(documents)
    found = [(tokens.document(index), tokens.document_sentence_ends(index)) for index in range(len(documents))]
    assert found == [tokenized(pipeline, document) for document in documents]


@given(TEXTS)
def test_sentence_ends_ascend_to_the_number_of_words(pipeline, text):
    words, ends = tokenized(pipeline, text)
    assert sorted(set(ends)) == ends
    assert (ends or [0])[-1] == len(words)
    assert 0 not in ends


def test_no_documents(pipeline):
    chunk = pipeline.tokenize([])
    assert (len(chunk), chunk.words, chunk.offsets.tolist()) == (0, (), [0])


def test_a_generator_of_documents(pipeline):
    assert list(pipeline.tokenize(text for text in ["cats", "dogs"]).documents()) == [["cat"], ["dog"]]


@pytest.mark.parametrize("name", ["words", "none"])
def test_survives_the_way_to_another_process(name):
    pipeline = TextPipeline(TextConfig(tokenizer=name))
    again = pickle.loads(pickle.dumps(pipeline))
    assert again.config == pipeline.config
    assert words_of(again, MUSK) == words_of(pipeline, MUSK)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(normalize, "_REMEMBERED", 10)
    pipeline = TextPipeline(TextConfig(lemmas="none"))
    memory = pipeline._words_of.__self__
    text = " ".join(f"word{number}" for number in range(95))
    assert len(words_of(pipeline, text)) == 95
    assert 0 < len(memory) <= 10
    assert len(pipeline.tokenize([text]).words) == 95
    assert len(memory) <= 10
    words_of(pipeline, "x" * 100_000)
    assert all(len(raw) < 1_000 for raw in memory)


def test_ready_tokens_between_white_space():
    pipeline = TextPipeline(TextConfig(tokenizer="none", language="xx"))
    assert tokenized(pipeline, "The cats\n\nran .") == (["The", "cats", "ran", "."], [4])


def test_own_function():
    pipeline = TextPipeline(TextConfig(tokenizer="textwrap:wrap"))
    text = "word " * 30
    assert len(words_of(pipeline, text)) == 3


def test_spacy(tmp_path):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "model")
    pipeline = TextPipeline(TextConfig(tokenizer=f"spacy:{tmp_path / 'model'}", stop_words="none", numbers="drop"))
    assert tokenized(pipeline, "The cats ran. 3 dogs!") == (["the", "cats", "ran", "dogs"], [3, 4])
    assert pipeline.tokenize(["The cats ran. 3 dogs!"]).sentence_ends.tolist() == [3, 4]


def test_options(tmp_path):
    own = tmp_path / "stop.txt"
    own.write_text("cats\n")
    text = "The CATS ran 3 times"
    assert words_of(TextPipeline(TextConfig(stop_words=str(own))), text) == ["the", "run", "3", "time"]
    plain = TextPipeline(TextConfig(stop_words="none", lemmas="none", lowercase=False))
    assert words_of(plain, text) == text.split()
    assert words_of(TextPipeline(TextConfig(numbers="drop")), text) == ["cat", "run", "time"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "english"}, r"text\.language: no lemmas for language 'english'; did you mean en\?"),
        ({"language": "pl"}, r"text\.stop_words: no list for language 'pl'"),
        ({"tokenizer": "word"}, r"text\.tokenizer must be words, plain, none, .*; got 'word'; did you mean words\?"),
        ({"tokenizer": "spacy:"}, r"text\.tokenizer must be .*; got 'spacy:'; did you mean spacy:NAME\?"),
        ({"tokenizer": "nowhere:f"}, r"text\.tokenizer: the module of 'nowhere:f' cannot be imported"),
        ({"stop_words": "defualt"}, r"text\.stop_words must be default, none or a file .*; no file 'defualt'"),
    ],
)
def test_what_cannot_be_built(options, message):
    with pytest.raises(TextError, match=message):
        TextPipeline(TextConfig(**options))


def test_language_matters_only_where_it_is_used():
    pipeline = TextPipeline(TextConfig(language="xx", lemmas="none", stop_words="none"))
    assert words_of(pipeline, "A b") == ["a", "b"]


def test_stop_word_file_in_another_encoding(tmp_path):
    file = tmp_path / "stop.txt"
    file.write_bytes("één\n".encode("latin-1"))
    with pytest.raises(FileError, match=r"stop\.txt, line 1: not valid UTF-8"):
        TextPipeline(TextConfig(stop_words=str(file)))


def test_configuration_names_its_keys():
    with pytest.raises(ConfigError, match=r"text\.lemmas must be one of simplemma, none; got 'spacy'"):
        resolve(TextConfig, {"lemmas": "spacy"})


def test_importing_the_package_is_light():
    code = (
        "import sys, taxocaps.text; "
        "print([m for m in ('torch', 'numba', 'gensim', 'sklearn', 'networkx', 'rich', 'scipy', 'spacy', 'simplemma') "
        "if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_fingerprint_covers_the_words_of_a_stop_word_file(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text("the\n", encoding="utf-8")
    config = TextConfig(stop_words=str(path))
    before = TextPipeline(config).fingerprint
    assert TextPipeline(config).fingerprint == before != TextPipeline(TextConfig()).fingerprint
    path.write_text("the\na\n", encoding="utf-8")
    assert TextPipeline(config).fingerprint != before


def test_the_fingerprint_covers_the_code_of_a_tokenizer_of_ones_own(tmp_path, monkeypatch):
    path = tmp_path / "my_words.py"
    path.write_text("def cut(text):\n    return text.split()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    pipeline = TextPipeline(TextConfig(tokenizer="my_words:cut", language="zh"))
    before = pipeline.fingerprint
    path.write_text("def cut(text):\n    return text.split()[1:]\n", encoding="utf-8")
    assert pipeline.fingerprint != before


def test_ready_tokens_need_no_stop_words():
    assert TextPipeline(TextConfig(tokenizer="none", language="zh")).fingerprint


def test_characters_in_lower_case_with_one_space_for_many():
    pipeline = TextPipeline(TextConfig(tokenizer="characters", language="xx"))
    texts = ["Grüße,\n\t du!", "", " ", "日本", ("Two", "words")]
    found = ["".join(words) for words in pipeline.tokenize(texts).documents()]
    assert found == ["grüße, du!", "", "", "日本", "two words"]
    assert pipeline.fingerprint != TextPipeline().fingerprint


def test_plain_words_keep_stop_words_and_marks():
    pipeline = TextPipeline(TextConfig(tokenizer="plain", language="xx"))
    assert words_of(pipeline, "Is THIS the end?! No...") == ["is", "this", "the", "end", "?!", "no"]


@pytest.mark.parametrize("tokenizer", ["words", "plain"])
@pytest.mark.parametrize(
    "text",
    ["Mr. Musk told 5.2 pct of the U.S. analysts. He's gone!", "", "Straße, naïve café\n\nzwei", "a_b 1,000 x-y it's"],
)
def test_raw_tokens_are_read_as_the_text_itself(tokenizer, text):
    pipeline = TextPipeline(TextConfig(tokenizer=tokenizer))
    raw = TextPipeline(TextConfig(tokenizer="raw")).tokenize([text, text])
    read, expected = pipeline.reread(raw), pipeline.tokenize([text, text])
    assert list(read.documents()) == list(expected.documents())


def test_ready_tokens_among_raw_ones_stay_as_they_are():
    raw = TextPipeline(TextConfig(tokenizer="raw")).tokenize([["The", "cars"], "The cars"])
    assert list(TextPipeline(TextConfig()).reread(raw).documents()) == [["The", "cars"], ["car"]]


def test_words_read_from_raw_tokens_know_where_they_stand():
    text = "Old cars. New ones!"
    raw = TextPipeline(TextConfig(tokenizer="raw")).tokenize([text], spans=True)
    read = TextPipeline(TextConfig(tokenizer="plain")).reread(raw)
    assert [text[start:end].lower() for start, end in read.spans.tolist()][:4] == ["old", "cars", "new", "ones"]
