"""From a file to a store: what is in it, and what happens when something goes wrong."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.datasets import toy
from taxocaps.errors import ConfigError, CorpusError, FileError, GraphError, StoreError, TaxocapsError, WriteError
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.encoding.store import open_store
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.vocabulary import Vocabulary
from taxocaps.workflows.config import EncodeConfig, resolve_config
from taxocaps.workflows.encode import encode


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    documents = [document for _, document in toy.load().documents()]
    write_documents([*documents, Document("", id="empty"), Document("the of and", id="stop")], path)
    return path


def test_the_store_holds_the_readable_rows(tmp_path, corpus):
    report = encode(str(corpus), str(tmp_path / "store"), threads=2)
    store = open_store(str(tmp_path / "store"))
    vocabulary = Vocabulary.load(tmp_path / "store" / "vocabulary.tsv")
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    assert report.documents == len(store) == len(records)
    assert report.without_words == 2
    assert report.rows == len(store.matrices.words)
    for number, record in enumerate(records):
        rows = GraphOfWords(TextPipeline()(record["text"]).words).rows()
        begin, end = store.matrices.offsets[number : number + 2]
        found = [[vocabulary.word(int(i)) for i in row if i] for row in store.matrices.words[begin:end]]
        assert found == [list(row.words) for row in rows]


def test_ids_and_labels_stand_beside_the_arrays(tmp_path, corpus):
    encode(corpus, tmp_path / "store")
    listed = [json.loads(line) for line in (tmp_path / "store" / "documents.jsonl").read_text().splitlines()]
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    assert [entry["id"] for entry in listed] == [record["id"] for record in records]
    assert listed[0]["labels"] == records[0]["labels"]


def test_the_manifest_tells_what_the_store_was_made_from(tmp_path, corpus):
    config = resolve_config(overrides=["graph.window=4", "graph.N=7"])
    encode(corpus, tmp_path / "a", config)
    encode(corpus, tmp_path / "b", config)
    encode(corpus, tmp_path / "c")
    a, b, c = (open_store(tmp_path / name).manifest for name in "abc")
    assert a["config"]["graph"]["window"] == 4
    assert a["hashes"] == b["hashes"]
    assert a["hashes"]["config"] != c["hashes"]["config"]
    assert a["hashes"]["source"] == c["hashes"]["source"]
    with pytest.raises(StoreError, match="encoded with another config"):
        open_store(tmp_path / "c", expected=a["hashes"])


def test_nothing_but_the_store_is_left(tmp_path, corpus):
    encode(corpus, tmp_path / "store")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl", "store"]


def test_another_vocabulary_is_used_as_it_is(tmp_path, corpus):
    encode(corpus, tmp_path / "train")
    other = tmp_path / "test.jsonl"
    write_documents([Document("Zyzzyva wombats chase quokkas.")], other)
    encode(other, tmp_path / "test", vocabulary=tmp_path / "train")
    train, test = open_store(tmp_path / "train"), open_store(tmp_path / "test")
    assert test.manifest["hashes"]["vocabulary"] == train.manifest["hashes"]["vocabulary"]
    assert 1 in test.matrices.words


def test_overwriting(tmp_path, corpus):
    encode(corpus, tmp_path / "store", resolve_config(overrides=["graph.N=3"]))
    with pytest.raises(FileError, match=r"exists already; .* --overwrite"):
        encode(corpus, tmp_path / "store")
    encode(corpus, tmp_path / "store", overwrite=True)
    assert open_store(tmp_path / "store").manifest["config"]["graph"]["N"] == 100


def test_foreign_folders_are_never_overwritten(tmp_path, corpus):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    for target in (tmp_path / "home", corpus):
        with pytest.raises(FileError, match="exists and is not an encoded store"):
            encode(corpus, target, overwrite=True)
    assert (tmp_path / "home" / "thesis.txt").exists()
    (tmp_path / "empty").mkdir()
    assert encode(corpus, tmp_path / "empty").documents
    (tmp_path / "empty" / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match=r"holds other files than a store \(notes\.txt\)"):
        encode(corpus, tmp_path / "empty", overwrite=True)


def test_trained_vectors(tmp_path, corpus):
    config = resolve_config(overrides=["vectors.source=skip-gram", "vectors.dimension=8", "vectors.epochs=1"])
    stages = set()
    report = encode(corpus, tmp_path / "store", config, progress=lambda stage, done, total=None: stages.add(stage))
    vectors = np.load(tmp_path / "store" / "vectors.npy")
    assert vectors.shape == (report.vocabulary, 8)
    assert not vectors[0].any()
    assert stages == {"reading documents", "training word vectors", "building words-matrices"}


def test_vectors_from_a_file(tmp_path, corpus):
    (tmp_path / "glove.txt").write_text("cat 1 2 3\nmarket 4 5 6\n")
    config = resolve_config(overrides=[f"vectors.source={tmp_path / 'glove.txt'}", "vectors.dimension=3"])
    report = encode(corpus, tmp_path / "store", config)
    vectors = np.load(tmp_path / "store" / "vectors.npy")
    assert vectors.shape == (report.vocabulary, 3)
    assert 0 <= report.vectors_found < 1
    with pytest.raises(TaxocapsError, match=r"missing\.txt"):
        encode(corpus, tmp_path / "other", resolve_config(overrides=["vectors.source=missing.txt"]))
    assert not (tmp_path / "other").exists()


def test_broken_records_are_skipped_and_reported_when_asked(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "good text"}\nnot json\n{"body": "x"}\n')
    with pytest.raises(CorpusError, match=r"corpus\.jsonl, line 2"):
        encode(path, tmp_path / "store")
    assert not (tmp_path / "store").exists()
    report = encode(path, tmp_path / "store", resolve_config(overrides=["corpus.on_error=skip"]))
    assert (report.documents, report.skipped, len(report.problems)) == (1, 2, 2)


def test_too_many_words_for_dijkstra_names_the_document(tmp_path):
    path = tmp_path / "corpus.jsonl"
    write_documents([Document("short"), Document(tokens=tuple(f"w{i}" for i in range(5_001)), id="long")], path)
    with pytest.raises(GraphError, match=r"corpus\.jsonl, document 'long': 5,001 distinct .*graph\.distance=count"):
        encode(path, tmp_path / "store", resolve_config(overrides=["graph.distance=count"]))
    assert not (tmp_path / "store").exists()


def write_many(path, count=6_000):
    words = [f"word{number}" for number in range(500)]
    generator = np.random.default_rng(0)
    with path.open("w") as file:
        for number in range(count):
            text = " ".join(words[i] for i in generator.integers(0, 500, 80))
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")


class StopError(Exception):
    pass


def test_interrupted_work_goes_on_and_ends_the_same(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    write_many(corpus, 3_000)
    encode(corpus, tmp_path / "whole")

    def stop(stage, done, total=None):
        if done > 1_500:
            raise StopError

    with pytest.raises(StopError):
        encode(corpus, tmp_path / "store", progress=stop)
    assert not (tmp_path / "store").exists()
    kept = sorted((tmp_path / ".store.partial" / "kept").iterdir())
    assert len(kept) == 2
    times = [path.stat().st_mtime_ns for path in kept]
    after = []

    def look(stage, done, total=None):
        if stage == "building words-matrices" and not after:
            after.extend(path.stat().st_mtime_ns for path in kept)

    encode(corpus, tmp_path / "store", progress=look)
    assert after == times
    for name in ("words.npy", "blocks.npy", "offsets.npy", "vocabulary.tsv", "documents.jsonl", "manifest.json"):
        assert (tmp_path / "store" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def stopped_in(stage_to_stop):
    def stop(stage, done, total=None):
        if stage == stage_to_stop and done:
            raise StopError

    return stop


@pytest.mark.parametrize("stage", ["reading documents", "training word vectors", "building words-matrices"])
def test_nothing_of_an_interrupted_run_gets_into_another(tmp_path, corpus, stage):
    vectors = resolve_config(overrides=["vectors.source=skip-gram", "vectors.dimension=4"])
    with pytest.raises(StopError):
        encode(corpus, tmp_path / "store", vectors, progress=stopped_in(stage))
    other = tmp_path / "other.jsonl"
    write_documents([Document("Quite another document.")], other)
    encode(other, tmp_path / "store")
    encode(other, tmp_path / "clean")
    names = sorted(path.name for path in (tmp_path / "clean").iterdir())
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == names
    assert "vectors.npy" not in names
    for name in names:
        assert (tmp_path / "store" / name).read_bytes() == (tmp_path / "clean" / name).read_bytes()


def test_a_damaged_chunk_of_an_interrupted_run_is_made_again(tmp_path, corpus):
    with pytest.raises(StopError):
        encode(corpus, tmp_path / "store", progress=stopped_in("reading documents"))
    (chunk,) = (tmp_path / ".store.partial" / "kept").iterdir()
    chunk.write_bytes(chunk.read_bytes()[:100])
    assert encode(corpus, tmp_path / "store").documents == 14


def test_bad_input_leaves_nothing_even_after_many_good_documents(tmp_path):
    path = tmp_path / "corpus.jsonl"
    write_many(path, 1_500)
    with path.open("a") as file:
        file.write("not json\n")
    with pytest.raises(CorpusError, match="line 1501"):
        encode(path, tmp_path / "store")
    assert [found.name for found in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_one_run_at_a_time(tmp_path, corpus):
    def start_another(stage, done, total=None):
        with pytest.raises(FileError, match="another run is writing there; wait for it"):
            encode(corpus, tmp_path / "store")

    encode(corpus, tmp_path / "store", progress=start_another)
    encode(corpus, tmp_path / "clean")
    assert (tmp_path / "store" / "words.npy").read_bytes() == (tmp_path / "clean" / "words.npy").read_bytes()


def test_the_vocabulary_of_a_store_comes_with_its_options(tmp_path, corpus):
    encode(corpus, tmp_path / "train", resolve_config(overrides=["graph.T=30", "text.lowercase=false"]))
    with pytest.raises(ConfigError, match=r"train was encoded with text\.lowercase=False, not True"):
        encode(corpus, tmp_path / "test", vocabulary=tmp_path / "train")
    encode(corpus, tmp_path / "test", vocabulary=tmp_path / "train" / "vocabulary.tsv")


def test_the_source_hash_is_of_the_documents_alone(tmp_path, corpus):
    encode(corpus, tmp_path / "a")
    encode(corpus, tmp_path / "b", resolve_config(overrides=["text.lemmas=none"]))
    relabelled = tmp_path / "relabelled.jsonl"
    relabelled.write_text(corpus.read_text().replace('"labels": [', '"labels": ["new", '))
    encode(relabelled, tmp_path / "c")
    a, b, c = (open_store(tmp_path / name).manifest["hashes"]["source"] for name in "abc")
    assert a == b != c


def test_the_current_folder_is_refused(tmp_path, corpus, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FileError, match="is the current folder"):
        encode(corpus, ".")


def test_a_place_that_cannot_be_written_keeps_nothing_and_says_nothing_of_it(tmp_path, corpus):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError) as caught:
        encode(corpus, tmp_path / "file" / "store")
    assert "is kept" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind_of_input", ["text", "tokens"])
def test_memory_does_not_grow_with_the_corpus(tmp_path, kind_of_input):
    """Four times the documents take about the same memory, as texts and as ready tokens."""
    peaks = []
    for count in (2_000, 8_000):
        corpus = tmp_path / f"{count}.jsonl"
        generator = np.random.default_rng(0)
        with corpus.open("w") as file:
            for _ in range(count):
                words = [f"word{number}" for number in generator.integers(0, 2_000, 1_500)]
                file.write(json.dumps({kind_of_input: words if kind_of_input == "tokens" else " ".join(words)}) + "\n")
        code = (
            "import re, sys; from pathlib import Path; from taxocaps import encode; encode(*sys.argv[1:]); "
            "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
        )
        command = [sys.executable, "-c", code, str(corpus), str(tmp_path / f"store-{count}")]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024)
    assert peaks[1] < 1.3 * peaks[0]
    assert peaks[1] < 700


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_process_leaves_no_store_and_can_be_resumed(tmp_path, kind):
    corpus = tmp_path / "corpus.jsonl"
    write_many(corpus, 60_000)
    command = [sys.executable, "-m", "taxocaps", "encode", str(corpus), "--out", str(tmp_path / "store")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    tokens = tmp_path / ".store.partial" / "kept"
    deadline = time.monotonic() + 60
    while len(list(tokens.glob("*.npz")) if tokens.exists() else []) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(kind)
    _, messages = process.communicate(timeout=60)
    assert not (tmp_path / "store").exists()
    if kind == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted; the finished part is kept" in messages
        assert "Traceback" not in messages
    subprocess.run([*command, "--quiet"], check=True)
    assert len(open_store(tmp_path / "store")) == 60_000


def test_defaults_are_those_of_the_dataclasses():
    assert resolve_config() == EncodeConfig()
