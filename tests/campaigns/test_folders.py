"""Mutated model folders and stores: each gives labels, or one line that says why not; none crashes or hangs.

The short form tries a few of each kind. `make campaign` tries as many as its time allows, and continues where an
earlier campaign with the same seed stopped.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from campaigns.mutations import mutate

from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.encoding.encoders import TokensConfig
from taxocaps.encoding.store import write_store
from taxocaps.graph.config import GraphConfig
from taxocaps.scorers.persistence import save_model
from taxocaps.text.pipeline import TextConfig

pytestmark = [pytest.mark.campaign, pytest.mark.slow]

LINEAR = {"scorer": "linear", "bag": {"min_documents": 1}}
MODELS = {
    "linear": LINEAR,
    "joined": {"scorer": "joined", "members": {"words": LINEAR, "pairs": {**LINEAR, "bag": {"features": "pairs"}}}},
    "network": {},
}
SHORT = 60
"""Mutations of each kind in the short form."""
BAD = ("lost", "hung", "crashed")


@pytest.fixture(scope="module")
def originals(fit, toys, tmp_path_factory):
    """Small folders of each kind: what is tried, and how."""
    folder = tmp_path_factory.mktemp("originals")
    for name, options in MODELS.items():
        (folder / name).mkdir()
        save_model(fit(options), folder / name)
    encoder = DocumentEncoder(TextConfig(), {"words-matrix": GraphConfig(), "tokens": TokensConfig()})
    (folder / "store").mkdir()
    write_store(toys.documents, encoder, folder / "store", cache=folder / "cache")
    return {**{name: ("model", folder / name) for name in MODELS}, "store": ("store", folder / "store")}


class Victim:
    """A process that tries folders; see `victim.py`."""

    def __init__(self, originals):
        command = [sys.executable, str(Path(__file__).with_name("victim.py"))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment)
        self.expected = {name: self.ask(kind, folder, warm=True) for name, (kind, folder) in originals.items()}
        assert {found["outcome"] for found in self.expected.values()} == {"answer"}

    def ask(self, kind, folder, **options):
        self.process.stdin.write(json.dumps({"kind": kind, "folder": str(folder), **options}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Campaign:
    """Mutations by number, shared out to threads that each have a victim; counts are kept in a file."""

    def __init__(self, originals, seed, file):
        self.originals, self.seed, self.file = originals, seed, file
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.next = kept.get("next", 0)
        self.counts = {name: Counter(kept.get("counts", {}).get(name, {})) for name in originals}
        self.failures = kept.get("failures", [])
        self._lock = threading.Lock()

    def run(self, folder, victims, is_over):
        """Try mutations until it is time to end."""
        errors = queue.SimpleQueue()

        def work(index):
            try:
                self._work(folder / str(index), is_over)
            except BaseException as error:
                errors.put(error)

        threads = [threading.Thread(target=work, args=(index,)) for index in range(victims)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._keep()
        if not errors.empty():
            raise errors.get()

    def _work(self, folder, is_over):
        victim = Victim(self.originals)
        names = list(self.originals)
        try:
            while not is_over(self.next):
                with self._lock:
                    number = self.next
                    self.next += 1
                name = names[number % len(names)]
                kind, original = self.originals[name]
                told = mutate(original, folder / "mutant", self.seed, number)
                self._count(name, number, told, victim.ask(kind, folder / "mutant"), victim.expected[name])
        finally:
            victim.end()

    def _count(self, name, number, told, found, expected):
        outcome = found["outcome"]
        if outcome == "answer":
            outcome = "same" if found["message"] == expected["message"] else "other"
        with self._lock:
            self.counts[name][outcome] += 1
            if outcome in BAD:
                self.failures.append(
                    f"{name}, seed {self.seed}, number {number}: {told}: {outcome}: {found['message']}"
                )
            if number % 500 == 0:
                self._keep()

    def _keep(self):
        counts = {name: dict(found) for name, found in self.counts.items()}
        kept = {"next": self.next, "counts": counts, "failures": self.failures}
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(kept), encoding="utf-8")
        part.replace(self.file)

    def table(self):
        """The counts in Markdown."""
        lines = ["| what | tried | refused in one line | same answer | another answer | lost | hung | crashed |"]
        lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
        total = sum(self.counts.values(), Counter())
        for name, found in {**self.counts, "all": total}.items():
            numbers = [found.total(), *(found[key] for key in ("refused", "same", "other", *BAD))]
            lines.append(f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |")
        return "\n".join(lines)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are those of Linux")
def test_mutated_folders_give_labels_or_one_line(originals, campaign_options, tmp_path, capsys):
    options = campaign_options
    campaign = Campaign(originals, options.seed, options.folder(tmp_path) / f"folders-{options.seed}.json")
    end = time.monotonic() + 60 * options.minutes
    most = len(originals) * SHORT

    def is_over(number):
        return time.monotonic() > end if options.minutes else number >= most

    campaign.run(tmp_path, options.jobs, is_over)
    with capsys.disabled():
        if options.minutes:
            print(f"\n\nmutated folders, seed {options.seed}:\n\n{campaign.table()}\n")  # noqa: T201
    assert not campaign.failures, "\n\n".join(campaign.failures[:20])
