"""Bulk work: the same result for any number of processes and kills, and clear words about what is broken."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import taxocaps
from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.corpus.shards import cut, input_files
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import ConfigError, CorpusError, FileError, UnfinishedError
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.workflows.encode import encode
from taxocaps.workflows.evaluate import evaluate
from taxocaps.workflows.predict import predict_file
from taxocaps.workflows.train import TrainFiles, train

WORDS = [
    "striker",
    "club",
    "goal",
    "comet",
    "planet",
    "star",
    "telescope",
    "match",
    "league",
    "orbit",
    "season",
    "galaxy",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory, toy_files):
    return fit(tmp_path_factory, toy_files)


@pytest.fixture(scope="module")
def other_model(tmp_path_factory, toy_files):
    return fit(tmp_path_factory, toy_files, linear__C=0.1)


def fit(tmp_path_factory, toy_files, **options):
    folder = tmp_path_factory.mktemp("svm") / "model"
    train(TrainFiles(toy_files.documents, toy_files.taxonomy), folder, model="SVM", bag__min_documents=1, **options)
    return folder


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr("taxocaps.corpus.shards.SHARD_BYTES", 4_000)
    monkeypatch.setattr("taxocaps.corpus.shards.SHARD_DOCUMENTS", 40)


def documents(count, first=0, named=True):
    generator = random.Random(first)
    for number in range(first, first + count):
        text = " ".join(generator.choices(WORDS, k=12)) + f" word{number % 97}"
        yield Document(text, id=f"d{number}" if named else None, labels=("football",) if number % 3 else ("astronomy",))


def write(path, count, first=0, named=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_documents(documents(count, first, named), path)
    return path


def ids(*paths):
    return [json.loads(line)["id"] for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def visible(folder):
    return {name: content for name, content in contents(folder).items() if "/." not in f"/{name}"}


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "jsonl.gz", "parquet"])
@pytest.mark.usefixtures("small_shards")
def test_shards_hold_all_documents_in_order(tmp_path, suffix):
    path = write(tmp_path / f"all.{suffix}", 300)
    shards = list(cut([path], CorpusConfig()))
    assert len(shards) > 3
    found = [document for shard in shards for document in shard.read(CorpusConfig(), ReadReport())]
    assert found == list(documents(300))
    assert [shard.digest() for shard in shards] == [shard.digest() for shard in cut([path], CorpusConfig())]


@pytest.mark.usefixtures("small_shards")
def test_a_broken_line_of_a_later_shard_is_named_by_its_line_in_the_file(tmp_path):
    path = write(tmp_path / "all.jsonl", 200)
    lines = path.read_text().splitlines()
    lines[150] = "broken"
    path.write_text("\n".join(lines))
    with pytest.raises(CorpusError, match=r"all\.jsonl, line 151: invalid JSON"):
        for shard in cut([path], CorpusConfig()):
            list(shard.read(CorpusConfig(), ReadReport()))


def test_what_an_input_stands_for(tmp_path):
    names = ["b/2.csv", "b/1.jsonl.gz", "a.jsonl", "b/_run.json", "b/.hidden.jsonl"]
    for name in names:
        write(tmp_path / "in" / name.replace("_run", "run"), 2) if "_" not in name else (
            tmp_path / "in" / name
        ).write_text("{}")
    found = [path.relative_to(tmp_path / "in").as_posix() for path in input_files([tmp_path / "in"], CorpusConfig())]
    assert found == ["a.jsonl", "b/1.jsonl.gz", "b/2.csv"]
    both = input_files([tmp_path / "in" / "a.jsonl", tmp_path / "in" / "*.jsonl", tmp_path / "in"], CorpusConfig())
    assert [path.name for path in both] == ["a.jsonl", "1.jsonl.gz", "2.csv"]
    with pytest.raises(FileError, match="no file matches; check the pattern"):
        input_files([tmp_path / "*.tsv"], CorpusConfig())
    (tmp_path / "in" / "text.txt").write_text("A text.")
    with pytest.raises(FileError, match=r"holds both texts \(text\.txt\) and files of documents \(a\.jsonl\)"):
        input_files([tmp_path / "in"], CorpusConfig())


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("named", [True, False])
def test_labels_are_the_same_for_any_number_of_processes(tmp_path, model, named):
    source = write(tmp_path / "all.jsonl", 300, named=named)
    reports = [predict_file(model, source, tmp_path / f"{jobs}.jsonl", jobs=jobs) for jobs in (1, 2)]
    one, two = (tmp_path / "1.jsonl").read_bytes(), (tmp_path / "2.jsonl").read_bytes()
    assert one == two
    assert ids(tmp_path / "1.jsonl") == [f"d{n}" if named else str(n + 1) for n in range(300)]
    assert [(r.documents, r.without_labels, r.skipped) for r in reports] == [(300, reports[0].without_labels, 0)] * 2
    assert reports[0].labels == sum(len(json.loads(line)["labels"]) for line in one.splitlines())
    whole = [prediction.as_dict() for prediction in taxocaps.predict(model, source)]
    assert [json.loads(line) for line in one.splitlines()] == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.jsonl", "2.jsonl", "all.jsonl"]


@pytest.mark.usefixtures("small_shards")
def test_a_folder_of_shards_holds_what_one_file_does(tmp_path, model):
    for name, first in (("a.jsonl", 0), ("b.csv.gz", 200), ("c.parquet", 250)):
        write(tmp_path / "in" / name, 200 if not first else 50, first, named=False)
    taxocaps.predict(model, tmp_path / "in", output=tmp_path / "one.jsonl", jobs=1)
    taxocaps.predict(model, str(tmp_path / "in" / "*"), output=f"{tmp_path}/out.v2/", jobs=1)
    parts = sorted((tmp_path / "out.v2").glob("part-*.jsonl"))
    assert len(parts) > 4
    assert b"".join(path.read_bytes() for path in parts) == (tmp_path / "one.jsonl").read_bytes()
    assert ids(*parts) == [str(number) for number in range(1, 301)]
    before = contents(tmp_path / "out.v2")
    report = taxocaps.predict(model, tmp_path / "in", output=tmp_path / "out.v2", jobs=1)
    assert report.documents == 300
    assert contents(tmp_path / "out.v2") == before


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("named", [True, False])
def test_parquet_has_the_labels_of_jsonl_and_what_is_kept(tmp_path, model, named):
    import pyarrow.dataset
    import pyarrow.parquet

    source = tmp_path / "all.jsonl"
    with source.open("w") as file:
        for number, one in enumerate(documents(120, named=named)):
            date = None if number % 2 else {"year": number}
            record = {"text": one.text, "title": f"T{number}", "date": date}
            file.write(json.dumps(record | ({"id": one.id} if named else {})) + "\n")
    corpus = CorpusConfig(keep="title, date")
    for output in ("labels.jsonl", "labels.parquet"):
        predict_file(model, source, tmp_path / output, corpus=corpus, jobs=1)
    predict_file(model, source, tmp_path / "shards", corpus=corpus, jobs=1, format="parquet")
    lines = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    assert list(lines[0]) == ["id", "title", "date", "labels"]
    assert [line["date"] for line in lines[:2]] == [{"year": 0}, None]
    table = pyarrow.parquet.read_table(tmp_path / "labels.parquet")
    assert table.column_names == ["id", "labels", "scores", "title", "date"]
    assert table.equals(pyarrow.dataset.dataset(tmp_path / "shards").to_table())
    for row, line in zip(table.to_pylist(), lines, strict=True):
        assert row["id"] == line["id"]
        assert row["labels"] == [one["label"] for one in line["labels"]]
        assert row["scores"] == [one["score"] for one in line["labels"]]
        assert row["title"] == line["title"]
        assert json.loads(row["date"] or "null") == line["date"]


def test_fields_that_cannot_be_kept_are_refused(tmp_path, model):
    source = write(tmp_path / "all.csv", 5)
    with pytest.raises(CorpusError, match=r"no field 'title', which --keep names; the fields are: 'id', 'text'"):
        predict_file(model, source, tmp_path / "out.jsonl", corpus=CorpusConfig(keep="title"))
    with pytest.raises(ConfigError, match="--keep labels: the output has a field of that name"):
        predict_file(model, source, tmp_path / "out.jsonl", corpus=CorpusConfig(keep="labels"))
    encode(source, tmp_path / "store", model="SVM")
    with pytest.raises(ConfigError, match="a store has no fields to keep"):
        predict_file(model, tmp_path / "store", tmp_path / "out.jsonl", corpus=CorpusConfig(keep="title"))


def test_a_label_that_a_table_cannot_hold_is_told_without_the_hidden_file(tmp_path):
    rows = [{"text": f"{word} {number}", "labels": [f"{word};x"]} for word in ("cat", "tree") for number in range(10)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    train(tmp_path / "all.jsonl", tmp_path / "model", model="SVM")
    with pytest.raises(CorpusError, match=r"^the label '(cat|tree);x' has a ';', which separates those of CSV"):
        predict_file(tmp_path / "model", tmp_path / "all.jsonl", tmp_path / "out.csv", jobs=1)


@pytest.fixture
def broken(tmp_path):
    """Five shards, the third of which is cut off."""
    for number in range(5):
        write(tmp_path / "in" / f"{number}.jsonl.gz", 50, 50 * number)
    path = tmp_path / "in" / "2.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-30])
    return tmp_path / "in"


def test_a_broken_shard_leaves_the_others_finished(tmp_path, model, broken):
    message = r"2\.jsonl\.gz: the compressed file is cut off; .*; 4 shards are finished and kept"
    with pytest.raises(UnfinishedError, match=message):
        predict_file(model, broken, tmp_path / "out", jobs=1)
    assert sorted(visible(tmp_path / "out")) == ["part-000000.jsonl", "part-000001.jsonl"]
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("[p0-9]*.jsonl")}
    assert len(kept) == 4
    write(broken / "2.jsonl.gz", 50, 100)
    predict_file(model, broken, tmp_path / "out", jobs=1)
    predict_file(model, broken, tmp_path / "fresh", jobs=1)
    assert visible(tmp_path / "out") == visible(tmp_path / "fresh")
    assert (tmp_path / "out" / "part-000004.jsonl").stat().st_mtime_ns == kept["000004.jsonl"]


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("format", ["jsonl", "label-studio"])
def test_parts_of_a_longer_file_are_removed(tmp_path, model, format):
    parts = []
    for count in (4_000, 1_500):
        source = write(tmp_path / "all.jsonl", count)
        predict_file(model, source, tmp_path / "out", format=format, jobs=1)
        parts.append(len(visible(tmp_path / "out")))
    assert parts[1] < parts[0] / 2


def test_a_broken_shard_is_skipped_and_counted_when_asked(tmp_path, model, broken):
    corpus = CorpusConfig(on_error="skip")
    report = predict_file(model, broken, tmp_path / "out.jsonl", corpus=corpus, jobs=1)
    assert report.skipped == 1
    assert report.problems[0].endswith("2.jsonl.gz: the compressed file is cut off; copy or download it again")
    assert 200 <= report.documents < 250
    stored = encode(broken, tmp_path / "store", model="SVM", corpus__on_error="skip", jobs=1)
    assert (stored.documents, stored.skipped) == (report.documents, 1)


def test_a_broken_shard_stops_no_store_that_is_made_again(tmp_path, broken):
    with pytest.raises(UnfinishedError, match=r"2\.jsonl\.gz: .*4 shards are finished and kept, and the same command"):
        encode(broken, tmp_path / "store", model="SVM", jobs=1)
    assert not (tmp_path / "store").exists()
    write(broken / "2.jsonl.gz", 50, 100)
    for name in ("store", "fresh"):
        assert encode(broken, tmp_path / name, model="SVM", jobs=1).documents == 250
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")
    assert not (tmp_path / ".store.partial").exists()


def test_a_wrong_option_is_told_before_all_shards_fail(tmp_path, model):
    for number in range(30):
        write(tmp_path / "in" / f"{number:02d}.jsonl", 2)
    with pytest.raises(CorpusError, match=r"00\.jsonl, line 1: no field 'body'"):
        predict_file(model, tmp_path / "in", tmp_path / "out", corpus=CorpusConfig(text_field="body"), jobs=1)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_belongs_to_another_run_is_refused(tmp_path, model, other_model):
    source = write(tmp_path / "in" / "all.jsonl", 20)
    other = write(tmp_path / "other" / "all.jsonl", 20, first=500)
    out = tmp_path / "out"
    predict_file(model, source, out)
    before = contents(out)
    cases = {
        "labels of another model": (other_model, source, {}),
        "labels of other documents": (model, other, {}),
        r"labels of other options \(top_k=None, not 2\)": (model, source, {"options": DecisionOptions(top_k=2)}),
        r"labels of other options \(output-format=jsonl, not parquet\)": (model, source, {"format": "parquet"}),
    }
    for message, (by, given, options) in cases.items():
        with pytest.raises(FileError, match=f"out: has {message}; choose another --output, or give --overwrite"):
            predict_file(by, given, out, **options)
        assert contents(out) == before
    predict_file(model, other, out, overwrite=True)
    assert ids(*sorted(out.glob("part-*"))) == [f"d{number}" for number in range(500, 520)]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match=r"home: holds other things than labels \(thesis\.txt\)"):
        predict_file(model, source, tmp_path / "home", overwrite=True)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.txt"]


@pytest.mark.usefixtures("small_shards")
def test_a_part_that_was_lost_is_made_again(tmp_path, model):
    source = write(tmp_path / "all.jsonl", 200)
    predict_file(model, source, tmp_path / "out", jobs=1)
    whole = visible(tmp_path / "out")
    (tmp_path / "out" / "part-000001.jsonl").unlink()
    predict_file(model, source, tmp_path / "out", jobs=1)
    assert visible(tmp_path / "out") == whole


@pytest.mark.usefixtures("small_shards")
def test_input_that_changes_is_labelled_again_where_it_changed(tmp_path, model):
    source = write(tmp_path / "all.jsonl", 300, named=False)
    predict_file(model, source, tmp_path / "out", jobs=1)
    write(source, 100, named=False)
    predict_file(model, source, tmp_path / "out", jobs=1)
    predict_file(model, source, tmp_path / "fresh", jobs=1)
    assert visible(tmp_path / "out") == visible(tmp_path / "fresh")


def test_packed_labels_are_the_same_bytes_at_any_time(tmp_path, model):
    source = write(tmp_path / "all.jsonl", 20)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        predict_file(model, source, tmp_path / name / "labels.jsonl.gz")
        time.sleep(1.1 if name == "a" else 0)
    assert (tmp_path / "a" / "labels.jsonl.gz").read_bytes() == (tmp_path / "b" / "labels.jsonl.gz").read_bytes()
    assert len(gzip.decompress((tmp_path / "a" / "labels.jsonl.gz").read_bytes()).splitlines()) == 20


@pytest.mark.usefixtures("small_shards")
def test_a_store_is_the_same_for_any_number_of_processes(tmp_path):
    source = write(tmp_path / "all.jsonl", 300)
    for jobs in (1, 2):
        encode(source, tmp_path / str(jobs), model="HE-AGCRCNN", jobs=jobs)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_a_store_of_shards_is_that_of_the_whole(tmp_path, monkeypatch):
    source = write(tmp_path / "all.jsonl", 300)
    encode(source, tmp_path / "whole", model="HE-AGCRCNN")
    monkeypatch.setattr("taxocaps.corpus.shards.SHARD_BYTES", 4_000)
    encode(source, tmp_path / "shards", model="HE-AGCRCNN", jobs=1)
    whole, shards = contents(tmp_path / "whole"), contents(tmp_path / "shards")
    manifests = [json.loads(one.pop("manifest.json")) for one in (whole, shards)]
    assert whole == shards
    for manifest in manifests:
        manifest["hashes"].pop("source")
    assert manifests[0] == manifests[1]


@pytest.mark.usefixtures("small_shards")
def test_metrics_are_the_same_for_any_number_of_processes(tmp_path, model):
    source = write(tmp_path / "in" / "all.jsonl", 200)
    encode(source, tmp_path / "store", model="SVM", jobs=1)
    write(tmp_path / "in" / "more.csv", 30, first=200)
    one, two = (evaluate(model, tmp_path / "in", jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert evaluate(model, tmp_path / "store", jobs=1) == evaluate(model, source, jobs=1)


BULK = """
import sys
from pathlib import Path
from taxocaps.corpus import shards
shards.SHARD_BYTES = 20_000
from taxocaps.cli.main import main
if __name__ == "__main__":
    main(sys.argv[1:])
