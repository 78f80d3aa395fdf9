"""What watches a training run: progress for people, and the history of all epochs."""

import csv
import time
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from taxocaps.files import atomic_text
from taxocaps.progress import Progress

__all__ = ["History", "ShowProgress"]

_COLUMNS = ("epoch", "step", "loss", "validation_loss", "micro_f1", "macro_f1", "learning_rate", "seconds")


class ShowProgress(Callback):
    """Tells `progress` how many steps are done, with loss and validation micro-F1 as a note."""

    def __init__(self, progress: Progress) -> None:
        """Report to `progress`."""
        self._progress = progress

    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, outputs: Any, *_: Any) -> None:
        """One step is done."""
        self._report(trainer, f"loss {float(outputs['loss']):.4f}")

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        """An epoch is done."""
        loss = trainer.callback_metrics.get("loss")
        self._report(trainer, f"loss {float(loss):.4f}" if loss is not None else "")

    def _report(self, trainer: Trainer, loss: str) -> None:
        if not trainer.is_global_zero or trainer.sanity_checking:
            return
        f1 = trainer.callback_metrics.get("micro_f1")
        epochs = trainer.max_epochs or 1
        parts = [f"epoch {trainer.current_epoch + 1} of {epochs}", loss]
        parts += [f"validation micro-F1 {float(f1):.4f}"] if f1 is not None else []
        total = int(trainer.num_training_batches) * epochs
        self._progress("training", trainer.global_step, total, ", ".join(filter(None, parts)))


class History(Callback):
    """One row of numbers an epoch, kept in checkpoints and written to a CSV file that survives interruptions."""

    def __init__(self, file: Path) -> None:
        """Write to `file`."""
        self._file = file
        self.rows: list[dict[str, float]] = []
        self._began = time.monotonic()
        self._learning_rate = 0.0

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, *_: Any) -> None:
        """Note the learning rate of the step; after it, the schedule has moved on."""
        self._learning_rate = float(trainer.optimizers[0].param_groups[0]["lr"])

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Add the epoch."""
        if trainer.sanity_checking:
            return
        numbers = {name: float(value) for name, value in trainer.callback_metrics.items() if name in _COLUMNS}
        earlier = self.rows[-1]["seconds"] if self.rows else 0.0
        self.rows.append(
            {
                "epoch": trainer.current_epoch + 1,
                "step": trainer.global_step,
                **numbers,
                "learning_rate": self._learning_rate,
                "seconds": earlier + time.monotonic() - self._began,
            }
        )
        self._began = time.monotonic()
        if trainer.is_global_zero:
            self._write()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on after the rows of a checkpoint."""
        self.rows = list(state_dict["rows"])

    def _write(self) -> None:
        with atomic_text(self._file) as file:
            writer = csv.DictWriter(file, _COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)
