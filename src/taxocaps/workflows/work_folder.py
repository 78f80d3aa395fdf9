"""A hidden folder beside the target of a long job, in which the job is done, and which survives interruptions."""

import shutil
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from taxocaps.errors import FileError, TaxocapsError, WriteError

__all__ = ["WorkFolder", "lock_folder", "resume_hint"]


class WorkFolder:
    """Makes a folder in two parts: `kept`, which another run can use, and `result`, which becomes the target.

    Used as a context manager, it lets one run at a time at a target. What it leaves behind depends on how the job ends:
    nothing after success or bad input, `kept` after an interruption or a full disk.
    """

    def __init__(self, target: Path) -> None:
        """Prepare to make `target`."""
        self.target = target.resolve()  # a link is followed, not replaced
        self.path = _path(target)
        self.kept = self.path / "kept"
        self.result = self.path / "result"
        self._old = self.path / "old"
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = lock_folder(self.path / "lock", self.target)
        self._restore()
        shutil.rmtree(self.result, ignore_errors=True)
        self.result.mkdir(parents=True)
        self.kept.mkdir(exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_final = error is None or (isinstance(error, TaxocapsError) and not isinstance(error, WriteError))
        shutil.rmtree(self.result, ignore_errors=True)
        if is_final or not any(self.kept.iterdir()):
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()

    def publish(self) -> None:
        """Put the result in place of what may stand at the target; the old one goes last."""
        if self.target.exists():
            self.target.rename(self._old)
        try:
            self.result.rename(self.target)
        except OSError:
            self._restore()
            raise
        shutil.rmtree(self._old, ignore_errors=True)

    def _restore(self) -> None:
        """Bring back what stood at the target, if a run was stopped after moving it away and before replacing it."""
        if self._old.exists() and not self.target.exists():
            self._old.rename(self.target)
        shutil.rmtree(self._old, ignore_errors=True)


def resume_hint(target: Path) -> str:
    """What to tell a user whose job at `target` was stopped; empty if nothing could be kept."""
    if not _path(target).exists():
        return ""
    return "; the finished part is kept, and the same command goes on from there"


def _path(target: Path) -> Path:
    target = target.resolve()
    return target.parent / f".{target.name}.partial"


def lock_folder(path: Path, target: Path) -> IO[bytes] | None:
    """Hold a lock that the system takes back however the process ends; None where there is no such thing."""
    try:
        import fcntl
    except ImportError:
        return None
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise FileError(f"{target}: another run is writing there; wait for it, or choose another --out") from error
    return file
