"""A store gives back what documents were encoded to, and says clearly what is wrong with it."""

import json
import os
import time

import numpy as np
import pytest

import taxocaps.text.vocabulary
from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.encoding.encoders import TokensConfig
from taxocaps.encoding.store import is_store, open_store, read_manifest
from taxocaps.encoding.store_writer import TokenCache, write_store
from taxocaps.encoding.words import count_words, vocabulary_ids
from taxocaps.errors import GraphError, StoreError
from taxocaps.graph.config import GraphConfig
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.vocabulary import VocabularyConfig


def make(folder, documents, encoder, **options):
    folder.mkdir(exist_ok=True)
    write_store(documents, encoder, folder, cache=folder.parent / f"{folder.name}-tokens", **options)
    return folder


@pytest.fixture
def store(tmp_path, documents, encoder):
    return make(tmp_path / "store", documents, encoder)


def test_what_is_stored_equals_what_is_encoded_in_memory(store, documents, encoder):
    stored, memory = open_store(store, encoder), encoder.encode(documents)
    vocabulary = count_words(memory, VocabularyConfig())
    assert vocabulary.fingerprint == count_words(stored, VocabularyConfig()).fingerprint
    maps = [vocabulary_ids(one.tokens.words, vocabulary) for one in (stored, memory)]
    everything = np.arange(len(documents))
    for name in encoder.encoders:
        ours, theirs = (one.encoding(name).arrays(everything) for one in (stored, memory))
        assert np.array_equal(maps[0][ours[0]], maps[1][theirs[0]])
        assert all(map(np.array_equal, ours[1:], theirs[1:]))
        assert np.array_equal(stored.encoding(name).lengths, memory.encoding(name).lengths)
    assert list(stored.tokens.documents()) == list(memory.tokens.documents())
    listed = list(stored.documents)
    assert [(one.id, one.labels, one.split) for one in listed] == [(d.id, d.labels, d.split) for d in documents]
    assert list(stored.documents) == listed  # again


def test_many_chunks_are_joined(tmp_path, encoder):
    documents = [Document(f"the cat{index % 7} sat. A dog{index} ran.", id=str(index)) for index in range(2_500)]
    told = []
    folder = make(tmp_path / "store", documents, encoder, progress=lambda *report: told.append(report))
    stored, memory = open_store(folder, encoder), encoder.encode(documents)
    assert list(stored.tokens.documents()) == list(memory.tokens.documents())
    ends = [one.tokens.document_sentence_ends(2_400) for one in (stored, memory)]
    assert ends[0] == ends[1]
    assert np.array_equal(stored.encodings["words-matrix"].offsets, memory.encodings["words-matrix"].offsets)
    assert told[-1] == ("encoding documents", 2_500, 2_500)
    assert read_manifest(folder)["counts"]["documents"] == 2_500


def test_words_forgotten_while_counting_are_unknown(tmp_path, monkeypatch, documents, encoder):
    monkeypatch.setattr(taxocaps.text.vocabulary.WordCounter, "__init__", _small_counter)
    folder = make(tmp_path / "store", documents, encoder)
    stored = open_store(folder, encoder)
    assert not read_manifest(folder)["counts_are_exact"]
    assert stored.tokens.words[-1] == ""
    words = [word for document in stored.tokens.documents() for word in document]
    assert "" in words
    assert len(words) == encoder.encode(documents).lengths.sum()
    assert "" not in count_words(stored, VocabularyConfig(min_count=1)).words


def _small_counter(self, limit=5, original=taxocaps.text.vocabulary.WordCounter.__init__):
    original(self, limit)


def test_arrays_are_plain_npy_files_mapped_not_read(store):
    assert np.load(store / "words-matrix" / "words.npy").shape[1] == GraphConfig().T
    begin = time.process_time()
    opened = open_store(store)
    assert time.process_time() - begin < 0.2
    assert isinstance(opened.encodings["words-matrix"].words, np.memmap)


def test_an_interrupted_run_does_not_tokenise_again(tmp_path, documents, encoder):
    def broken():
        yield from documents * 200
        raise KeyboardInterrupt

    folder = tmp_path / "store"
    with pytest.raises(KeyboardInterrupt):
        make(folder, broken(), encoder)
    assert not is_store(folder)
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store-tokens").iterdir()}
    assert kept
    make(folder, documents * 200, encoder)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store-tokens").iterdir()}
    assert kept.items() <= after.items()
    assert len(open_store(folder)) == 200 * len(documents)


def test_the_same_documents_leave_a_complete_store_as_it_is(store, documents, encoder):
    before = (store / "manifest.json").stat().st_mtime_ns
    make(store, documents, encoder)
    assert (store / "manifest.json").stat().st_mtime_ns == before
    make(store, documents[:3], encoder)
    assert len(open_store(store)) == 3


