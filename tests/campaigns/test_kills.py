"""Kills at random moments: nothing is lost or half done, and the same command afterwards comes to the same result."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from campaigns.campaign import run_rounds
from campaigns.machine import COMMANDS, LONGEST, Running, Trial

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux lists them"),
]
SERVER = "server, feedback store"
SERVER_KILLS = 10
"""Kills of a server before what it acknowledged is compared with what it stored."""
COLUMNS = {"killed": "kills", "worker": "of a worker only", "ended": "ended before", "lost": "lost"}


def test_kills_at_random_moments(usually, campaign_options, tmp_path, capsys):
    def attempt(kind, generator):
        if kind == SERVER:
            return kill_servers(generator.randrange(2**31))
        trial = Trial(kind, usually.original, usually.contents, tmp_path)
        words, found = trial.command.words, Counter()
        while True:
            found.update(kill(words, trial, generator, usually.seconds[kind]))
            if trial.check_nothing_half() or generator.random() < 0.25:
                break
            words = trial.command.again or words
        trial.check_again()
        return found

    run_rounds("kills", [*COMMANDS, SERVER], attempt, campaign_options, tmp_path, COLUMNS, capsys)


def kill(words, trial, generator, seconds):
    """Kill a command, or one of the processes that work for it, at a random moment."""
    running = Running(words, trial.place)
    time.sleep(generator.uniform(0, 1.1 * seconds))
    workers = running.processes()
    if workers and generator.random() < 0.5:
        os.kill(generator.choice(workers), signal.SIGKILL)
        ended = running.end()
        if ended.code == 0:  # its work was done before
            return {"ended": 1}
        ended.check_refused()
        return {"killed": 1, "worker": 1}
    running.kill()
    return {"killed" if running.end().code == -signal.SIGKILL else "ended": 1}


def kill_servers(seed):
    """Kill a server while reviewers work: what it acknowledged is stored, once."""
    script = Path(__file__).parents[2] / "benchmarks" / "feedback_kills.py"
    command = [sys.executable, script, "--kills", str(SERVER_KILLS), "--seed", str(seed), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3_000:]
    assert json.loads(done.stdout)["acknowledged"] > 0
    return {"killed": SERVER_KILLS}
