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
from taxocaps.encoding.store import open_store, read_manifest
from taxocaps.errors import ConfigError, CorpusError, FileError, GraphError, StoreError, WriteError
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.text.pipeline import TextPipeline
from taxocaps.workflows.config import resolve_encode_config, resolve_graph_config
from taxocaps.workflows.encode import encode


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    documents = [document for _, document in toy.load().documents()]
    write_documents([*documents, Document("", id="empty"), Document("the of and", id="stop")], path)
    return path


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_store_holds_words_and_readable_rows(tmp_path, corpus):
    report = encode(str(corpus), str(tmp_path / "store"), jobs=2, model="HE-AGCRCNN")
    store = open_store(str(tmp_path / "store"))
    matrices, graph = store.encodings["words-matrix"], resolve_graph_config().encodings["words-matrix"]
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    assert report.documents == len(store) == len(records)
    assert report.without_words == 2
    assert report.rows == len(matrices.words)
    assert report.words == len(store.tokens.ids)
    tokens = TextPipeline().tokenize([record["text"] for record in records])
    for number in range(len(records)):
        words = tokens.document(number)
        assert store.tokens.document(number) == words
        rows = GraphOfWords(words, tokens.document_sentence_ends(number), graph).rows()
        begin, end = matrices.offsets[number : number + 2]
        found = [[store.tokens.words[word - 2] for word in row if word] for row in matrices.words[begin:end]]
        assert found == [list(row.words) for row in rows]


def test_a_store_for_a_model_has_what_the_model_reads(tmp_path, corpus):
    for model, arrays in {"SVM": {"tokens"}, "CNN-non-static": {"tokens"}, "TGCNN": {"tokens", "words-matrix"}}.items():
        report = encode(corpus, tmp_path / model, model=model)
        assert {path.name for path in (tmp_path / model).iterdir() if path.is_dir()} == arrays
        assert bool(report.rows) == ("words-matrix" in arrays)


def test_ids_and_labels_stand_beside_the_arrays(tmp_path, corpus):
    encode(corpus, tmp_path / "store")
    listed = [json.loads(line) for line in (tmp_path / "store" / "documents.jsonl").read_text().splitlines()]
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    assert [entry["id"] for entry in listed] == [record["id"] for record in records]
    assert listed[0]["labels"] == records[0]["labels"]


def test_the_manifest_tells_what_the_store_was_made_from(tmp_path, corpus):
    encode(corpus, tmp_path / "a", resolve_graph_config(overrides=["graph.window=4", "graph.N=7"]))
    encode(corpus, tmp_path / "b", model="HE-AGCRCNN", graph__window=4, graph__N=7)
    encode(corpus, tmp_path / "c", model="HE-AGCRCNN")
    a, b, c = (read_manifest(tmp_path / name) for name in "abc")
    assert (a["config"]["graph"]["window"], a["config"]["graph"]["N"]) == (4, 7)
    assert a == b
    assert a["config"] != c["config"]
    assert a["hashes"] == c["hashes"]


def test_a_store_for_one_model_becomes_a_store_for_another(tmp_path, corpus):
    encode(corpus, tmp_path / "words", model="SVM")
    encode(tmp_path / "words", tmp_path / "again", model="TGCNN")
    encode(corpus, tmp_path / "direct", model="TGCNN")
    again, direct = contents(tmp_path / "again"), contents(tmp_path / "direct")
    manifests = [json.loads(one.pop("manifest.json")) for one in (again, direct)]
    assert again == direct
    for manifest in manifests:
        manifest["hashes"].pop("source")
    assert manifests[0] == manifests[1]


def test_some_documents_of_a_store_are_encoded_again(tmp_path, toy_files):
    encode(toy_files.documents, tmp_path / "all", model="SVM")
    encode(tmp_path / "all", tmp_path / "again", model="SVM", corpus__split="test")
    encode(toy_files.documents, tmp_path / "direct", model="SVM", corpus__split="test")
    again, direct = (open_store(tmp_path / name) for name in ("again", "direct"))
    assert list(again.documents) == list(direct.documents)
    assert again.tokens.words == direct.tokens.words
    assert list(again.tokens.documents()) == list(direct.tokens.documents())


def test_words_that_a_store_forgot_stay_without_a_name(tmp_path, corpus, monkeypatch):
    monkeypatch.setattr("taxocaps.text.vocabulary.WordCounter.__init__.__defaults__", (20,))
    assert not encode(corpus, tmp_path / "words", model="SVM").counts_are_exact
    monkeypatch.undo()
    report = encode(tmp_path / "words", tmp_path / "again", model="TGCNN")
    assert not report.counts_are_exact
    stores = [open_store(tmp_path / name) for name in ("words", "again")]
    assert list(stores[0].tokens.documents()) == list(stores[1].tokens.documents())


def test_a_store_is_not_encoded_again_with_other_words(tmp_path, corpus):
    encode(corpus, tmp_path / "words", model="SVM")
    message = r"words: the words in it were made with text\.language=en, not de; encode the documents that it was made"
    with pytest.raises(StoreError, match=message):
        encode(tmp_path / "words", tmp_path / "again", model="SVM", text__language="de")
    assert not (tmp_path / "again").exists()


