"""Campaigns: mutations of files and folders, each tried in a process that may crash; counts that can be continued."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

BAD = ("lost", "hung", "crashed")


class Victim:
    """A process that tries files and folders; see `victim.py`."""

    def __init__(self, originals=None):
        command = [sys.executable, str(Path(__file__).with_name("victim.py"))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment)
        self.expected = {name: self.ask(kind, path, warm=True) for name, (kind, path) in (originals or {}).items()}
        wrong = [(name, found) for name, found in self.expected.items() if found["outcome"] != "answer"]
        assert not wrong, wrong

    def ask(self, kind, path, **request):
        """What becomes of a file or folder; `options` go to its reader, `seconds` and `memory` are limits."""
        self.process.stdin.write(json.dumps({"kind": kind, "path": str(path), **request}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Campaign:
    """Mutations by number, shared out to threads that each have a victim; counts are kept in a file."""

    def __init__(self, originals, seed, file, mutate):
        self.originals, self.seed, self.file, self.mutate = originals, seed, file, mutate
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
                told, mutant = self.mutate(original, folder, self.seed, number)
                self._count(name, number, told, victim.ask(kind, mutant), victim.expected[name])
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


def run(what, originals, mutate, options, folder, short, capsys):
    """Run a campaign of so many minutes or, without them, `short` mutations of each kind; none may end badly."""
    name = what.replace(" ", "-")
    campaign = Campaign(originals, options.seed, options.folder(folder) / f"{name}-{options.seed}.json", mutate)
    end = time.monotonic() + 60 * options.minutes

    def is_over(number):
        return time.monotonic() > end if options.minutes else number >= len(originals) * short

    campaign.run(folder, options.jobs, is_over)
    with capsys.disabled():
        if options.minutes:
            print(f"\n\n{what}, seed {options.seed}:\n\n{campaign.table()}\n")  # noqa: T201
    assert not campaign.failures, "\n\n".join(campaign.failures[:20])