"""


def start(script, *arguments):
    command = [sys.executable, str(script), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def children(pid):
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in found.read_text().split()] if found.exists() else []


def workers(pid):
    found = []
    for child in children(pid):
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"popen_loky" in words:
            found.append(child)
    return found


KILLS = int(os.environ.get("TAXOCAPS_KILLS", "3"))
"""How often each victim is killed, at random moments."""


class Killed:
    """A command that is killed again and again, each time at a random moment, and then allowed to end."""

    def __init__(self, run, seed, seconds=3.0):
        self._run, self._random, self._seconds = run, random.Random(seed), seconds
        self.kills = 0

    def kill(self, victim):
        process = self._run()
        deadline = time.monotonic() + 60
        while not workers(process.pid) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(self._random.uniform(0, self._seconds))
        found = workers(process.pid)
        if process.poll() is None and found:
            os.kill(self._random.choice(found) if victim == "worker" else process.pid, signal.SIGKILL)
            self.kills += 1
        _, errors = process.communicate(timeout=120)
        if victim == "worker" and process.returncode:
            assert process.returncode == 2
            assert errors.splitlines()[-1].startswith("error: a process was killed"), errors
            assert "the same command continues from there" in errors.splitlines()[-1]

    def finish(self):
        process = self._run()
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find the processes")
@pytest.mark.parametrize(("command", "name"), [("predict", "labels.jsonl"), ("predict", "labels"), ("encode", "store")])
def test_kills_lose_nothing_and_double_nothing(tmp_path, model, command, name):
    source, script = write(tmp_path / "all.jsonl", 8_000, named=False), tmp_path / "bulk.py"
    script.write_text(BULK)
    # A run may be complete before it is killed: the next one then begins anew.
    given = (
        ["encode", source, "--model", "HE-AGCRCNN", "--overwrite"]
        if command == "encode"
        else ["predict", model, source]
    )
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    def run(place):
        place.mkdir(exist_ok=True)
        return start(script, *given, "-o", place / name, "-j", 2)

    begin = time.monotonic()
    Killed(lambda: run(whole), name).finish()
    commands = Killed(lambda: run(killed), name, (time.monotonic() - begin) / 2)  # how fast machines are differs
    for _ in range(KILLS):
        commands.kill("driver")
        commands.kill("worker")
    commands.finish()
    assert commands.kills
    assert visible(killed) == visible(whole)
    assert [path.name for path in killed.iterdir()] == [name]
    if command == "predict":
        paths = sorted(path for path in killed.rglob("*.jsonl") if ".run" not in path.parts)
        assert ids(*paths) == [str(number) for number in range(1, 8_001)]


@pytest.mark.slow
def test_a_full_disk_keeps_what_is_finished(tmp_path, model):
    mount = tmp_path / "small"
    mount.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", mount], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a tmpfs needs rights that this user does not have")
    try:
        source = write(tmp_path / "all.jsonl", 12_000)
        script = tmp_path / "bulk.py"
        script.write_text(BULK)
        arguments = ["predict", model, source, "-o", mount / "out", "-j", "2", "--quiet"]
        process = start(script, *arguments)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 2
        assert errors.startswith("error: ")
        assert "No space left on device" in errors
        assert errors.count("\n") == 1
        finished = {path.name: path.stat().st_mtime_ns for path in (mount / "out").glob("part-*")}
        assert finished
        subprocess.run(["mount", "-o", "remount,size=50m", mount], check=True)
        process = start(script, *arguments)
        assert process.communicate(timeout=120)[1] == ""
        assert process.returncode == 0
        after = {path.name: path.stat().st_mtime_ns for path in (mount / "out").glob("part-*")}
        assert finished.items() <= after.items()
        assert ids(*sorted((mount / "out").glob("part-*"))) == [f"d{number}" for number in range(12_000)]
    finally:
        subprocess.run(["umount", mount], check=True)
