"""The one LightningModule: what a step, a validation and the optimizer are, for every network and loss."""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from lightning.pytorch import LightningModule
from scipy.sparse import csr_array
from torch import Tensor, nn

from taxocaps.metrics.cuts import best_cut
from taxocaps.metrics.flat import flat_metrics
from taxocaps.training.batches import Batch
from taxocaps.training.config import TrainingConfig

__all__ = ["Objective", "TrainingModule"]


class Objective(Protocol):
    """A network joined with what it learns from; also an `nn.Module`, whose weights are trained."""

    def loss(self, batch: Batch) -> Tensor:
        """What is to become small; []."""

    def scores(self, batch: Batch) -> Tensor:
        """How well each label fits each document, from 0 to 1; [B, L]."""

    def measure(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and scores at once, for validation."""


class TrainingModule(LightningModule):
    """Trains an objective, and measures it by the micro-F1 of the best single cut on the validation documents."""

    def __init__(self, objective: Objective, config: TrainingConfig, steps: int, seed: int) -> None:
        """Prepare training.

        Args:
            objective: The network with its loss.
            config: The options of training.
            steps: Steps of all epochs, over which the learning rate is spread.
            seed: Of everything random in a step, such as dropout.
        """
        super().__init__()
        assert isinstance(objective, nn.Module)
        self.objective: Any = objective
        self._config, self._steps, self._seed = config, steps, seed
        self._validated: list[tuple[Any, ...]] = []
        self._losses: list[tuple[float, int]] = []

    def on_train_epoch_start(self) -> None:
        """Make all randomness a function of seed, epoch and process: a resumed run then needs no saved state of it."""
        mixed = np.random.SeedSequence([self._seed, self.current_epoch, self.global_rank])
        torch.manual_seed(int(mixed.generate_state(1)[0]))

    def training_step(self, batch: Batch) -> Tensor:
        """The loss of a batch."""
        loss: Tensor = self.objective.loss(batch)
        self._losses.append((float(loss.detach()), len(batch.documents)))
        return loss

    def validation_step(self, batch: Batch) -> None:
        """Keep the scores of a batch until all are there."""
        loss, scores = self.objective.measure(batch)
        self.log("validation_loss", loss, batch_size=len(batch.documents), sync_dist=True)
        kept = (batch.documents, scores, batch.targets)
        self._validated.append(tuple(tensor.cpu().numpy() for tensor in kept))

    def on_validation_epoch_end(self) -> None:
        """Measure F1 over the validation documents of all processes."""
        numbers, scores, targets = map(np.concatenate, zip(*self._gathered(), strict=True))
        self._validated.clear()
        _, first = np.unique(numbers, return_index=True)  # a document may have been given to two processes
        truth, scores = csr_array(targets[first] > 0), scores[first]
        cut = best_cut(truth, scores)
        macro = flat_metrics(truth, csr_array(scores >= cut.threshold)).macro.f1
        self.log_dict({"micro_f1": cut.f1, "macro_f1": macro}, sync_dist=True)
        # Lightning would give the loss of an epoch only after its validation, too late for whoever reports both.
        total = sum(loss * documents for loss, documents in self._losses)
        self.log("loss", total / max(1, sum(documents for _, documents in self._losses)), sync_dist=True)
        self._losses.clear()

    def configure_optimizers(self) -> Any:
        """Adam, with the learning rate of `training.schedule`."""
        rate, named = self._config.learning_rate, list(self.objective.named_parameters())
        vectors = [weights for name, weights in named if name.endswith("embedding.weight")]
        others = [weights for name, weights in named if not name.endswith("embedding.weight")]
        groups: list[dict[str, Any]] = [{"params": others}]
        if vectors:
            of_vectors = {"lr": rate * self._config.vectors_rate, "eps": self._config.vectors_epsilon}
            groups.append({"params": vectors, **of_vectors})
        optimizer = torch.optim.AdamW(
            groups,
            lr=rate,
            weight_decay=self._config.weight_decay,
            fused=True,  # the foreach form would copy all weights
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _schedule(self._config, self._steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _gathered(self) -> list[tuple[Any, ...]]:
        if self.trainer.world_size == 1:
            return self._validated
        everyone: list[Any] = [None] * self.trainer.world_size
        torch.distributed.all_gather_object(everyone, self._validated)
        return [batch for share in everyone for batch in share]


def _schedule(config: TrainingConfig, steps: int) -> Callable[[int], float]:
    """The share of the learning rate at each step."""
    warm = round(config.warmup * steps)

    def share(step: int) -> float:
        if step < warm:
            return (step + 1) / (warm + 1)
        if config.schedule == "constant":
            return 1.0
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm) / max(1, steps - warm))))

    return share
