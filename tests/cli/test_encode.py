"""`taxocaps encode` and everything that can be wrong with its input: one clear line, code 2, nothing half-written."""

import gzip
import json
import subprocess
import sys

import pytest

from taxocaps.encoding.store import open_store, read_manifest

GOOD = '{"id": "1", "text": "Cats chase mice in the old house.", "labels": ["animal"]}\n'


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(GOOD * 3)
    return path


def test_the_report(run, corpus, tmp_path):
    code, out, err = run("encode", corpus, "--out", tmp_path / "store")
    assert code == 0
    assert "documents" in out
    assert "encoding documents: 3 of 3" in err
    assert len(open_store(tmp_path / "store")) == 3
    code, out, err = run("encode", corpus, "--out", tmp_path / "other", "--json")
    assert json.loads(out)["documents"] == 3
    assert err == ""
    assert run("encode", corpus, "--out", tmp_path / "third", "--quiet") == (0, "", "")


def test_options_reach_the_store(run, corpus, tmp_path):
    options = ("--model", "HE-AGCRCNN", "--set", "graph.T=9", "--language", "de", "--preset", "fast", "--quiet")
    assert run("encode", corpus, "--out", tmp_path / "s", *options) == (0, "", "")
    assert open_store(tmp_path / "s").encodings["words-matrix"].words.shape[1] == 9
    config = read_manifest(tmp_path / "s")["config"]
    assert (config["graph"]["T"], config["graph"]["N"], config["text"]["language"]) == (9, 32, "de")


def test_a_model_names_what_is_encoded(run, corpus, tmp_path):
    code, out, _ = run("encode", corpus, "--out", tmp_path / "svm", "--model", "svm")
    assert code == 0
    assert "words-matrices" not in out
    assert read_manifest(tmp_path / "svm")["encodings"] == []
    code, out, _ = run("encode", corpus, "--out", tmp_path / "network", "--model", "HE-AGCRCNN")
    assert code == 0
    assert "words-matrices" in out
    assert read_manifest(tmp_path / "network")["encodings"] == ["words-matrix"]


def test_without_a_model_it_is_the_default(run, corpus, tmp_path):
    assert run("encode", corpus, "--out", tmp_path / "s", "--quiet") == (0, "", "")
    manifest = read_manifest(tmp_path / "s")
    assert (manifest["encodings"], manifest["config"]["text"]["tokenizer"]) == ([], "raw")


def plain(content):
    return lambda path: path.write_bytes(content)


def truncated(path):
    whole = gzip.compress(GOOD.encode() * 10_000)
    path.write_bytes(whole[: len(whole) // 2])


BAD_INPUT = {
    "missing file": ("none.jsonl", None, "no such file"),
    "empty file": ("a.jsonl", plain(b""), "no documents"),
    "only blank lines": ("a.jsonl", plain(b"\n\n"), "no documents"),
    "not UTF-8": (
        "a.jsonl",
        plain(GOOD.encode() + '{"text": "é"}\n'.encode() + b'{"text": "\xe9"}\n'),
        "line 3: not valid UTF-8",
    ),
    "truncated gzip": ("a.jsonl.gz", truncated, "the compressed file is cut off"),
    "not gzip": ("a.jsonl.gz", plain(GOOD.encode()), "cannot be read"),
    "invalid JSON": ("a.jsonl", plain(GOOD.encode() + b'{"text": \n'), "line 2"),
    "not an object": ("a.jsonl", plain(b"[1, 2]\n"), "line 1"),
    "missing field": ("a.jsonl", plain(b'{"n": "x"}\n'), "line 1"),
    "labels not a list": ("a.jsonl", plain(b'{"text": "x", "labels": {}}\n'), "label"),
    "text not a text": ("a.jsonl", plain(b'{"text": 7}\n'), "line 1"),
    "CSV without the field": ("a.csv", plain(b"id,n\n1,x\n"), "text"),
    "CSV with a short row": ("a.csv", plain(b"id,text,labels\n1,x\n"), "line 2"),
    "unknown suffix": ("a.doc", plain(b"x"), "doc"),
    "not DOCX": ("a.docx", plain(b"x"), "a.docx"),
    "not Parquet": ("a.parquet", plain(b"hello"), "a.parquet"),
}


@pytest.mark.parametrize(("name", "make", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input(run, tmp_path, name, make, message):
    path = tmp_path / name
    if make:
        make(path)
    code, out, err = run("encode", path, "--out", tmp_path / "store", "--quiet")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert name in err
    assert message in err
    assert not (tmp_path / "store").exists()


def test_a_directory_for_a_file(run, tmp_path):
    (tmp_path / "folder").mkdir()
    code, _, err = run("encode", tmp_path / "folder", "--out", tmp_path / "store")
    assert code == 2
    assert "folder" in err


def test_encodings(run, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "café noir"}\n'.encode("latin-1"))
    assert run("encode", path, "--out", tmp_path / "s", "--encoding", "latin-1", "--quiet") == (0, "", "")
    assert "café" in (tmp_path / "s" / "vocabulary.tsv").read_text(encoding="utf-8")


def test_skipping_is_reported(run, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + "{\n")
    code, out, err = run("encode", path, "--out", tmp_path / "s", "--on-error", "skip")
    assert code == 0
    assert "broken records skipped" in out
    assert "skipped: " in err
    assert "line 2" in err


def test_standard_input(tmp_path):
    command = [sys.executable, "-m", "taxocaps", "encode", "-", "--out", str(tmp_path / "s"), "--quiet"]
    subprocess.run(command, input=GOOD, text=True, check=True)
    assert len(open_store(tmp_path / "s")) == 1


@pytest.mark.slow
def test_a_full_disk(tmp_path):
    """A small file system of its own fills up in the middle of the work."""
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", mount], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("mounting a tmpfs needs rights that this user does not have")
    try:
        corpus = tmp_path / "corpus.jsonl"
        corpus.write_text(
            "".join(json.dumps({"text": " ".join(f"w{n}x{i}" for i in range(99))}) + "\n" for n in range(5_000))
        )
        ended = subprocess.run(
            [sys.executable, "-m", "taxocaps", "encode", str(corpus), "--out", str(mount / "store"), "--quiet"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 2
        assert "No space left on device" in ended.stderr
        assert "continues from there" in ended.stderr
        assert ended.stderr.count("\n") == 1
        assert not (mount / "store").exists()
    finally:
        subprocess.run(["umount", mount], check=True)
