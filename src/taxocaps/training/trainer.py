"""The training run: Lightning's loop, early stopping, best and last checkpoint, history, and resuming."""

import contextlib
import csv
import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping, EMAWeightAveraging, ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from scipy.sparse import csr_array

from taxocaps.errors import CheckpointError, ConfigError
from taxocaps.files import atomic_text
from taxocaps.progress import Progress, silent
from taxocaps.results import FitReport, Interim
from taxocaps.training.batches import Inputs, loader
from taxocaps.training.config import TrainingConfig
from taxocaps.training.module import Objective, TrainingModule

__all__ = ["History", "LabelledInputs", "ShowProgress", "check_device", "train"]

_LAST, _BEST = "last.ckpt", "best.ckpt"

_COLUMNS = ("epoch", "step", "loss", "validation_loss", "micro_f1", "macro_f1", "learning_rate", "seconds")


@dataclass(frozen=True)
class LabelledInputs:
    """What a network reads of some documents, and their labels, CSR [documents, L] of bool."""

    inputs: Inputs
    labels: csr_array


def train(  # noqa: PLR0913 - a front door: each argument stands for itself
    objective: Objective,
    training: LabelledInputs,
    validation: LabelledInputs | None,
    config: TrainingConfig,
    *,
    folder: Path,
    seed: int = 0,
    resume: bool = False,
    progress: Progress = silent,
    watch: Callable[[Interim], None] | None = None,
) -> FitReport:
    """Train an objective; afterwards it has the parameters of its best epoch, or of the last without validation.

    Args:
        objective: A network with its loss; an `nn.Module`.
        training: The training documents.
        validation: The validation documents, for the choice of the best epoch and early stopping; None trains for all
            epochs, at whose end the schedule has brought the learning rate to 0.
        config: The options of training.
        folder: Where checkpoints, `history.csv` and TensorBoard's files are written.
        seed: Random seed; on the same machine with one thread, the same seed gives the same parameters.
        resume: Continue from the last checkpoint in `folder`, if there is one.
        progress: Called at every step.
        watch: Told how good each epoch is, after its checkpoint is written; it may raise an error to end training.

    Raises:
        CheckpointError: If a checkpoint cannot be read, or belongs to another network.
        ConfigError: If this machine does not have the device.
    """
    folder.mkdir(parents=True, exist_ok=True)
    history = History(folder / "history.csv")
    with _quiet_lightning(), torch.random.fork_rng(devices=()):
        config = _launched(config).for_documents(len(training.labels.indptr) - 1)
        callbacks = [history, ShowProgress(progress)]
        if watch is not None and validation is not None:
            callbacks.append(_Watch(watch))
        trainer = _trainer(config, folder, callbacks, validated=validation is not None)
        share = {"rank": trainer.global_rank, "processes": trainer.world_size}
        batches = loader(training.inputs, training.labels, config.batch_size, seed=seed, **share)
        held_out = None
        if validation is not None:
            held_out = loader(validation.inputs, validation.labels, config.batch_size, **share)
        module = TrainingModule(objective, config, config.epochs * len(batches), seed)
        if not resume and trainer.is_global_zero:
            (folder / _LAST).unlink(missing_ok=True)
        _fit(trainer, module, (batches, held_out), folder / _LAST, history)
        kept = folder / (_BEST if validation is not None else _LAST)
        weights: Any = _read(kept, like=module)["state_dict"] if trainer.is_global_zero else None
        module.load_state_dict(trainer.strategy.broadcast(weights))
    module.cpu()
    best = max(history.rows, key=lambda row: row["micro_f1"]) if validation is not None else history.rows[-1]
    return FitReport(len(history.rows), int(best["epoch"]), tuple(history.rows))


class ShowProgress(Callback):
    """Reports steps to `progress`, with the loss and the validation micro-F1 as a note."""

    def __init__(self, progress: Progress) -> None:
        """Report to `progress`."""
        self._progress = progress

    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, outputs: Any, *_: Any) -> None:
        """Report a step."""
        self._report(trainer, f"loss {float(outputs['loss']):.4f}")

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Report an epoch."""
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
    """The metrics of every epoch, kept in checkpoints and written to a CSV file after each epoch."""

    def __init__(self, file: Path) -> None:
        """Write to `file`."""
        self._file = file
        self.rows: list[dict[str, float]] = []
        self._started = time.monotonic()
        self._learning_rate = 0.0

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, *_: Any) -> None:
        """Note the learning rate of the step, which the schedule changes after it."""
        self._learning_rate = float(trainer.optimizers[0].param_groups[0]["lr"])

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Add the epoch."""
        if not trainer.sanity_checking:
            found = trainer.callback_metrics.items()
            self._add(trainer, {name: float(value) for name, value in found if name in _COLUMNS})

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Add an epoch without validation."""
        if not trainer.enable_validation:
            assert isinstance(module, TrainingModule)
            self._add(trainer, {"loss": module.take_loss()})

    def _add(self, trainer: Trainer, metrics: Mapping[str, float]) -> None:
        earlier = self.rows[-1]["seconds"] if self.rows else 0.0
        self.rows.append(
            {
                "epoch": trainer.current_epoch + 1,
                "step": trainer.global_step,
                **metrics,
                "learning_rate": self._learning_rate,
                "seconds": earlier + time.monotonic() - self._started,
            }
        )
        self._started = time.monotonic()
        if trainer.is_global_zero:
            self._write()

    def state_dict(self) -> dict[str, Any]:
        """The state in a checkpoint."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue after the epochs of a checkpoint."""
        self.rows = list(state_dict["rows"])

    def _write(self) -> None:
        with atomic_text(self._file) as file:
            writer = csv.DictWriter(file, _COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)


