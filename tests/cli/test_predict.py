"""`taxocaps predict`: files, pipes and single texts."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys

import pytest

from taxocaps.cli.predict import show_prediction
from taxocaps.corpus.shards import SHARD_DOCUMENTS
from taxocaps.corpus.writers import write_documents
from taxocaps.results import Prediction, ScoredLabel

TEXT = "The striker scored for his club."


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_texts(run, toy_model):
    code, out, err = run("predict", toy_model, "--text", TEXT, "--text", "", "--top-k", "2", "--hierarchy", "as-is")
    assert (code, err) == (0, "")
    first, second = rows(out)
    assert first["id"] == "1"
    assert [list(one) for one in first["labels"]] == [["label", "name", "score", "paths"]] * 2
    assert second == {"id": "2", "labels": [], "warning": "the text has no words that the model reads"}


def test_texts_and_a_file_to_write(check_refused, run, toy_model, tmp_path):
    check_refused(run("predict", toy_model, "--text", TEXT, "--output", tmp_path / "labels.jsonl"), "--output")
    assert list(tmp_path.iterdir()) == []


def test_a_file_to_standard_output_or_to_a_file(run, toy_model, toy_files, tmp_path):
    code, out, err = run("predict", toy_model, toy_files.documents)
    assert (code, err) == (0, "")
    assert [row["id"] for row in rows(out)] == [document.id for _, document in toy_files.data.documents()]
    path = tmp_path / "labels.jsonl"
    code, nothing, err = run("predict", toy_model, toy_files.documents, "--output", path)
    assert (code, nothing) == (0, "")
    assert path.read_text() == out
    assert "12 documents: " in err
    assert run("predict", toy_model, toy_files.documents, "-o", path, "--quiet") == (0, "", "")
    code, out, err = run("predict", toy_model, toy_files.documents, "-o", path, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["documents"] == 12


def test_fields_of_other_names(run, toy_model, tmp_path):
    (tmp_path / "a.csv").write_text(f'key;body\n7;"{TEXT}"\n'.replace(";", ","))
    code, out, _ = run("predict", toy_model, tmp_path / "a.csv", "--text-field", "body", "--id-field", "key")
    assert code == 0
    assert rows(out)[0]["id"] == "7"
    assert rows(out)[0]["labels"] == rows(run("predict", toy_model, "--text", TEXT)[1])[0]["labels"]


def test_which_labels(run, toy_model):
    def labels(*options):
        code, out, _ = run("predict", toy_model, "--text", TEXT, *options)
        assert code == 0
        return [one["label"] for one in rows(out)[0]["labels"]]

    assert len(labels("--threshold", "0")) == 10
    assert labels("--threshold", "1") == []
    best = labels("--top-k", "1", "--hierarchy", "as-is")
    assert labels("--threshold", "1", "--at-least", "1", "--hierarchy", "as-is") == best
    assert set(labels("--threshold", "1", "--at-least", "1", "--hierarchy", "add-ancestors")) >= set(best)


OLD = '{"id": "1", "labels": []}\n'


def test_a_file_of_documents_is_not_replaced_by_labels(check_refused, run, toy_model, tmp_path):
    path, output = tmp_path / "a.jsonl", tmp_path / "train.jsonl"
    path.write_text(json.dumps({"text": TEXT}) + "\n")
    kept = json.dumps({"text": TEXT, "labels": ["sport"]}) + "\n"
    output.write_text(kept)
    check_refused(run("predict", toy_model, path, "-o", output), "train.jsonl: exists", "--overwrite")
    assert output.read_text() == kept
    for _ in range(2):  # labels may be replaced by others
        assert run("predict", toy_model, path, "-o", output, "--overwrite", "--quiet")[0] == 0
    assert run("predict", toy_model, path, "-o", output, "--quiet", "--top-k", "1")[0] == 0


def test_a_broken_record(check_refused, run, toy_model, tmp_path):
    path, output = tmp_path / "a.jsonl", tmp_path / "labels.jsonl"
    path.write_text(json.dumps({"text": TEXT}) + "\nbroken\n")
    output.write_text(OLD)
    check_refused(run("predict", toy_model, path, "-o", output, "--quiet"), "a.jsonl, line 2", "--on-error skip")
    assert output.read_text() == OLD
    code, _, err = run("predict", toy_model, path, "-o", output, "--on-error", "skip")
    assert code == 0
    assert "skipped: " in err
    assert "line 2" in err
    assert len(rows(output.read_text())) == 1


BAD = {
    "neither": ([], "give either a file of documents"),
    "both": (["FILE", "--text", "x"], "give either a file of documents"),
    "fields of a text": (["--text", "x", "--keep", "title"], "--keep is for files"),
    "missing file": (["none.jsonl"], "none.jsonl: no such file"),
    "number and threshold": (["--text", "x", "--top-k", "2", "--threshold", "0.5"], "leave out threshold"),
    "no labels": (["--text", "x", "--top-k", "0"], "top_k must be from 1 to 1000000; got 0"),
    "threshold": (["--text", "x", "--threshold", "1.5"], "threshold must be from 0 to 1; got 1.5"),
    "hierarchy": (["--text", "x", "--hierarchy", "some"], "--hierarchy"),
    "the input itself": (["FILE", "-o", "FILE"], "is the input itself"),
    "processes for standard output": (["FILE", "--jobs", "2"], "are for files; give --output"),
    "processes for a text": (["--text", "x", "--jobs", "2"], "are for files; give --output"),
    "no processes": (["FILE", "--jobs", "0", "-o", "x.jsonl"], "--jobs"),
    "no such files": (["none-*.jsonl"], "none-*.jsonl: no file matches"),
    "a field that is there anyway": (["FILE", "-o", "x.jsonl", "--keep", "id"], "--keep id: the output has a field"),
    "a spreadsheet": (["FILE", "-o", "x.xlsx"], "x.xlsx: labels are not written as .xlsx; use .jsonl, .parquet, .csv"),
    "two formats": (["FILE", "-o", "x.jsonl", "--output-format", "parquet"], "the suffix says another format"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD)
def test_bad_options(check_refused, run, toy_model, toy_files, tmp_path, options, message):
    places = {"FILE": toy_files.documents, "FOLDER": tmp_path}
    before = toy_files.documents.read_bytes()
    check_refused(run("predict", toy_model, *(places.get(option, option) for option in options), "--quiet"), message)
    assert toy_files.documents.read_bytes() == before


def test_what_is_no_model(check_refused, run, toy_files, tmp_path):
    check_refused(run("predict", tmp_path / "none", "--text", "x"), "no model there")
    check_refused(run("predict", tmp_path, toy_files.documents), "not a model")


@pytest.fixture
def start(toy_model):
    """Start the command as a process that reads a pipe."""
    begun = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}

    def call(*options, **streams):
        command = [sys.executable, "-m", "taxocaps", "predict", toy_model, "-", *options]
        begun.append(subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, text=True, **streams))
        return begun[-1]

    yield call
    for process in begun:
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--top-k", "3"), ("--threshold", "1")], ids=["long lines", "short lines"])
def test_labels_appear_while_documents_come(start, options):
    process = start(*options, stdout=subprocess.PIPE)
    process.stdin.write((json.dumps({"text": TEXT}) + "\n") * 300)
    process.stdin.flush()
    ready, _, _ = select.select([process.stdout], [], [], 120)
    assert ready, "nothing was printed, though more documents came than are read ahead"
    assert json.loads(process.stdout.readline())["id"] == "1"
    process.stdin.write(json.dumps({"text": TEXT, "id": "last"}) + "\n")
    process.stdin.close()
    rest = process.stdout.read()
    assert process.wait(timeout=60) == 0
    assert len(rows(rest)) == 300
    assert rows(rest)[-1]["id"] == "last"


@pytest.mark.slow
def test_killed_in_the_middle_the_old_file_stays(start, tmp_path):
    output = tmp_path / "labels.jsonl"
    output.write_text(OLD)
    process = start("--output", output, stderr=subprocess.PIPE)
    process.stdin.write((json.dumps({"text": TEXT}) + "\n") * (6 * SHARD_DOCUMENTS + 1))
    process.stdin.flush()
    assert "labelling documents" in process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    assert output.read_text() == OLD


@pytest.mark.slow
def test_a_reader_that_has_enough(start):
    """As in `taxocaps predict ... | head -1`."""
    process = start("--top-k", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write((json.dumps({"text": TEXT}) + "\n") * 300)
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write((json.dumps({"text": TEXT}) + "\n") * 2_000)
        process.stdin.close()
    process.wait(timeout=60)
    assert "Traceback" not in process.stderr.read()


def test_packed_input(run, toy_model, toy_files, tmp_path):
    write_documents([document for _, document in toy_files.data.documents()], tmp_path / "a.tsv.gz")
    assert run("predict", toy_model, tmp_path / "a.tsv.gz")[1] == run("predict", toy_model, toy_files.documents)[1]


def test_a_folder_of_labels_with_kept_fields_and_a_summary(run, toy_model, toy_files, tmp_path):
    first = toy_files.documents
    code, _, err = run("predict", toy_model, first, first, "--keep", "split", "-o", f"{tmp_path}/out/", "--jobs", "1")
    assert code == 0
    assert "12 documents: " in err
    assert "documents/s)" in err
    (part,) = (tmp_path / "out").glob("part-*.jsonl")
    assert [row["split"] for row in rows(part.read_text())] == [
        document.split for _, document in toy_files.data.documents()
    ]
    code, out, _ = run("predict", toy_model, first, "--keep", "split", "-o", tmp_path / "out", "--json")
    assert json.loads(out)["documents"] == 12


def on_terminal(*arguments):
    """What a command prints on a terminal of 120 columns that knows no colours."""
    pty = pytest.importorskip("pty")
    shown, screen = pty.openpty()
    command = [sys.executable, "-m", "taxocaps", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "120", "TERM": "dumb"}
    with subprocess.Popen(command, stdout=screen, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(screen)
        parts = []
        with contextlib.suppress(OSError):  # the terminal is closed
            while part := os.read(shown, 65536):
                parts.append(part)
        process.wait(60)
    os.close(shown)
    return b"".join(parts).decode().replace("\r", "")


def test_labels_with_uris_are_shown_by_their_names(capsys):
    sport, ball = "http://example.org/sport", "http://example.org/sport/ball"
    labels = (ScoredLabel(sport, "Sport", 0.9, ((sport,),)), ScoredLabel(ball, "Ball games", 0.8, ((sport, ball),)))
    show_prediction(Prediction("7", labels))
    shown = capsys.readouterr().out
    assert "in Sport" in shown
    assert "http" not in shown


def test_on_a_terminal_labels_are_shown_for_people(toy_linear_model, toy_files):
    texts = ("--text", "The goalkeeper saved the penalty.", "--text", "...")
    lines = on_terminal(
        "predict", toy_linear_model, *texts, "--top-k", "3", "--hierarchy", "add-ancestors"
    ).splitlines()
    assert (lines[0], lines[-2]) == ("1", "2")
    assert len(lines) >= 6
    assert all(re.match(r"  [█▏▎▍▌▋▊▉ ]{12} +[01]\.\d\d  \S", line) for line in lines[1:-2])
    assert any(line.rstrip().endswith(" in Sport") or " in Science" in line for line in lines[1:-2])
    assert lines[-1] == "  the text has no words that the model reads"
    assert json.loads(on_terminal("predict", toy_linear_model, "--text", "goal", "--json"))["id"] == "1"
    shown = on_terminal("predict", toy_linear_model, toy_files.documents, "--split", "dev", "--at-least", "1")
    assert len([line for line in shown.splitlines() if not line.startswith(" ")]) == 2


def test_what_was_recognised_is_said(run, toy_model, tmp_path):
    (tmp_path / "d.csv").write_bytes("Titel;Inhalt\nTor;Der Stürmer traf für seinen Verein.\n".encode("cp1252"))
    code, out, err = run("predict", toy_model, tmp_path / "d.csv")
    assert (code, json.loads(out)["id"]) == (0, "1")
    assert err == f"{tmp_path / 'd.csv'} (cp1252, cells separated by semicolons): text from 'Titel' and 'Inhalt'\n"
    assert run("predict", toy_model, tmp_path / "d.csv", "--quiet")[2] == ""
