"""The folder of a model while it is trained: one run at a time, resumable, replaced only by a complete model."""

import json
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self

from taxocaps.errors import CheckpointError, FileError, TaxocapsError, WriteError
from taxocaps.estimators.persistence import MODEL_FILES, is_model
from taxocaps.files import atomic_text
from taxocaps.workflows.work_folder import lock_folder

__all__ = ["Existing", "TrainingFolder"]

Existing = Literal["refuse", "resume", "overwrite"]

_MARK = "versions.json"
_HIDDEN = ".training"


class TrainingFolder:
    """`OUT/.training`, in which a model is trained, and from which its files move to `OUT` when all are there.

    After an interruption it stays, for `resume`; after bad input or success it goes. Where several processes train
    together, the first one owns the folder, and the others have folders of their own in it.
    """

    def __init__(self, out: Path, fingerprint: str, existing: Existing = "refuse", *, keep: bool = False) -> None:
        """Prepare to train a model into `out`.

        Args:
            out: The model's folder.
            fingerprint: A hash of documents and options, which a resumed run must share.
            existing: What to do about a model or an interrupted run in `out`.
            keep: Leave `.training` after success.
        """
        rank = int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0")))
        self.is_first_process = rank == 0
        self._out, self._fingerprint, self._keep = out.resolve(), fingerprint, keep
        self._existing = existing
        self._hidden = self._out / _HIDDEN
        self.work = self._hidden if self.is_first_process else self._hidden / f"process-{rank}"
        self.result = self._hidden / "model"
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if not self.is_first_process:
            self.work.mkdir(parents=True, exist_ok=True)
            return self
        self._check()
        self._hidden.mkdir(parents=True, exist_ok=True)
        self._lock = lock_folder(self._hidden / "lock", self._out)
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
        is_bad_input = isinstance(error, TaxocapsError) and not isinstance(error, WriteError | CheckpointError)
        if self._lock is not None:
            if (error is None and not self._keep) or (is_bad_input and not self._has_checkpoint):
                shutil.rmtree(self._hidden, ignore_errors=True)
            self._lock.close()
        if error is not None and self._out.is_dir() and not any(self._out.iterdir()):
            self._out.rmdir()

    def publish(self) -> None:
        """Move the complete model to its place; the mark of a model goes first and comes last.

        A run that dies in between leaves no model that looks whole, and all files in `.training/model`, from which
        `resume` finishes the work.
        """
        (self._out / _MARK).unlink(missing_ok=True)
        new = {path.name for path in self.result.iterdir()}
        for name in MODEL_FILES - new:
            (self._out / name).unlink(missing_ok=True)
        for name in sorted(new - {_MARK}):
            (self.result / name).replace(self._out / name)
        (self.result / _MARK).replace(self._out / _MARK)

    @property
    def _has_checkpoint(self) -> bool:
        return (self._hidden / "checkpoints" / "last.ckpt").exists()

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
        strangers = sorted(found - MODEL_FILES - {_HIDDEN})
        if strangers:
            raise FileError(f"{out}: holds other things than a model ({strangers[0]}); choose another --out")
        if self._existing != "overwrite":
            self._check_unfinished()

    def _check_unfinished(self) -> None:
        """Leave a finished model, and without `resume` also an interrupted run, as they are."""
        may_resume = self._existing == "resume" and self._has_checkpoint
        if is_model(self._out) and not may_resume:
            raise FileError(
                f"{self._out}: has a model already; choose another --out, or give --overwrite to replace it"
            )
        if self._has_checkpoint and not may_resume:
            raise FileError(f"{self._out}: has an interrupted run; give --resume to go on, or --overwrite")

    def _check_run(self) -> None:
        """Begin anew, or make sure that the run to go on with was the same."""
        mark = self._hidden / "run.json"
        if self._existing == "resume" and mark.exists():
            if json.loads(mark.read_text(encoding="utf-8")).get("fingerprint") != self._fingerprint:
                raise CheckpointError(
                    f"{self._out}: the interrupted run had other documents or options; give those, or --overwrite"
                )
            return
        for path in self._hidden.iterdir():
            if path.name != "lock":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        with atomic_text(mark) as file:
            json.dump({"fingerprint": self._fingerprint}, file)
