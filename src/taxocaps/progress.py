"""Progress reports: how long work tells its caller where it stands, without knowing who listens."""

import time
from typing import Protocol

__all__ = ["Pace", "Progress", "silent"]


class Progress(Protocol):
    """Called now and then during long work."""

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        """Report that `done` of `total` documents (or other units; None if unknown) of a stage are finished.

        Args:
            stage: What is being done; a new stage begins when this changes.
            done: Units that are finished.
            total: All units of the stage, if known.
            note: What else is known, such as the loss so far.
        """


def silent(stage: str, done: int, total: int | None = None, note: str = "") -> None:
    """Progress that nobody watches."""


class Pace:
    """The pace of long work: documents per second and, if the size of the whole is known, the remaining time."""

    def __init__(self, size: int | None = None) -> None:
        """Start the clock; `size` is the size of all work, in the same unit as in `add`."""
        self.documents = 0
        self._size = size
        self._begin = time.monotonic()
        self._done = self._new = self._new_documents = 0

    def add(self, documents: int, size: int, *, is_new: bool = True) -> None:
        """Count finished documents; those of an earlier run (not `is_new`) do not count for the speed of this one."""
        self.documents += documents
        self._done += size
        if is_new:
            self._new += size
            self._new_documents += documents

    @property
    def speed(self) -> str:
        """The speed so far as text; empty if nothing was done."""
        seconds = time.monotonic() - self._begin
        return f"{self._new_documents / seconds:,.0f} documents/s" if self._new_documents and seconds else ""

    @property
    def note(self) -> str:
        """The speed so far and the remaining time, as far as they are known."""
        if not self._size or not self._new:
            return self.speed
        left = max(0, self._size - self._done) / self._new * (time.monotonic() - self._begin)
        return f"{self.speed}, {_duration(left)} to go"


def _duration(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> _duration(3_725)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
