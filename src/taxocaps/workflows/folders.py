"""Folders in which long work is done: one run at a time, resumable, replaced only by a complete result."""

import json
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from filelock import FileLock, Timeout

from taxocaps.errors import CheckpointError, FileError, TaxoCapsError, UnfinishedError, WriteError
from taxocaps.files import atomic_text
from taxocaps.scorers.model_folder import file_names, is_model, read_versions

__all__ = ["Existing", "TrainingFolder", "WorkFolder", "acquire", "partial_folder", "read_versions", "resume_hint"]

Existing = Literal["refuse", "resume", "overwrite"]

_MARK = "versions.json"
_HIDDEN = ".training"


_CONTINUED = (WriteError, UnfinishedError)
"""Errors after which the same command continues."""


class WorkFolder:
    """Makes a folder in two parts: `kept`, which another run can use, and `result`, which becomes the target.

    Used as a context manager, it lets one run at a time work at a target. What it leaves behind depends on how the work
    ends: nothing after success or bad input, `kept` after an interruption or a full disk.
    """

    def __init__(self, target: Path) -> None:
        """Prepare to make `target`."""
        self.target = target.resolve()  # a link is followed, not replaced
        self.path = partial_folder(target)
        self.kept = self.path / "kept"
        self.result = self.path / "result"
        self._old = self.path / "old"
        self._lock = FileLock(self.path / "lock", timeout=0)

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True)
        acquire(self._lock, self.target)
        self._restore()
        shutil.rmtree(self.result, ignore_errors=True)
        self.result.mkdir(parents=True)
        self.kept.mkdir(exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_final = error is None or (isinstance(error, TaxoCapsError) and not isinstance(error, _CONTINUED))
        shutil.rmtree(self.result, ignore_errors=True)
        if is_final or not any(self.kept.iterdir()):
            shutil.rmtree(self.path, ignore_errors=True)
        self._lock.release()

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
    """What to tell a user whose work at `target` was stopped; empty if nothing could be kept."""
    if not partial_folder(target).exists():
        return ""
    return "; the finished part is kept, and the same command continues from there"


def partial_folder(target: Path) -> Path:
    """The hidden folder beside `target` in which it is made."""
    target = target.resolve()
    return target.parent / f".{target.name}.partial"


def acquire(lock: FileLock, target: Path, option: str = "--out") -> None:
    """Take a lock that the system gives back however the process ends; `option` is what names the target."""
    try:
        lock.acquire()
    except Timeout as error:
        raise FileError(f"{target}: another run is writing there; wait for it, or choose another {option}") from error


class TrainingFolder:
    """`OUT/.training`, in which a model is trained, and from which its files move to `OUT` when all are there.

    After an interruption it stays, for `resume`; after bad input or success it goes. Where several processes train
    together, the first one owns the folder, and the others have folders of their own in it.
    """

    def __init__(self, out: Path, fingerprint: str, existing: Existing = "refuse", *, keep: bool = False) -> None:
        """Prepare to train a model into `out`.

        Args:
            out: The model's folder.
            fingerprint: A hash of the options, which a resumed run must share.
            existing: What to do about a model or an interrupted run in `out`.
            keep: Leave `.training` after success.
        """
        rank = int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0")))
        self.is_first_process = rank == 0
        self.target = out  # as the user named it
        self._out, self._fingerprint, self._keep = out.resolve(), fingerprint, keep
        self._existing = existing
        self._hidden = self._out / _HIDDEN
        self.work = self._hidden if self.is_first_process else self._hidden / f"process-{rank}"
        self.result = self._hidden / "model"
        self._lock = FileLock(self._hidden / "lock", timeout=0)

    def __enter__(self) -> Self:
        if not self.is_first_process:
            self.work.mkdir(parents=True, exist_ok=True)
            return self
        self._check()
        self._hidden.mkdir(parents=True, exist_ok=True)
        acquire(self._lock, self._out)
        try:
            self._check_run()
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        shutil.rmtree(self.result, ignore_errors=True)
        self.result.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.is_first_process:
            return
        is_bad_input = isinstance(error, TaxoCapsError) and not isinstance(error, WriteError | CheckpointError)
        if (error is None and not self._keep) or (is_bad_input and not self._has_checkpoint):
            shutil.rmtree(self._hidden, ignore_errors=True)
        self._lock.release()
        if error is not None and self._out.is_dir() and not any(self._out.iterdir()):
            self._out.rmdir()

    def stores(self) -> dict[str, Path]:
        """The stores that the first process has made, for the others: all map the same files.

        There are some if the first process started this one, which it does when it begins to train. Where `torchrun`
        starts all processes at once, each makes its own.
        """
        if self.is_first_process or "TORCHELASTIC_RUN_ID" in os.environ:
            return {}
        from taxocaps.encoding.store import is_store  # not before it is needed: it loads numpy

        return {path.name: path for path in (self._hidden / "stores").glob("*") if is_store(path)}

    def check_sources(self, hashes: dict[str, str]) -> None:
        """Make sure that a resumed run has the documents that it had before, and note those of a new one.

        Raises:
            CheckpointError: If the documents are others.
        """
        if not self.is_first_process:
            return
        run = self._read_run()
        if run.get("sources", hashes) != hashes:
            raise self._other_run()
        self._write_run({**run, "sources": hashes})

    def publish(self) -> None:
        """Move the complete model to `out`; `versions.json`, which marks a model, is removed first and added last.

        A run that dies in between leaves no model that looks whole, and all files in `.training/model`, from which
        `resume` finishes the work.
        """
        old_names = file_names(self._out)
        (self._out / _MARK).unlink(missing_ok=True)
        new = {path.name for path in self.result.iterdir()}
        for name in old_names:
            old = self._out / name
            if old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)
            elif name not in new:
                old.unlink(missing_ok=True)
        for name in sorted(new - {_MARK}):
            (self.result / name).replace(self._out / name)
        (self.result / _MARK).replace(self._out / _MARK)

    @property
    def _has_checkpoint(self) -> bool:
        return any(path for name in ("last.ckpt", "scores.npy") for path in self._hidden.rglob(name))

    def _check(self) -> None:
        """Refuse to write over anything that is not a model, whatever the user says."""
        out = self._out
        if out == Path.cwd():
            raise FileError(f"{out}: is the current folder; choose another --out")
        if out.exists() and not out.is_dir():
            raise FileError(f"{out}: is a file; choose another --out")
        found = {path.name for path in out.iterdir()} if out.exists() else set()
        if not found:
            return
        if _HIDDEN not in found and not is_model(out):
            raise FileError(f"{out}: exists and is not a model; choose another --out")
        others = sorted(found - file_names(out) - {_HIDDEN})
        if others:
            raise FileError(f"{out}: holds other things than a model ({others[0]}); choose another --out")
        if self._existing != "overwrite":
            self._check_unfinished()

    def _check_unfinished(self) -> None:
        """Leave a finished model, and without `resume` also an interrupted run, as they are."""
        may_resume = self._existing == "resume" and self._run_file.exists()
        if is_model(self._out) and not may_resume:
            raise FileError(
                f"{self._out}: has a model already; choose another --out, or give --overwrite to replace it"
            )
        if self._has_checkpoint and not may_resume:
            raise FileError(f"{self._out}: has an interrupted run; give --resume to continue it, or --overwrite")

    def _check_run(self) -> None:
        """Begin anew, or make sure that the run to resume had the same options."""
        if self._existing == "resume" and self._run_file.exists():
            if self._read_run().get("fingerprint") != self._fingerprint:
                raise self._other_run()
            return
        for path in self._hidden.iterdir():
            if path.name != "lock":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self._write_run({"fingerprint": self._fingerprint})

    @property
    def _run_file(self) -> Path:
        return self._hidden / "run.json"

    def _read_run(self) -> dict[str, Any]:
        return dict(json.loads(self._run_file.read_text(encoding="utf-8")))

    def _write_run(self, run: dict[str, Any]) -> None:
        with atomic_text(self._run_file) as file:
            json.dump(run, file)

    def _other_run(self) -> CheckpointError:
        return CheckpointError(
            f"{self._out}: the interrupted run had other documents or options; give those, or --overwrite"
        )
