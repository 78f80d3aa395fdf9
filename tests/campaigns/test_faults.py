"""Commands on a machine that fails: no space, no memory, no home, nobody who listens, kills; nothing is lost.

Whatever happens, a command ends with one line, writes all or nothing, and the same command afterwards writes the same
bytes as if nothing had happened.
"""

import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

from taxocaps.corpus.writers import write_documents
from taxocaps.taxonomy.writers import write_taxonomy

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux"),
]
COMMANDS = {
    "encode": ("store", ["encode", "docs.jsonl", "--out", "store", "--jobs", "2"]),
    "train": (
        "new",
        ["train", "docs.jsonl", "taxonomy.tsv", "--model", "SVM", "--out", "new"],
    ),
    "predict": ("labels.jsonl", ["predict", "model", "docs.jsonl", "--output", "labels.jsonl", "--jobs", "2"]),
}
CHANGING = ("report.html", "README.md", "metrics.json", "manifest.json", "versions.json", "config.yaml", "run.json")
"""Files that tell when, how long and where."""


@pytest.fixture(scope="module")
def place(tmp_path_factory, toys, toy_model):
    """A folder with documents, a taxonomy and a model, and what each command makes of them."""
    folder = tmp_path_factory.mktemp("place")
    documents = [document for _ in range(40) for document in toys.documents]
    write_documents(documents, folder / "docs.jsonl")
    write_taxonomy(toys.classes.taxonomy, folder / "taxonomy.tsv")
    shutil.copytree(toy_model, folder / "model")
    expected = {}
    for name, (out, words) in COMMANDS.items():
        done = run(words, folder)
        assert done.returncode == 0, done.stderr
        expected[name] = content(folder / out)
        remove(folder / out)
    return folder, expected


def run(words, folder, prepare=None, **options):
    """Run a command; what it says is bytes."""
    with start(words, folder, prepare, **options) as process:
        try:
            out, err = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, (err or b"").decode("utf-8", "replace"))


def start(words, folder, prepare=None, environment=None, **options):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(
        [sys.executable, "-m", "taxocaps", *words],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", **(environment or {})},
        preexec_fn=prepare,  # noqa: PLW1509 - limits are set, nothing else
        start_new_session=True,
        **{**streams, **options},
    )


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def content(path):
    """Hashes of all that does not tell when and how long."""
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return {
        str(one.relative_to(path.parent)): hashlib.sha256(one.read_bytes()).hexdigest()
        for one in files
        if one.name not in CHANGING and not any(part.startswith(".") for part in one.relative_to(path.parent).parts)
    }


def check_refused(done):
    assert done.returncode == 2, (done.returncode, done.stderr[-2_000:])
    assert "Traceback" not in done.stderr
    assert "error: " in done.stderr


def check_whole(place, name):
    """The same command again writes what it always writes."""
    folder, expected = place
    out, words = COMMANDS[name]
    done = run(words, folder)
    assert done.returncode == 0, done.stderr
    assert content(folder / out) == expected[name]
    remove(folder / out)


def rounds(options, short):
    """Seeds of attempts: a few, or as many as there is time for."""
    end, number = time.monotonic() + 60 * options.minutes, 0
    while number < short or time.monotonic() < end:
        yield random.Random(f"{options.seed} {number}")
        number += 1


@pytest.mark.parametrize("name", COMMANDS)
def test_kills_at_any_moment(place, campaign_options, name):
    folder, _ = place
    out, words = COMMANDS[name]
    begin = time.monotonic()
    check_whole(place, name)
    usual = time.monotonic() - begin
    for generator in rounds(campaign_options, 2):
        with start(words, folder) as process:
            time.sleep(generator.uniform(0.1, 1.1) * usual)
            os.killpg(process.pid, generator.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            process.communicate(timeout=240)
        if (folder / out).exists() and name == "encode":
            remove(folder / out)  # it was complete: `encode` does not write over it
        check_whole(place, name)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_space_left(place, campaign_options, name):
    """A file may not grow beyond a limit, as on a disk that is full: each write fails in turn."""
    folder, _ = place
    out, words = COMMANDS[name]
    for generator in rounds(campaign_options, 2):
        most = int(10 ** generator.uniform(1, 4.5))

        def limit(most=most):
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        done = run(words, folder, limit)
        if done.returncode:
            check_refused(done)
        elif name == "encode":
            remove(folder / out)
        check_whole(place, name)


@pytest.mark.parametrize("name", COMMANDS)
def test_places_that_cannot_be_written(place, name):
    folder, _ = place
    out, words = COMMANDS[name]
    check_refused(run([word if word != out else f"/proc/nowhere/{out}" for word in words], folder))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_home_and_no_cache(place, name):
    folder, expected = place
    out, words = COMMANDS[name]
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR"), "/proc/nowhere")
    done = run(words, folder, environment=nowhere)
    assert done.returncode == 0, done.stderr
    assert content(folder / out) == expected[name]
    remove(folder / out)


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2), (0, 1, 2)])
def test_nobody_listens(place, closed):
    folder, expected = place
    out, words = COMMANDS["predict"]

    def close():
        for number in closed:
            os.close(number)

    done = run(words, folder, close)
    assert done.returncode == 0, done.stderr
    assert content(folder / out) == expected["predict"]
    remove(folder / out)


def test_a_pipe_that_is_closed_ends_a_stream(place):
    folder, _ = place
    with start(["predict", "model", "docs.jsonl", "--json"], folder) as process:
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
        process.wait(timeout=240)
    assert "Traceback" not in said


@pytest.mark.parametrize("limit", [(resource.RLIMIT_NOFILE, 12), (resource.RLIMIT_NOFILE, 40)])
def test_few_files(place, limit):
    folder, expected = place
    out, words = COMMANDS["predict"]
    done = run(words, folder, lambda: resource.setrlimit(limit[0], (limit[1], limit[1])))
    if done.returncode:
        check_refused(done)
        check_whole(place, "predict")
    else:
        assert content(folder / out) == expected["predict"]
        remove(folder / out)


def test_two_writers_of_one_folder(place):
    folder, expected = place
    for name, (out, words) in COMMANDS.items():
        with start(words, folder) as first, start(words, folder) as second:
            said = [process.communicate(timeout=240)[1].decode() for process in (first, second)]
        assert 0 in (first.returncode, second.returncode), said
        for process, message in zip((first, second), said, strict=True):
            assert process.returncode in (0, 2), (name, message)
            assert "Traceback" not in message
        assert content(folder / out) == expected[name]
        remove(folder / out)


def test_the_hidden_folders_of_work_are_gone(place):
    folder, _ = place
    assert not [one.name for one in folder.iterdir() if one.name.startswith(".")]
