"""The training run: Lightning's loop, early stopping, best and last checkpoint, and going on after a stop."""

import contextlib
import logging
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger

from taxocaps.errors import CheckpointError, ConfigError
from taxocaps.progress import Progress, silent
from taxocaps.training.batches import EncodedDocuments, loader
from taxocaps.training.callbacks import History, ShowProgress
from taxocaps.training.config import TrainingConfig
from taxocaps.training.module import Objective, TrainingModule

__all__ = ["Examples", "TrainingReport", "train"]

_LAST, _BEST = "last.ckpt", "best.ckpt"


@dataclass(frozen=True)
class Examples:
    """Encoded documents with their labels, CSR [documents, L] of bool."""

    documents: EncodedDocuments
    labels: Any


@dataclass(frozen=True)
class TrainingReport:
    """What a training run came to.

    Attributes:
        epochs: Epochs that were trained.
        best_epoch: The one whose weights were kept.
        micro_f1: Its validation micro-F1, at the best single cut.
        history: Loss, validation micro-F1 and more of every epoch.
    """

    epochs: int
    best_epoch: int
    micro_f1: float
    history: Sequence[Mapping[str, float]]


def train(  # noqa: PLR0913 - a front door: each argument stands for itself
    objective: Objective,
    training: Examples,
    validation: Examples,
    config: TrainingConfig,
    *,
    folder: Path,
    seed: int = 0,
    resume: bool = False,
    progress: Progress = silent,
) -> TrainingReport:
    """Train an objective; afterwards it has the weights of its best epoch.

    Args:
        objective: A network joined with its loss; an `nn.Module`.
        training: What is learned from.
        validation: What decides which epoch is best and when to stop.
        config: The options of training.
        folder: Where checkpoints, `history.csv` and TensorBoard's files go.
        seed: With the same seed on the same machine with one thread, the weights come out the same.
        resume: Go on from the last checkpoint in `folder`, if there is one.
        progress: Told of every step.
    """
    folder.mkdir(parents=True, exist_ok=True)
    history = History(folder / "history.csv")
    best = _checkpoint(folder, _BEST, monitor="micro_f1")
    with _quiet_lightning(), torch.random.fork_rng(devices=()):
        trainer = _trainer(config, folder, [history, best, ShowProgress(progress)])
        share = {"rank": trainer.global_rank, "processes": trainer.world_size}
        batches = loader(training.documents, training.labels, config.batch_size, seed=seed, **share)
        checks = loader(validation.documents, validation.labels, config.batch_size, **share)
        module = TrainingModule(objective, config, config.epochs * len(batches), seed)
        if not resume and trainer.is_global_zero:
            (folder / _LAST).unlink(missing_ok=True)
        _fit(trainer, module, (batches, checks), folder / _LAST, history)
        weights: Any = _read(folder / _BEST, like=module)["state_dict"] if trainer.is_global_zero else None
        module.load_state_dict(trainer.strategy.broadcast(weights))
    module.cpu()
    rows = history.rows
    kept = max(rows, key=lambda row: row["micro_f1"])
    return TrainingReport(len(rows), int(kept["epoch"]), kept["micro_f1"], tuple(rows))


def _check_device(name: str) -> None:
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(name, True):
        raise ConfigError(f"training.device={name}, but this machine has none; use auto or cpu")


def _trainer(config: TrainingConfig, folder: Path, callbacks: list[Callback]) -> Trainer:
    _check_device(config.device)
    if config.patience is not None:
        callbacks = [
            *callbacks,
            EarlyStopping("micro_f1", mode="max", patience=config.patience, check_on_train_epoch_end=False),
        ]
    return Trainer(
        accelerator=config.device if config.device != "cuda" else "gpu",
        devices=config.devices,
        strategy="ddp" if config.devices > 1 else "auto",
        max_epochs=config.epochs,
        gradient_clip_val=config.clip,
        # Last of all: the last checkpoint then holds the state of all the others.
        callbacks=[*callbacks, _checkpoint(folder, _LAST)],
        logger=TensorBoardLogger(folder, name="tensorboard", version="") if find_spec("tensorboard") else False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


def _checkpoint(folder: Path, name: str, monitor: str | None = None) -> ModelCheckpoint:
    return ModelCheckpoint(
        folder,
        filename=Path(name).stem,
        monitor=monitor,
        mode="max",
        save_top_k=1,
        save_on_train_epoch_end=False,  # after validation
        save_weights_only=monitor is not None,
        enable_version_counter=False,
    )


def _fit(
    trainer: Trainer, module: TrainingModule, loaders: tuple[Any, Any], checkpoint: Path, history: History
) -> None:
    """Train from the checkpoint on; from the start if there is none, and not at all if it is the end of a run."""
    state = _read(checkpoint, like=module) if checkpoint.exists() else None
    if state is not None and _has_stopped_early(state) and trainer.world_size == 1:
        history.load_state_dict(state["callbacks"]["History"])
        return
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        trainer.fit(module, *loaders, ckpt_path=checkpoint if state is not None else None, weights_only=True)
    except SystemExit as error:  # what Lightning makes of Ctrl-C; it also turns a deaf ear to any further one
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, on_interrupt)
        raise KeyboardInterrupt from error


def _has_stopped_early(state: Mapping[str, Any]) -> bool:
    """Whether a checkpoint is the end of a run: Lightning itself forgets that, and would train on."""
    return any(saved.get("stopped_epoch") for name, saved in state["callbacks"].items() if "EarlyStopping" in name)


def _read(path: Path, like: TrainingModule) -> Mapping[str, Any]:
    """A checkpoint of a module `like` this one, without running any code that might stand in it."""
    try:
        content: Mapping[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        shapes = {name: weights.shape for name, weights in content["state_dict"].items()}
    except Exception as error:  # a damaged archive can fail in a dozen ways
        raise CheckpointError(f"{path}: the checkpoint cannot be read; train again without --resume") from error
    if shapes != {name: weights.shape for name, weights in like.state_dict().items()}:
        raise CheckpointError(f"{path}: belongs to another network; give the options it was trained with")
    return content


@contextlib.contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Keep Lightning's remarks about devices, loaders and folders off the screen."""
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