def test_a_store_tells_which_option_differs(store, encoder):
    other = DocumentEncoder(TextConfig(), {"words-matrix": GraphConfig(window=4)})
    with pytest.raises(StoreError, match=r"was encoded with graph\.window=3, but the model has 4; .* --set graph\.w"):
        open_store(store, other)
    with pytest.raises(StoreError, match=r"was encoded with text\.lemmas=simplemma, but the model has none"):
        open_store(store, DocumentEncoder(TextConfig(lemmas="none"), {}))
    # How much of the tokens a network reads is decided when it reads them.
    short = open_store(store, DocumentEncoder(TextConfig(), {"tokens": TokensConfig(length=2)}))
    assert short.encoding("tokens").lengths.max() == 2


def test_a_store_without_what_a_model_reads(tmp_path, documents, encoder):
    folder = make(tmp_path / "store", documents, DocumentEncoder(TextConfig(), {}))
    assert open_store(folder).encodings == {}
    with pytest.raises(
        StoreError, match="has no words-matrix, which the model reads; encode it again with --model NAME"
    ):
        open_store(folder, encoder)


def test_other_stop_words_are_noticed(tmp_path, documents):
    words = tmp_path / "stop.txt"
    words.write_text("the\n", encoding="utf-8")
    config = TextConfig(stop_words=str(words))
    folder = make(tmp_path / "store", documents, DocumentEncoder(config, {}))
    words.write_text("the\na\n", encoding="utf-8")
    with pytest.raises(StoreError, match="other stop words"):
        open_store(folder, DocumentEncoder(config, {}))


def test_a_document_that_cannot_be_encoded_is_named(tmp_path, documents):
    encoder = DocumentEncoder(TextConfig(), {"words-matrix": GraphConfig(distance="count")})
    many = Document(" ".join(f"w{index}" for index in range(5_001)))
    with pytest.raises(GraphError, match=r"^news\.jsonl, document 13: ") as caught:
        make(tmp_path / "store", [*documents, many], encoder, source="news.jsonl")
    assert "\n" not in str(caught.value)


def test_no_store(tmp_path):
    with pytest.raises(StoreError, match="no store there"):
        open_store(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"not a store \(no manifest\.json"):
        open_store(tmp_path)


def _changed(folder, change):
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _header(folder, shape):
    """Write another shape into the header of an array, of the same length."""
    path = folder / "tokens" / "ids.npy"
    content = path.read_bytes()
    start = content.index(b"'shape': ") + len(b"'shape': ")
    end = content.index(b"\n", start)
    path.write_bytes(content[:start] + f"{shape}, }}".ljust(end - start).encode() + content[end:])


def _array(folder, name, change):
    array = np.load(folder / f"{name}.npy")
    change(array)
    np.save(folder / f"{name}.npy", array)


def _link(folder, name):
    (folder / name).rename(folder.parent / "elsewhere")
    (folder / name).symlink_to(folder.parent / "elsewhere")


def _pipe(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)


DAMAGE = [
    (lambda folder: (folder / "manifest.json").write_text("{"), r"manifest\.json: cannot be read"),
    (
        lambda folder: (folder / "manifest.json").write_text('{"format": "x/7"}'),
        "has the format 'x/7', not 'taxocaps-store",
    ),
    (lambda folder: _changed(folder, lambda m: m.pop("arrays")), r"manifest\.json: arrays is missing"),
    (lambda folder: _changed(folder, lambda m: m["arrays"].update({"tokens/ids": 7})), r"arrays is damaged"),
    (lambda folder: _changed(folder, lambda m: m["arrays"]["tokens/ids"].update(shape=[2**60])), "does not match"),
    (
        lambda folder: _changed(folder, lambda m: m["arrays"].update({"../secret": m["arrays"]["tokens/ids"]})),
        "missing",
    ),
    (lambda folder: _changed(folder, lambda m: m.update(encodings=["abacus"])), "there is no encoding 'abacus'"),
    (lambda folder: _changed(folder, lambda m: m.update(config={"text": 7})), "config is damaged"),
    (lambda folder: (folder / "manifest.json").write_text("[" * 10**6), r"manifest\.json: cannot be read"),
    (lambda folder: _header(folder, "(1152921504606846976,)"), r"ids\.npy: does not match"),
    (lambda folder: _header(folder, "(" * 30), r"ids\.npy: damaged or cut off"),
    (lambda folder: _header(folder, "(3,), 'more': (1,"), r"ids\.npy: damaged or cut off"),
    (lambda folder: _array(folder, "tokens/ids", lambda ids: ids.__setitem__(0, 10**6)), "do not fit together"),
    (lambda folder: _array(folder, "tokens/ids", lambda ids: ids.__setitem__(0, -1)), "do not fit together"),
    (lambda folder: _array(folder, "tokens/offsets", lambda all: all.__setitem__(1, 10**9)), "do not fit together"),
    (lambda folder: _array(folder, "words-matrix/offsets", lambda all: all.__setitem__(1, -5)), "does not fit"),
    (lambda folder: _link(folder, "vocabulary.tsv"), "is a link that leads elsewhere"),
    (lambda folder: _pipe(folder, "documents.jsonl"), "is neither a file nor a folder"),
    (lambda folder: _changed(folder, lambda m: m.update(arrays={})), "tokens: is missing from the store"),
    (lambda folder: (folder / "tokens" / "ids.npy").write_bytes(b""), r"ids\.npy: damaged or cut off"),
    (lambda folder: (folder / "vocabulary.tsv").unlink(), r"vocabulary\.tsv: is missing from the store; encode"),
    (
        lambda folder: (folder / "words-matrix" / "words.npy").write_bytes(
            (folder / "words-matrix" / "words.npy").read_bytes()[:-7]
        ),
        r"words\.npy: damaged or cut off",
    ),
    (lambda folder: (folder / "words-matrix" / "blocks.npy").unlink(), r"blocks\.npy: is missing from the store"),
    (
        lambda folder: np.save(folder / "words-matrix" / "blocks.npy", np.zeros((3, 5), np.int8)),
        r"blocks\.npy: does not match manifest\.json",
    ),
    (
        lambda folder: (folder / "vocabulary.tsv").write_text("a\n"),
        r"vocabulary\.tsv, line 1: the vocabulary is damaged",
    ),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGE)
