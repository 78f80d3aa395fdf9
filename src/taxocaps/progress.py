"""How long work tells its caller where it stands, without knowing who listens."""

from typing import Protocol

__all__ = ["Progress", "silent"]


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
