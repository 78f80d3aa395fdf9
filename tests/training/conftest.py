"""Documents and a network that are as small as training allows; scripts of the tests use them too."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import nn

from taxocaps.training.config import TrainingConfig
from taxocaps.training.trainer import LabelledInputs

WORDS, LABELS = 20, 4


def make_config(**options):
    """Options of a short run; all are named, whatever the defaults may be."""
    usual = {
        "epochs": 4,
        "batch_size": 8,
        "min_steps": 0,
        "learning_rate": 0.1,
        "vectors_rate": 1.0,
        "vectors_epsilon": 1e-8,
        "schedule": "cosine",
        "warmup": 0.1,
        "weight_decay": 0.0,
        "clip": 1.0,
        "patience": None,
        "device": "cpu",
    }
    return TrainingConfig(**{**usual, **options})


class Bags:
    """Documents as lists of word ids from 1; 0 is padding."""

    def __init__(self, documents):
        self.documents = documents

    @property
    def lengths(self):
        return np.array([len(words) for words in self.documents], np.int64)

    def arrays(self, documents):
        longest = int(self.lengths[documents].max(initial=0))
        padded = np.zeros((len(documents), longest), np.int64)
        for row, document in enumerate(documents):
            words = self.documents[document]
            padded[row, : len(words)] = words
        return (padded,)


class MeanNetwork(nn.Module):
    """The mean of the words' vectors, dropout, and one linear layer."""

    def __init__(self, dropout):
        super().__init__()
        self.words = nn.Embedding(WORDS + 1, 8, padding_idx=0)
        self.linear = nn.Linear(8, LABELS)
        self.dropout = nn.Dropout(dropout)

    @property
    def word_vectors(self):
        return self.words.weight

    def rate_groups(self):
        return []

    def forward(self, words):
        counts = (words > 0).sum(dim=1, keepdim=True).clamp(min=1)
        return self.linear(self.dropout(self.words(words).sum(dim=1) / counts))


class Tagger(nn.Module):
    """That network with the cross entropy of its labels."""

    def __init__(self, dropout=0.5):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(7)
            self.network = MeanNetwork(dropout)

    def loss(self, batch):
        return nn.functional.binary_cross_entropy_with_logits(self.network(*batch.inputs), batch.targets)

    def scores(self, batch):
        return self.network(*batch.inputs).sigmoid()

    def measure(self, batch):
        return self.loss(batch), self.scores(batch)


def make_examples(count, seed=0):
    """Documents whose labels follow from their words, with some noise."""
    generator = np.random.default_rng(seed)
    documents = [generator.integers(1, WORDS + 1, generator.integers(1, 9)) for _ in range(count)]
    labels = np.array([[(words % LABELS == label).any() for label in range(LABELS)] for words in documents])
    return LabelledInputs(Bags(documents), csr_array(labels ^ (generator.random(labels.shape) < 0.1)))


@pytest.fixture(scope="module")
def one_thread():
    """Results are the same to the bit on one thread only."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def config():
    return make_config


@pytest.fixture(scope="session")
def examples():
    return make_examples


@pytest.fixture(scope="session")
def tagger():
    return Tagger
