"""Campaigns: mutations, tried in processes that may crash, and faults, tried in turn; counts that can be continued."""

import json
import os
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

BAD = ("lost", "hung", "crashed")
BLOCK = 200
"""Mutations that a victim tries before counts are kept."""


class Victim:
    """A process that tries files and folders; see `victim.py`."""

    def __init__(self, originals=None):
        command = [sys.executable, "-m", "campaigns.victim"]
        places = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(places),
            "OMP_NUM_THREADS": "1",
            "NUMBA_NUM_THREADS": "1",
        }
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


class Tally:
    """Counts that are kept in a file, by which a campaign can be continued.

    Attributes:
        next: The number of the next attempt.
        counts: How often each kind of thing has come to each end.
        failures: What went wrong, in words.
    """

    def __init__(self, file):
        self._file = file
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.next = kept.get("next", 0)
        self.counts = defaultdict(Counter, {name: Counter(found) for name, found in kept.get("counts", {}).items()})
        self.failures = kept.get("failures", [])

    def keep(self):
        """Write the file."""
        counts = {name: dict(found) for name, found in self.counts.items()}
        kept = {"next": self.next, "counts": counts, "failures": self.failures}
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(kept), encoding="utf-8")
        part.replace(self._file)

    def table(self, columns):
        """The counts in Markdown.

        Args:
            columns: Which ends are counted, and what each is called at the head of its column.
        """
        lines = [f"| what | {' | '.join(columns.values())} |", f"|---|{'---:|' * len(columns)}"]
        total = sum(self.counts.values(), Counter())
        for name, found in {**self.counts, "all": total}.items():
            numbers = [found.total() if key == "tried" else found[key] for key in columns]
            lines.append(f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |")
        return "\n".join(lines)

    def end(self, what, columns, options, capsys):
        """Show the counts of a long campaign; none may have ended badly."""
        self.keep()
        with capsys.disabled():
            if options.minutes:
                print(f"\n\n{what}, seed {options.seed}:\n\n{self.table(columns)}\n")  # noqa: T201
        assert not self.failures, "\n\n".join(self.failures[:20])


class Campaign:
    """Mutations by number, shared out to threads that each have a victim.

    Numbers that were shared out when a campaign was ended are left out when it goes on.
    """

    def __init__(self, originals, seed, tally, mutate):
        self.originals, self.seed, self.tally, self.mutate = originals, seed, tally, mutate
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
                    self.tally.keep()
        finally:
            victim.end()

    def _take(self, take):
        with self._lock:
            numbers = take(self.tally.next)
            self.tally.next += len(numbers)
        return numbers

    def _count(self, name, number, found, expected):
        outcome = found["outcome"]
        if outcome == "answer":
            outcome = "same" if found["message"] == expected else "other"
        self.tally.counts[name][outcome] += 1
        if outcome in BAD:
            with tempfile.TemporaryDirectory() as place:
                told, _ = self.mutate(self.originals[name][1], Path(place), self.seed, number)
            self.tally.failures.append(
                f"{name}, seed {self.seed}, number {number}: {told}: {outcome}: {found['message']}"
            )


_ENDS = {"tried": "tried", "refused": "refused in one line", "same": "same answer", "other": "another answer"}
_ENDS |= {name: name for name in BAD}


def run(what, originals, mutate, options, folder, short, capsys):
    """Run a campaign of so many minutes or, without them, `short` mutations of each kind; none may end badly."""
    tally = _tally(what, options, folder)
    campaign = Campaign(originals, options.seed, tally, mutate)
    end = time.monotonic() + 60 * options.minutes

    def take(first):
        if not options.minutes:
            return range(first, max(first, len(originals) * short))
        return range(first, first + BLOCK if time.monotonic() < end else first)

    campaign.run(folder, options.jobs, take)
    tally.end(what, _ENDS, options, capsys)


def run_rounds(what, kinds, attempt, options, folder, columns, capsys):
    """Run a campaign of attempts that take seconds, one at a time: for so many minutes or, without them, one a kind.

    Args:
        what: What the campaign is called.
        kinds: What is tried, in turn.
        attempt: Called with a kind and a generator of random numbers; returns how it ended, as counts. It fails by an
            `AssertionError` or a `TimeoutError`.
        options: The options of the campaign.
        folder: A temporary folder.
        columns: See `Tally.table`.
        capsys: That of pytest.
    """
    tally = _tally(what, options, folder)
    end = time.monotonic() + 60 * options.minutes
    while time.monotonic() < end or (not options.minutes and tally.next < len(kinds)):
        number, kind = tally.next, kinds[tally.next % len(kinds)]
        try:
            tally.counts[kind].update(attempt(kind, random.Random(f"{options.seed} {number}")))
        except (AssertionError, TimeoutError) as error:
            tally.counts[kind]["lost"] += 1
            tally.failures.append(f"{kind}, seed {options.seed}, number {number}: {error}")
        tally.next += 1
        tally.keep()
    tally.end(what, columns, options, capsys)


def _tally(what, options, folder):
    return Tally(options.folder(folder) / f"{what.replace(' ', '-')}-{options.seed}.json")
