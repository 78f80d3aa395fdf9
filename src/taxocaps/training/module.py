"""The LightningModule of all networks and losses: training step, validation, optimizer and learning rate."""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from lightning.pytorch import LightningModule
from scipy.sparse import csr_array
from torch import Tensor, nn

from taxocaps.metrics.classification import flat_metrics
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.training.batches import Batch
from taxocaps.training.config import TrainingConfig

__all__ = ["Objective", "TrainingModule"]


class _WithWordVectors(Protocol):
    @property
    def word_vectors(self) -> nn.Parameter: ...

    def rate_groups(self) -> list[dict[str, Any]]: ...


class Objective(Protocol):
    """A network with its training loss; also an `nn.Module`, whose parameters are trained."""

    @property
    def network(self) -> _WithWordVectors:
        """The network; its word vectors, and the groups it names, have learning rates of their own."""

    def loss(self, batch: Batch) -> Tensor:
        """The training loss; []."""

    def scores(self, batch: Batch) -> Tensor:
        """The scores of all labels, from 0 to 1; [B, L]."""

    def measure(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and scores at once, for validation."""


class TrainingModule(LightningModule):
    """Trains an objective; validation measures the micro-F1 at the best single threshold."""

    def __init__(self, objective: Objective, config: TrainingConfig, steps: int, seed: int) -> None:
        """Prepare training.

        Args:
            objective: The network with its loss.
            config: The options of training.
            steps: Steps of all epochs, for the schedule of the learning rate.
            seed: Random seed of the steps, such as of dropout.
        """
        super().__init__()
        assert isinstance(objective, nn.Module)
        self.objective: Any = objective
        self._config, self._steps, self._seed = config, steps, seed
        self._validated: list[tuple[Any, ...]] = []
        self._losses: list[tuple[float, int]] = []

    def on_train_epoch_start(self) -> None:
        """Seed torch from seed, epoch and process, so that a resumed run needs no saved random state."""
        mixed = np.random.SeedSequence([self._seed, self.current_epoch, self.global_rank])
        torch.manual_seed(int(mixed.generate_state(1)[0]))

    def training_step(self, batch: Batch) -> Tensor:
        """The loss of a batch."""
        loss: Tensor = self.objective.loss(batch)
        self._losses.append((float(loss.detach()), len(batch.indices)))
        return loss

    def validation_step(self, batch: Batch) -> None:
        """Keep the scores of a batch until the end of the epoch."""
        loss, scores = self.objective.measure(batch)
        self.log("validation_loss", loss, batch_size=len(batch.indices), sync_dist=True)
        kept = (batch.indices, scores, batch.targets > 0)
        self._validated.append(tuple(tensor.cpu().numpy() for tensor in kept))

    def on_validation_epoch_end(self) -> None:
        """Compute F1 over the validation documents of all processes."""
        indices, scores, targets = map(np.concatenate, zip(*self._gathered(), strict=True))
        self._validated.clear()
        _, first = np.unique(indices, return_index=True)  # two processes may have scored the same document
        truth, scores = csr_array(targets[first]), scores[first]
        best = best_threshold(truth, scores)
        macro = flat_metrics(truth, csr_array(scores >= best.threshold)).macro.f1
        self.log_dict({"micro_f1": best.f1, "macro_f1": macro}, sync_dist=True)
        # Lightning would log the loss of an epoch only after its validation, too late for the history.
        self.log("loss", self.take_loss(), sync_dist=True)

    def take_loss(self) -> float:
        """The mean loss of the documents since it was last asked for."""
        total = sum(loss * documents for loss, documents in self._losses)
        mean = total / max(1, sum(documents for _, documents in self._losses))
        self._losses.clear()
        return mean

    def configure_optimizers(self) -> Any:
        """AdamW, with groups for the word vectors and those of the network, and the schedule of the learning rate."""
        rate, network = self._config.learning_rate, self.objective.network
        of_vectors = {"lr": rate * self._config.vectors_rate, "eps": self._config.vectors_epsilon}
        special = [{"params": [network.word_vectors], **of_vectors}, *network.rate_groups()]
        grouped = {id(parameter) for group in special for parameter in group["params"]}
        others = [parameter for parameter in self.objective.parameters() if id(parameter) not in grouped]
        groups: list[dict[str, Any]] = [{"params": others}, *special]
        optimizer = torch.optim.AdamW(
            groups,
            lr=rate,
            weight_decay=self._config.weight_decay,
            fused=True,  # the foreach implementation would copy all parameters
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
    """The factor of the learning rate at each step."""
    warmup = round(config.warmup * steps)

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        if config.schedule == "constant":
            return 1.0
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, steps - warmup))))

    return factor
