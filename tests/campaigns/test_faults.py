"""Commands on a machine that fails: one line says why, nothing is lost or half done, and afterwards all is as usual."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest
from campaigns.campaign import run_rounds
from campaigns.machine import COMMANDS, Running, Trial, execute, run

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="limits and disks are those of Linux"),
]
SINGLE = [name for name in COMMANDS if "--jobs" not in name]
"""Commands that run in one process, which can be given limits."""
COLUMNS = {"tried": "tried", "refused": "refused in one line", "done": "done all the same", "lost": "lost"}
DISK = 64 * 2**20
NOWHERE = "/proc/nowhere"


@pytest.fixture
def trial(usually, tmp_path):
    """A command in a place of its own."""
    return lambda name, folder=tmp_path: Trial(name, usually.original, usually.contents, folder)


@pytest.fixture
def disk(tmp_path):
    """A small disk in memory, mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount disks, and not everywhere")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def check(trial, ended):
    """A command has either done its work or said in one line why not; given again, it does it."""
    if ended.code:
        ended.check_refused()
    else:
        assert trial.check_nothing_half()
    trial.check_again()
    return {"refused" if ended.code else "done": 1}


def test_a_disk_that_fills_up_at_any_write(trial, disk, campaign_options, tmp_path, capsys):
    def attempt(name, generator):
        tried = trial(name, disk)
        filler = disk / "filler"
        left = 4096 * int(1_000 ** generator.random())
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - left)
        ended = run(tried.command.words, tried.place, partial(_use_disk, str(disk)))
        tried.check_nothing_half()
        filler.unlink()
        return check(tried, ended)

    run_rounds("full disks", SINGLE, attempt, campaign_options, tmp_path, COLUMNS, capsys)


def test_files_that_may_not_grow(trial, campaign_options, tmp_path, capsys):
    def attempt(name, generator):
        tried = trial(name)
        most = int(200_000 ** generator.uniform(0.2, 1))
        return check(tried, run(tried.command.words, tried.place, partial(_limit, resource.RLIMIT_FSIZE, most)))

    run_rounds("limited files", SINGLE, attempt, campaign_options, tmp_path, COLUMNS, capsys)


def test_little_memory(trial, campaign_options, tmp_path, capsys):
    def attempt(name, generator):
        tried = trial(name)
        more = int(2**20 * 400 ** generator.random())
        return check(tried, run(tried.command.words, tried.place, partial(_limit_memory, more)))

    run_rounds("little memory", SINGLE, attempt, campaign_options, tmp_path, COLUMNS, capsys)


def test_few_open_files(trial, campaign_options, tmp_path, capsys):
    def attempt(name, generator):
        tried = trial(name)
        most = generator.randrange(5, 40)
        return check(tried, run(tried.command.words, tried.place, partial(_limit, resource.RLIMIT_NOFILE, most)))

    run_rounds("few open files", SINGLE, attempt, campaign_options, tmp_path, COLUMNS, capsys)


def test_a_clock_that_jumps(trial, usually, campaign_options, tmp_path, capsys):
    def attempt(name, generator):
        tried = trial(name)
        running = Running(tried.command.words, tried.place, partial(_jump, generator.randrange(99)))
        time.sleep(generator.uniform(0.5, 1) * usually.seconds[name])
        running.kill()
        running.end()
        for path in tried.place.rglob("*"):  # half of the work was done in another century
            os.utime(path, (4e9 * generator.random(),) * 2)
        tried.check_again(partial(run, prepare=partial(_jump, generator.randrange(99))))
        return {"done": 1}

    run_rounds("clock jumps", SINGLE, attempt, campaign_options, tmp_path, COLUMNS, capsys)


def test_two_writers_of_one_place(trial, campaign_options, tmp_path, capsys):
    def attempt(name, generator):
        tried = trial(name)
        both = [Running(tried.command.words, tried.place)]
        time.sleep(generator.uniform(0, 0.5))
        both.append(Running(tried.command.words, tried.place))
        ended = [one.end() for one in both]
        assert 0 in [one.code for one in ended], ended
        for one in ended:
            if one.code:
                one.check_refused()
        if name != "learn":  # the second one learns again from what the first one made
            assert tried.check_nothing_half()
        return {"refused": sum(bool(one.code) for one in ended), "done": sum(not one.code for one in ended)}

    run_rounds("two writers", SINGLE, attempt, campaign_options, tmp_path, COLUMNS, capsys)


@pytest.mark.parametrize("name", SINGLE)
def test_a_disk_that_cannot_be_written(trial, disk, name):
    tried = trial(name, disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    ended = run(tried.command.words, tried.place)
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    ended.check_refused()
    assert tried.command.content(tried.place) == tried.before
    tried.check_again()


@pytest.mark.parametrize("name", ["encode", "train, linear", "predict"])
def test_no_home_and_no_cache(trial, name):
    tried = trial(name)
    names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "TMPDIR")
    ended = execute(tried.command.words, tried.place, environment=dict.fromkeys(names, NOWHERE))
    assert ended.code == 0, ended.message
    assert tried.check_nothing_half()


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_streams_that_are_closed(trial, closed):
    tried = trial("predict")
    streams = dict.fromkeys(("stdin", "stdout", "stderr"))
    ended = execute(tried.command.words, tried.place, partial(_close, closed), **streams)
    assert ended.code == 0
    assert tried.check_nothing_half()


def test_a_reader_who_leaves(trial):
    tried = trial("predict")
    reading, writing = os.pipe()
    os.close(reading)
    words = ["predict", "linear", "docs", "--jobs", "1"]
    ended = execute(words, tried.place, stdout=writing)
    os.close(writing)
    assert "Traceback" not in ended.message, ended.message
    assert ended.code in (0, 2, 128 + signal.SIGPIPE, -signal.SIGPIPE), ended


def test_a_standard_output_that_is_full(trial):
    tried = trial("predict")
    with Path("/dev/full").open("wb") as full:
        ended = execute(["predict", "linear", "docs", "--jobs", "1"], tried.place, stdout=full)
    ended.check_refused()


def _use_disk(folder):
    """Temporary files go to the disk, too."""
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None


def _limit(kind, most):
    resource.setrlimit(kind, (most, most))


def _limit_memory(more):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _limit(resource.RLIMIT_AS, used + more)


def _jump(seed):
    """Let the clock jump by years, now and then."""
    generator, clock = random.Random(seed), time.time
    state = {"shift": 0.0}

    def jumping():
        if generator.random() < 0.1:
            state["shift"] = generator.uniform(-1e9, 1e9)
        return clock() + state["shift"]

    time.time = jumping


def _close(numbers):
    for number in numbers:
        os.close(number)
