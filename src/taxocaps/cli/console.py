"""Where the command line prints: results to standard output, progress and messages to standard error.

Ids, labels and texts may come from a stranger: whatever is printed, control characters in it are escaped, so that they
cannot steer the terminal.
"""

import contextlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import typer

from taxocaps.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

    from taxocaps.progress import Progress
    from taxocaps.workflows.config import CorpusConfig
    from taxocaps.workflows.sources import Input

__all__ = [
    "console",
    "print_json",
    "resumable",
    "say",
    "shown_progress",
    "tell",
    "tell_recognised",
    "tell_unless",
    "to_json",
]

_SECONDS_BETWEEN_LINES = 5.0


def console() -> "Console":
    """A rich console on standard output; plain text of a fixed width when that is not a terminal."""
    # No markup: brackets in labels, words and paths are only brackets.
    return _console_type()(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 120)


@cache
def _console_type() -> "type[Console]":
    """Rich's console, whose output has no control characters but those of rich itself."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class PrintableConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=printable(segment.text))

    return PrintableConsole


def say(message: str, **style: Any) -> None:
    """Print a result for people on standard output; `style` is that of `typer.secho`."""
    typer.secho(printable(message), **style)


def tell(message: str) -> None:
    """Print a message for people on standard error, where it never mixes with results."""
    with contextlib.suppress(OSError):  # nobody listens: no reason to stop the work
        typer.echo(printable(message), err=True)


def tell_unless(silent: bool) -> Callable[[str], None]:
    """Where the messages of a workflow go: to standard error, or nowhere."""
    return (lambda message: None) if silent else tell


def tell_recognised(documents: "Input", corpus: "CorpusConfig") -> None:
    """Say what was recognised in files, one line each, unless they are as files usually are."""
    from taxocaps.workflows.sources import recognised_lines

    for line in recognised_lines(documents, corpus, unusual=True):
        tell(line)


def print_json(value: Any) -> None:
    """Print a result dataclass, or plain values, as JSON."""
    from taxocaps.results import plain

    typer.echo(to_json(plain(value), indent=2))


def to_json(value: Any, indent: int | None = None) -> str:
    r"""Plain values as JSON; of what is not ASCII, control characters alone are escaped.

    >>> to_json("naïve \x9b31m")
    '"naïve \\u009b31m"'
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, indent=indent))


_CONTROLS = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal may act upon, beyond what JSON escapes anyway: C1 codes, and what turns the direction of writing."""


@contextlib.contextmanager
def resumable(hint: Callable[[], str]) -> Iterator[None]:
    """End a command that is interrupted by Ctrl-C with exit code 130, and a hint at how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"interrupted{hint()}")
        raise typer.Exit(130) from None


@contextlib.contextmanager
def shown_progress(quiet: bool) -> "Iterator[Progress]":
    """Progress as a bar on a terminal, as plain lines in a log, or not at all."""
    if quiet:
        from taxocaps.progress import silent

        yield silent
    elif sys.stderr.isatty():
        with _bars() as progress:
            yield progress
    else:
        yield _Lines()


@contextlib.contextmanager
def _bars() -> "Iterator[Progress]":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=_console_type()(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int | None = None, note: str = "") -> None:
            if stage not in tasks:
                for earlier in tasks.values():  # its end is known now
                    finished = bars.tasks[earlier].completed
                    bars.update(earlier, total=finished)
                tasks[stage] = bars.add_task(stage, total=total, note=note)
            bars.update(tasks[stage], completed=done, total=total, note=note)

        yield report


class _Lines:
    """Progress for logs: a line when a stage begins or ends, and now and then in between."""

    def __init__(self) -> None:
        self._stage = ""
        self._printed = 0.0

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        due = time.monotonic() - self._printed > _SECONDS_BETWEEN_LINES
        if stage != self._stage or done == total or due:
            of_total = f" of {total:,}" if total is not None else ""
            tell(f"{stage}: {done:,}{of_total}{f' ({note})' if note else ''}")
            self._stage, self._printed = stage, time.monotonic()