def test_options_beside_a_whole_configuration_are_refused(tmp_path, corpus):
    with pytest.raises(ConfigError, match=r"^graph__N is given beside config; give all options in one of them$"):
        encode(corpus, tmp_path / "store", resolve_encode_config(), graph__N=7)


def test_nothing_but_the_store_is_left(tmp_path, corpus):
    encode(corpus, tmp_path / "store")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl", "store"]


def test_overwriting(tmp_path, corpus):
    encode(corpus, tmp_path / "store", resolve_graph_config(overrides=["graph.N=3"]))
    with pytest.raises(FileError, match=r"exists already; .* --overwrite"):
        encode(corpus, tmp_path / "store")
    encode(corpus, tmp_path / "store", overwrite=True, model="HE-AGCRCNN")
    assert read_manifest(tmp_path / "store")["config"]["graph"]["N"] == 80


def test_foreign_folders_are_never_overwritten(tmp_path, corpus):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    for target in (tmp_path / "home", corpus):
        with pytest.raises(FileError, match="exists and is not a store"):
            encode(corpus, target, overwrite=True)
    assert (tmp_path / "home" / "thesis.txt").exists()
    (tmp_path / "empty").mkdir()
    assert encode(corpus, tmp_path / "empty").documents
    (tmp_path / "empty" / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match=r"holds other files than a store \(notes\.txt\)"):
        encode(corpus, tmp_path / "empty", overwrite=True)


def test_people_are_told_where_the_work_stands(tmp_path, corpus):
    told = {}
    encode(corpus, tmp_path / "store", progress=lambda stage, done, total=None: told.update({stage: (done, total)}))
    assert told == {"reading documents": (14, None), "encoding documents": (14, 14)}


@pytest.mark.parametrize("option", ["vectors__source", "training__epochs", "network__units", "bag__counts"])
def test_options_that_documents_are_not_read_by_are_refused(tmp_path, corpus, option):
    with pytest.raises(ConfigError, match=f"no options {option.split('__')[0]}; for auto it has model, preset"):
        encode(corpus, tmp_path / "store", **{option: "x"})
    assert not (tmp_path / "store").exists()


def test_broken_records_are_skipped_and_reported_when_asked(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "good text"}\nnot json\n{"body": "x"}\n')
    with pytest.raises(CorpusError, match=r"corpus\.jsonl, line 2"):
        encode(path, tmp_path / "store")
    assert not (tmp_path / "store").exists()
    report = encode(path, tmp_path / "store", resolve_encode_config(overrides=["corpus.on_error=skip"]))
    assert (report.documents, report.skipped, len(report.problems)) == (1, 2, 2)


def test_too_many_words_for_dijkstra_names_the_document(tmp_path):
    path = tmp_path / "corpus.jsonl"
    write_documents([Document("short"), Document(tokens=tuple(f"w{i}" for i in range(5_001)), id="long")], path)
    with pytest.raises(GraphError, match=r"corpus\.jsonl, document 'long': 5,001 distinct .*graph\.distance=count"):
        encode(path, tmp_path / "store", resolve_graph_config(overrides=["graph.distance=count"]))
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


def test_interrupted_work_continues_and_ends_the_same(tmp_path):
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
        if stage == "encoding documents" and not after:
            after.extend(path.stat().st_mtime_ns for path in kept)

    encode(corpus, tmp_path / "store", progress=look)
    assert after == times
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


def stopped_in(stage_to_stop):
    def stop(stage, done, total=None):
        if stage == stage_to_stop and done:
            raise StopError

    return stop


@pytest.mark.parametrize("stage", ["reading documents", "encoding documents"])
def test_nothing_of_an_interrupted_run_gets_into_another(tmp_path, corpus, stage):
    with pytest.raises(StopError):
        encode(corpus, tmp_path / "store", progress=stopped_in(stage))
    other = tmp_path / "other.jsonl"
    write_documents([Document("Quite another document.")], other)
    for target in ("store", "clean"):
        encode(other, tmp_path / target, model="SVM")
    assert contents(tmp_path / "store") == contents(tmp_path / "clean")
    assert not any("matrix" in name for name in contents(tmp_path / "store"))


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
    assert contents(tmp_path / "store") == contents(tmp_path / "clean")


def test_the_source_hash_is_of_the_documents_alone(tmp_path, corpus):
    encode(corpus, tmp_path / "a")
    encode(corpus, tmp_path / "b", resolve_encode_config(overrides=["text.lemmas=none"]))
    relabelled = tmp_path / "relabelled.jsonl"
    relabelled.write_text(corpus.read_text().replace('"labels": [', '"labels": ["new", '))
    encode(relabelled, tmp_path / "c")
    a, b, c = (read_manifest(tmp_path / name)["hashes"]["source"] for name in "abc")
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
    records = tmp_path / ".store.partial" / "kept"
    deadline = time.monotonic() + 60
    while not any(records.glob("*.json")) and time.monotonic() < deadline:
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
