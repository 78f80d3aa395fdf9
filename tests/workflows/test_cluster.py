"""Work on a Ray cluster: the same files as on one machine, whatever dies; and URLs."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import taxocaps
from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import ConfigError, CorpusError, FileError, UnfinishedError
from taxocaps.workflows.bulk import Engine
from taxocaps.workflows.cluster import pack, unpack
from taxocaps.workflows.encode import encode
from taxocaps.workflows.evaluate import evaluate
from taxocaps.workflows.predict import predict_file

WORDS = ["striker", "club", "goal", "comet", "planet", "star", "telescope", "match", "league", "orbit", "season"]
ROOT = Path(__file__).parents[2]
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra `ray`")
# A node that does not answer for a quarter of a minute counts as dead, which on a busy machine it may not be.
PATIENCE = {"health_check_timeout_ms": 60_000, "health_check_failure_threshold": 20}


@pytest.fixture(scope="module")
def model(tmp_path_factory, toy_files):
    folder = tmp_path_factory.mktemp("svm") / "model"
    taxocaps.train(toy_files.documents, folder, taxonomy=toy_files.taxonomy, model="SVM", bag__min_documents=1)
    return folder


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two nodes on this machine, which all tests share: a start takes a quarter of a minute."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 2, "include_dashboard": False, "_system_config": PATIENCE}
    found = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    patiently(lambda: found.add_node(num_cpus=1))
    ray.init(address=found.address, log_to_driver=False, logging_level="ERROR")
    yield found
    ray.shutdown()
    found.shutdown()


def patiently(start):
    """Try a start three times: Ray waits half a minute for a node, which is too short on a busy machine."""
    for _ in range(2):
        try:
            return start()
        except Exception as error:
            assert "timed out" in str(error)
    return start()


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr("taxocaps.corpus.shards.SHARD_BYTES", 4_000)


def write(path, count, named=True):
    generator = random.Random(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    labels = [("football",) if number % 3 else ("astronomy",) for number in range(count)]
    texts = (" ".join(generator.choices(WORDS, k=12)) for _ in range(count))
    write_documents(
        (
            Document(text, f"d{n}" if named else None, label)
            for n, (text, label) in enumerate(zip(texts, labels, strict=True))
        ),
        path,
    )
    return path


def visible(folder):
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def workers():
    """The processes of actors of this package."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::_Worker"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@needs_ray
@pytest.mark.slow
@pytest.mark.usefixtures("cluster", "small_shards")
@pytest.mark.parametrize("name", ["labels.jsonl", "labels.parquet", "labels"])
def test_labels_are_the_same_bytes_as_of_processes(tmp_path, model, name):
    source = write(tmp_path / "all.jsonl", 300, named=False)
    for place, options in {"one": {"jobs": 1}, "ray": {"engine": "ray"}}.items():
        (tmp_path / place).mkdir()
        report = taxocaps.predict(model, source, output=tmp_path / place / name, **options)
        assert report.documents == 300
    assert visible(tmp_path / "ray") == visible(tmp_path / "one")
    if name == "labels":  # the same command again finds that nothing is left to do, and so do processes
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "ray" / name).glob("part-*")}
        taxocaps.predict(model, source, output=tmp_path / "ray" / name, engine="ray")
        taxocaps.predict(model, source, output=tmp_path / "ray" / name, jobs=2)
        assert {path: path.stat().st_mtime_ns for path in (tmp_path / "ray" / name).glob("part-*")} == before


@needs_ray
@pytest.mark.slow
@pytest.mark.usefixtures("cluster", "small_shards")
def test_stores_and_metrics_are_the_same(tmp_path, model):
    source = write(tmp_path / "all.jsonl", 200)
    for place, options in {"one": {"jobs": 1}, "ray": {"engine": "ray"}}.items():
        encode(source, tmp_path / place, model="HE-AGCRCNN", **options)
    assert visible(tmp_path / "ray") == visible(tmp_path / "one")
    assert evaluate(model, source, engine="ray", jobs=2) == evaluate(model, source, jobs=1)


