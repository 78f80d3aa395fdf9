"""How long work tells its caller where it stands, without knowing who listens."""

from typing import Protocol

__all__ = ["Progress", "silent"]


class Progress(Protocol):
    """Called now and then during long work."""

    def __call__(self, stage: str, done: int, total: int | None = None) -> None:
        """Report that `done` of `total` documents (or other units; None if unknown) of a stage are finished."""


def silent(stage: str, done: int, total: int | None = None) -> None:
    """Progress that nobody watches."""