def test_a_damaged_store_is_refused_in_one_line(store, damage, message):
    damage(store)
    with pytest.raises(StoreError, match=message) as caught:
        open_store(store)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"), [("words", 10**6), ("words", -3), ("blocks", 120), ("blocks", -1), ("block_counts", 120)]
)
def test_words_and_places_that_do_not_exist_are_noticed_when_they_are_read(store, documents, name, value):
    _array(store, f"words-matrix/{name}", lambda array: array.__setitem__(0, value))
    found = open_store(store).encoding("words-matrix")
    with pytest.raises(StoreError, match="words or places that do not exist"):
        found.arrays(np.arange(len(documents)))


@pytest.mark.parametrize("line", ['{"id": 1, "labels": [], "split": null}', '{"id": "1", "labels": [[1]], "split": 1}'])
def test_a_listing_of_other_things_is_refused(store, line):
    lines = (store / "documents.jsonl").read_text().splitlines()
    (store / "documents.jsonl").write_text("\n".join([line, *lines[1:]]))
    with pytest.raises(StoreError, match=r"documents\.jsonl: cannot be read"):
        list(open_store(store).documents)


def test_a_document_missing_from_the_listing_is_missed(store):
    lines = (store / "documents.jsonl").read_text().splitlines(keepends=True)
    (store / "documents.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(StoreError, match=f"has {len(lines) - 1} documents, but the store {len(lines)}"):
        list(open_store(store).documents)


def test_a_damaged_listing_is_refused(store):
    (store / "documents.jsonl").write_text("{\n")
    with pytest.raises(StoreError, match=r"documents\.jsonl: cannot be read"):
        list(open_store(store).documents)


FIRST = [Document("Cats chase mice."), Document(tokens=("Ready", "tokens"))]
SECOND = [Document("Dogs chase cats.")]


def fill(folder, *parts, config=None):
    cache = TokenCache(folder, TextPipeline(config or TextConfig()))
    for part in parts:
        cache.add(part)
    return cache


def words_of(cache):
    return [list(document) for tokens in cache for document in tokens.documents()]


def written(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_cached_words_come_back_as_often_as_wanted(tmp_path):
    cache = fill(tmp_path, FIRST, SECOND)
    expected = [["cat", "chase", "mouse"], ["Ready", "tokens"], ["dog", "chase", "cat"]]
    assert words_of(cache) == words_of(cache) == expected
    files = written(tmp_path)
    assert words_of(fill(tmp_path, FIRST, SECOND)) == expected
    assert written(tmp_path) == files


def test_another_document_or_pipeline_replaces_a_cached_chunk(tmp_path):
    fill(tmp_path, FIRST, SECOND)
    assert words_of(fill(tmp_path, FIRST, [Document("Dogs chase birds.")]))[-1] == ["dog", "chase", "bird"]
    assert len(written(tmp_path)) == 2
    plain = fill(tmp_path, FIRST, SECOND, config=TextConfig(lemmas="none"))
    assert words_of(plain)[0] == ["cats", "chase", "mice"]


def test_a_text_and_the_same_ready_tokens_differ(tmp_path):
    fill(tmp_path, [Document("tokens")])
    names = set(written(tmp_path))
    assert words_of(fill(tmp_path, [Document(tokens=("tokens",))])) == [["tokens"]]
    assert set(written(tmp_path)) != names


def test_a_damaged_chunk_is_made_again(tmp_path):
    fill(tmp_path, SECOND)
    for path in tmp_path.iterdir():
        path.write_bytes(b"damaged")
    assert words_of(fill(tmp_path, SECOND)) == [["dog", "chase", "cat"]]