@needs_ray
@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_actors_share_a_search_and_one_that_dies_costs_no_trial(tmp_path, monkeypatch):
    write(tmp_path / "train.jsonl", 60)
    monkeypatch.chdir(tmp_path)  # actors have another folder
    killed = []

    def kill(stage, done, total=None, note=""):
        if stage == "trials" and not killed:
            killed.append(workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    options = {"model": "SVM", "bag__min_documents": 1, "space": ["linear.C=0.01..10"]}
    found = taxocaps.tune("train.jsonl", "search", trials=16, engine="ray", jobs=2, progress=kill, **options)
    assert killed
    assert len(found.trials) == 16
    assert all(one.state in ("complete", "pruned") for one in found.trials)
    assert found.given == found.trials[0]
    alone = taxocaps.tune("train.jsonl", "alone", trials=1, **options)
    assert alone.best.score == found.given.score


@needs_ray
@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_broken_file_is_named_and_the_others_are_finished(tmp_path, model):
    for number in range(4):
        write(tmp_path / "in" / f"{number}.jsonl", 20)
    (tmp_path / "in" / "2.jsonl").write_text('{"text": "goal"}\nbroken\n')
    with pytest.raises(UnfinishedError, match=r"2\.jsonl, line 2: .*3 shards are finished"):
        predict_file(model, tmp_path / "in", tmp_path / "out", engine="ray", jobs=2)
    from taxocaps.corpus.readers import CorpusConfig

    skipping = CorpusConfig(on_error="skip")
    report = predict_file(model, tmp_path / "in", tmp_path / "again", corpus=skipping, engine="ray", jobs=2)
    assert (report.documents, report.skipped) == (61, 1)


@needs_ray
@pytest.mark.slow
@pytest.mark.usefixtures("cluster", "small_shards")
def test_what_actors_refuse_is_told_in_one_line(tmp_path, model):
    source = write(tmp_path / "all.jsonl", 200)
    with pytest.raises(ConfigError, match=r"has \d cores, too few for 64 actors .* fewer --jobs"):
        predict_file(model, source, tmp_path / "out.jsonl", engine="ray", jobs=64)
    from taxocaps.corpus.readers import CorpusConfig

    with pytest.raises(CorpusError, match="'body'"):
        predict_file(
            model, source, tmp_path / "out.jsonl", corpus=CorpusConfig(text_field="body"), engine="ray", jobs=2
        )


@needs_ray
@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray Data warns of its own options
def test_the_example_labels_parquet_as_predict_does(tmp_path, model):
    import pyarrow.parquet

    source = write(tmp_path / "all.parquet", 300)
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import ray_pipeline
    finally:
        sys.path.pop(0)
    ray_pipeline.main(str(model), str(source), str(tmp_path / "out"))
    predict_file(model, source, tmp_path / "plain.parquet", jobs=1)
    found, plain = pyarrow.parquet.read_table(tmp_path / "out"), pyarrow.parquet.read_table(tmp_path / "plain.parquet")
    by_id = {row["id"]: (row["labels"], row["scores"]) for row in found.to_pylist()}
    assert by_id == {row["id"]: (row["labels"], row["scores"]) for row in plain.to_pylist()}
    with pytest.raises(SystemExit, match="8 actors need 9"):
        ray_pipeline.main(str(model), str(source), str(tmp_path / "more"), 8)


# The last one on the cluster: Ray goes on giving work to a node that was killed until it misses its heartbeats.
@needs_ray
@pytest.mark.slow
@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("victim", ["actor", "node"])
def test_what_dies_is_made_again(tmp_path, model, cluster, victim):
    source = write(tmp_path / "all.jsonl", 600)
    predict_file(model, source, tmp_path / "whole.jsonl", jobs=1)
    node = patiently(lambda: cluster.add_node(num_cpus=2)) if victim == "node" else None
    killed = []

    def kill(stage, done, total=None, note=""):
        if not killed and done:
            killed.append(victim)
            if node is not None:
                cluster.remove_node(node, allow_graceful=False)
            else:
                for process in workers()[:2]:
                    os.kill(process, signal.SIGKILL)

    predict_file(model, source, tmp_path / "killed.jsonl", engine="ray", progress=kill)
    assert killed
    assert (tmp_path / "killed.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_batches_of_columns_get_labels(model):
    labeller = taxocaps.BatchLabeller(model, text="body", top_k=1)
    found = labeller({"body": ["the striker scored a goal", None], "n": [1, 2]})
    assert found["n"] == [1, 2]
    assert [len(labels) for labels in found["labels"]] == [1, 0]
    assert [len(scores) for scores in found["scores"]] == [1, 0]
    with pytest.raises(CorpusError, match="no column 'body'; there are text"):
        labeller({"text": []})


@pytest.mark.slow
def test_processes_never_load_ray(tmp_path, model):
    source = write(tmp_path / "all.jsonl", 10)
    code = (
        "import sys, taxocaps; "
        f"taxocaps.predict({str(model)!r}, {str(source)!r}, output={str(tmp_path / 'o.jsonl')!r}, jobs=1); "
        "print([name for name in ('ray', 'fsspec', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_options_of_engines_are_refused_elsewhere():
    with pytest.raises(ConfigError, match="--address is that of a Ray cluster"):
        Engine(address="auto")
    with pytest.raises(ConfigError, match="processes, ray; got 'spark'"):
        Engine("spark")
    with pytest.raises(ConfigError, match="--jobs must be at least 1"):
        Engine(jobs=0)


def test_folders_travel_as_bytes(tmp_path):
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "deep" / "x").write_text("1")
    (tmp_path / "a" / "y").write_text("2")
    (tmp_path / "b" / "deep").mkdir(parents=True)
    (tmp_path / "b" / "deep" / "old").write_text("0")
    unpack(pack(tmp_path / "a"), tmp_path / "b")
    assert visible(tmp_path / "b") == {"deep/x": b"1", "y": b"2"}
    assert not (tmp_path / "b" / ".incoming").exists()


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("name", ["labels.jsonl", "labels/"])
def test_urls_are_read_and_written(tmp_path, here, model, name):
    for number in range(3):
        write(tmp_path / "in" / f"{number}.jsonl.gz", 20 + number)
    local = predict_file(model, tmp_path / "in", str(tmp_path / "local" / name), jobs=1)
    for pattern, target in {"in": "a", "in/*.jsonl.gz": "b"}.items():
        found = predict_file(model, f"file://{tmp_path}/{pattern}", f"file://{tmp_path}/{target}/{name}", jobs=1)
        assert found.documents == local.documents == 63
        assert visible(tmp_path / target) == visible(tmp_path / "local")
    assert list(here.iterdir()) == []
    with pytest.raises(FileError, match="exists already"):
        predict_file(model, f"file://{tmp_path}/in", f"file://{tmp_path}/a/{name}", jobs=1)
    evaluated = evaluate(model, f"file://{tmp_path}/in/*", jobs=1)
    assert evaluated == evaluate(model, tmp_path / "in", jobs=1)


def test_parts_of_an_earlier_result_at_a_url_are_removed(tmp_path, here, model):
    for number in range(3):
        write(tmp_path / "in" / f"{number}.jsonl.gz", 20)
    predict_file(model, tmp_path / "in", f"file://{tmp_path}/out/", jobs=1)
    (tmp_path / "out" / "notes.txt").write_text("of someone else")
    for number in (1, 2):
        (tmp_path / "in" / f"{number}.jsonl.gz").unlink()
    predict_file(model, tmp_path / "in", f"file://{tmp_path}/out/", jobs=1, overwrite=True)
    assert sorted(path.name for path in (tmp_path / "out").glob("[!.]*")) == ["notes.txt", "part-000000.jsonl"]


def test_an_interrupted_upload_continues(tmp_path, here, model, monkeypatch):
    source = write(tmp_path / "all.jsonl", 20)
    url = f"file://{tmp_path}/out/labels.jsonl"
    (tmp_path / "out").write_text("a file in the way")
    from taxocaps.errors import WriteError

    with pytest.raises(WriteError, match="give the same command again"):
        predict_file(model, source, url, jobs=1)
    assert list(here.iterdir())
    (tmp_path / "out").unlink()
    predict_file(model, source, url, jobs=1)
    assert len((tmp_path / "out" / "labels.jsonl").read_text().splitlines()) == 20
    assert list(here.iterdir()) == []


def test_urls_that_cannot_be_read_are_named(tmp_path, model):
    write(tmp_path / "in" / "a.jsonl", 3)
    for given, message in {
        f"file://{tmp_path}/nothing.jsonl": "nothing.jsonl: cannot be read: no file is there",
        f"file://{tmp_path}/in/*.csv": "no file is there",
        "nonsense://bucket/a.jsonl": "nonsense://bucket/a.jsonl: cannot be read",
    }.items():
        with pytest.raises(FileError, match=message.replace("*", r"\*")):
            predict_file(model, given, tmp_path / "out.jsonl", jobs=1)
    with pytest.raises(FileError, match="paths or URLs, not both"):
        predict_file(model, [f"file://{tmp_path}/in", tmp_path / "in"], tmp_path / "out.jsonl")
    with pytest.raises(ConfigError, match="give --output"):
        list(taxocaps.predict(model, f"file://{tmp_path}/in"))


def test_a_broken_file_at_a_url_is_named_by_it(tmp_path, model):
    write(tmp_path / "in" / "a.jsonl", 3)
    (tmp_path / "in" / "b.jsonl").write_text("broken\n")
    with pytest.raises(UnfinishedError, match=f"file://{tmp_path}/in/b.jsonl, line 1"):
        predict_file(model, f"file://{tmp_path}/in", tmp_path / "out", jobs=1)
    records = [json.loads(line) for line in (tmp_path / "out" / "part-000000.jsonl").read_text().splitlines()]
    assert len(records) == 3