class _Watch(Callback):
    """Tells of each epoch, once its checkpoint is written."""

    def __init__(self, watch: Callable[[Interim], None]) -> None:
        self._watch = watch

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        found = trainer.callback_metrics
        self._watch(Interim(trainer.current_epoch + 1, float(found["micro_f1"]), float(found["macro_f1"])))


def check_device(name: str) -> None:
    """Raise an error if the device of an option is not available."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(name, True):
        raise ConfigError(f"training.device={name} is not available on this machine; use auto or cpu")


def _launched(config: TrainingConfig) -> TrainingConfig:
    """With as many devices as there are processes, if `torchrun` has started several, on one machine or on several."""
    is_launched = "TORCHELASTIC_RUN_ID" in os.environ
    return config.replace(devices=int(os.environ["WORLD_SIZE"])) if is_launched else config


def _trainer(config: TrainingConfig, folder: Path, callbacks: list[Callback], *, validated: bool) -> Trainer:
    check_device(config.device)
    if config.averaging:
        callbacks = [*callbacks, EMAWeightAveraging(decay=config.averaging, use_buffers=False)]
    if validated:
        # Without the states of callbacks, there would be no averaged weights in the checkpoint.
        callbacks = [*callbacks, _checkpoint(folder, _BEST, monitor="micro_f1", weights_only=not config.averaging)]
        if config.patience is not None:
            stopping = EarlyStopping("micro_f1", mode="max", patience=config.patience, check_on_train_epoch_end=False)
            callbacks = [*callbacks, stopping]
    machines = config.devices // int(os.environ.get("LOCAL_WORLD_SIZE", config.devices))
    return Trainer(
        accelerator=config.device if config.device != "cuda" else "gpu",
        devices=config.devices // machines,
        num_nodes=machines,
        strategy="ddp" if config.devices > 1 else "auto",
        max_epochs=config.epochs,
        gradient_clip_val=config.clip,
        # Last in the list, so that the last checkpoint has the state of all other callbacks.
        callbacks=[*callbacks, _checkpoint(folder, _LAST, after_validation=validated)],
        logger=TensorBoardLogger(folder, name="tensorboard", version="") if find_spec("tensorboard") else False,
        num_sanity_val_steps=0,
        limit_val_batches=1.0 if validated else 0,
        use_distributed_sampler=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


def _checkpoint(
    folder: Path, name: str, monitor: str | None = None, *, after_validation: bool = True, weights_only: bool = False
) -> ModelCheckpoint:
    return ModelCheckpoint(
        folder,
        filename=Path(name).stem,
        monitor=monitor,
        mode="max",
        save_top_k=1,
        save_on_train_epoch_end=not after_validation,
        save_weights_only=weights_only,
        enable_version_counter=False,
    )


def _fit(
    trainer: Trainer, module: TrainingModule, loaders: tuple[Any, Any], checkpoint: Path, history: History
) -> None:
    """Train from the checkpoint, or from the start if there is none; do nothing if the run had stopped early."""
    state = _read(checkpoint, like=module) if checkpoint.exists() else None
    if state is not None and _has_stopped_early(state) and trainer.world_size == 1:
        history.load_state_dict(state["callbacks"]["History"])
        return
    if state is not None:  # Lightning begins to read before it tells the sampler which epoch it is
        loaders[0].sampler.set_epoch(int(state["epoch"]) + 1)
    module.train()  # Lightning leaves modules in the mode that they are in, and there would be no dropout
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        trainer.fit(module, *loaders, ckpt_path=checkpoint if state is not None else None, weights_only=True)
    except SystemExit as error:  # Lightning raises this on Ctrl-C, and ignores any further one
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, on_interrupt)
        raise KeyboardInterrupt from error


def _has_stopped_early(state: Mapping[str, Any]) -> bool:
    """Whether the run of a checkpoint had stopped early: Lightning does not restore that, and would continue."""
    return any(saved.get("stopped_epoch") for name, saved in state["callbacks"].items() if "EarlyStopping" in name)


def _read(path: Path, like: TrainingModule) -> Mapping[str, Any]:
    """Read a checkpoint of a module like this one, without running any code in it."""
    try:
        content: Mapping[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        shapes = {name: weights.shape for name, weights in content["state_dict"].items()}
    except Exception as error:  # a damaged archive can fail in a dozen ways
        raise CheckpointError(
            f"{path}: cannot resume from this checkpoint: it is damaged; train again without --resume"
        ) from error
    if shapes != {name: weights.shape for name, weights in like.state_dict().items()}:
        raise CheckpointError(
            f"{path}: cannot resume from this checkpoint: it belongs to another network; "
            "use the options it was trained with"
        )
    return content


@contextlib.contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Suppress Lightning's messages about devices, loaders and folders."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"lightning\..*")
            warnings.filterwarnings("ignore", category=UserWarning, module=r"torch\.(distributed|optim|utils)\..*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
