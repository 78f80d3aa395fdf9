"""Campaigns: mutations of files and folders, each tried in a process that may crash; counts that can be continued."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

BAD = ("lost", "hung", "crashed")
BLOCK = 200
"""Mutations that a victim tries before counts are kept."""


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
        (found,) = self._answers({"kind": kind, "path": str(path), **request}, 1)
        return found

    def ask_about(self, numbers, **request):
        """What becomes of each of a range of mutations."""
        return self._answers({"numbers": [numbers.start, numbers.stop], **request}, len(numbers))

    def _answers(self, request, count):
        self.process.stdin.write(json.dumps(request, default=str) + "\n")
        self.process.stdin.flush()
        return [json.loads(self.process.stdout.readline()) for _ in range(count)]

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Campaign:
    """Mutations by number, shared out to threads that each have a victim; counts are kept in a file.

    Numbers that were shared out when a campaign was ended are left out when it goes on.
    """

    def __init__(self, originals, seed, file, mutate):
        self.originals, self.seed, self.file, self.mutate = originals, seed, file, mutate
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.next = kept.get("next", 0)
        self.counts = {name: Counter(kept.get("counts", {}).get(name, {})) for name in originals}
        self.failures = kept.get("failures", [])
        self._lock = threading.Lock()

    def run(self, folder, victims, take):
        """Try mutations as long as `take(next)` gives numbers to try."""
        errors = queue.SimpleQueue()

        def work(index):
            try:
                self._work(folder / str(index), take)
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

    def _work(self, folder, take):
        victim = Victim(self.originals)
        names, request = list(self.originals), {"originals": self.originals, "seed": self.seed, "place": folder}
        try:
            while numbers := self._take(take):
                found = victim.ask_about(numbers, mutate=self.mutate.__name__, **request)
                with self._lock:
                    for number, one in zip(numbers, found, strict=True):
                        name = names[number % len(names)]
                        self._count(name, number, one, victim.expected[name]["message"])
                    self._keep()
        finally:
            victim.end()

    def _take(self, take):
        with self._lock:
            numbers = take(self.next)
            self.next += len(numbers)
        return numbers

    def _count(self, name, number, found, expected):
        outcome = found["outcome"]
        if outcome == "answer":
            outcome = "same" if found["message"] == expected else "other"
        self.counts[name][outcome] += 1
        if outcome in BAD:
            with tempfile.TemporaryDirectory() as place:
                told, _ = self.mutate(self.originals[name][1], Path(place), self.seed, number)
            self.failures.append(f"{name}, seed {self.seed}, number {number}: {told}: {outcome}: {found['message']}")

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

    def take(first):
        if not options.minutes:
            return range(first, max(first, len(originals) * short))
        return range(first, first + BLOCK if time.monotonic() < end else first)

    campaign.run(folder, options.jobs, take)
    with capsys.disabled():
        if options.minutes:
            print(f"\n\n{what}, seed {options.seed}:\n\n{campaign.table()}\n")  # noqa: T201
    assert not campaign.failures, "\n\n".join(campaign.failures[:20])
