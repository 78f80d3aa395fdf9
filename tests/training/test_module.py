"""A step, a validation and the learning rate: by hand, and against the metrics."""

import math

import numpy as np
import pytest
import torch
from lightning.pytorch import Trainer
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, Dataset

from taxocaps.metrics.thresholds import best_threshold
from taxocaps.training.batches import loader, score_documents
from taxocaps.training.config import TrainingConfig
from taxocaps.training.module import TrainingModule
from taxocaps.training.trainer import _quiet_lightning


def rates(objective, steps, count, config):
    """The learning rate of each of the first `count` steps."""
    module = TrainingModule(objective, config, steps, seed=0)
    made = module.configure_optimizers()
    optimizer, schedule = made["optimizer"], made["lr_scheduler"]["scheduler"]
    assert made["lr_scheduler"]["interval"] == "step"
    found = []
    for _ in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


HALF = math.sqrt(0.5)


@pytest.mark.parametrize(
    ("options", "steps", "expected"),
    [
        ({"schedule": "constant", "warmup": 0.0}, 4, [1, 1, 1, 1, 1]),
        # Four of ten steps climb: 1/5, 2/5, 3/5, 4/5.
        ({"schedule": "constant", "warmup": 0.4}, 10, [0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 1]),
        # The half cosine at 0, 45, 90 and 135 degrees; after the last step it stays at 0.
        ({"schedule": "cosine", "warmup": 0.0}, 4, [1, (1 + HALF) / 2, 0.5, (1 - HALF) / 2, 0, 0]),
        (
            {"schedule": "cosine", "warmup": 0.5},
            8,
            [0.2, 0.4, 0.6, 0.8, 1, (1 + HALF) / 2, 0.5, (1 - HALF) / 2, 0, 0],
        ),
        ({"schedule": "cosine", "warmup": 1.0}, 3, [0.25, 0.5, 0.75, 1]),
        ({"schedule": "cosine", "warmup": 0.1}, 1, [1, 0]),
    ],
)
def test_the_learning_rate_by_hand(tagger, config, options, steps, expected):
    found = rates(tagger(), steps, len(expected), config(learning_rate=1.0, **options))
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_optimizer_takes_the_options_and_all_weights(tagger, config):
    objective = tagger()
    options = config(learning_rate=0.25, vectors_rate=3.0, vectors_epsilon=0.5, weight_decay=0.125, warmup=0.0)
    optimizer = TrainingModule(objective, options, 5, seed=0).configure_optimizers()["optimizer"]
    groups = optimizer.param_groups
    rates_of = {id(weight): (group["lr"], group["eps"]) for group in groups for weight in group["params"]}
    found = {name: rates_of.pop(id(weight)) for name, weight in objective.named_parameters()}
    # Word vectors, whatever their name, have a rate and an epsilon of their own.
    assert found == {
        "network.words.weight": (0.75, 0.5),
        "network.linear.weight": (0.25, 1e-8),
        "network.linear.bias": (0.25, 1e-8),
    }
    assert not rates_of
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.125}


class Listed(Dataset):
    """Batches as they are."""

    def __init__(self, batches):
        self.batches = list(batches)

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def validate(objective, batches):
    module = TrainingModule(objective, TrainingConfig(), 1, seed=0)
    quiet = {"enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    with _quiet_lightning():
        trainer = Trainer(accelerator="cpu", logger=False, **quiet)
        trainer.validate(module, DataLoader(Listed(batches), batch_size=None), verbose=False)
    return {name: float(value) for name, value in trainer.callback_metrics.items()}


def test_micro_f1_is_that_of_the_best_threshold(examples, tagger):
    held_out, objective = examples(33, seed=5), tagger()
    found = validate(objective, loader(held_out.inputs, held_out.labels, 4))
    scores = score_documents(objective, held_out.inputs, held_out.labels.shape[1])
    assert found["micro_f1"] == pytest.approx(best_threshold(held_out.labels, scores).f1, abs=1e-6)
    assert 0.2 < found["micro_f1"] < 0.95
    given = scores >= best_threshold(held_out.labels, scores).threshold
    expected = f1_score(held_out.labels.toarray(), given, average="macro", zero_division=0)
    assert found["macro_f1"] == pytest.approx(expected, abs=1e-6)


def test_the_loss_is_a_mean_over_documents(examples, tagger):
    # Batches of 4, 4 and 1: the last one counts a quarter of the others.
    held_out, objective = examples(9), tagger().eval()
    found = validate(objective, loader(held_out.inputs, held_out.labels, 4))
    (whole,) = loader(held_out.inputs, held_out.labels, 9)
    assert found["validation_loss"] == pytest.approx(objective.loss(whole).item(), rel=1e-5)


def test_a_document_that_comes_twice_counts_once(examples, tagger):
    held_out, objective = examples(20), tagger()
    batches = list(loader(held_out.inputs, held_out.labels, 4))
    once = validate(objective, batches)["micro_f1"]
    assert validate(objective, [*batches, batches[0], batches[3]])["micro_f1"] == once


def test_randomness_is_decided_by_the_seed(tagger):
    def drawn(seed):
        with torch.random.fork_rng():
            TrainingModule(tagger(), TrainingConfig(), 1, seed).on_train_epoch_start()
            return torch.rand(3).tolist()

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(5)}) == 5


def test_the_loss_of_a_step_is_that_of_the_objective(examples, tagger):
    learned, objective = examples(6), tagger(dropout=0.0)
    module = TrainingModule(objective, TrainingConfig(), 1, seed=0)
    (batch,) = loader(learned.inputs, learned.labels, 8)
    loss = module.training_step(batch)
    logits = np.log(objective.scores(batch).detach().numpy() / (1 - objective.scores(batch).detach().numpy()))
    expected = np.mean(np.logaddexp(0, logits) - batch.targets.numpy() * logits)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
