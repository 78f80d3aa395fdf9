"""What all networks over sequences must do, written once."""

import pytest
import torch
from torch.nn import functional


@pytest.fixture(scope="session")
def documents():
    """Make documents with so many words, padded with 0."""

    def make(lengths):
        generator = torch.Generator().manual_seed(0)
        words = torch.randint(1, 30, (len(lengths), max(lengths)), generator=generator, dtype=torch.int32)
        lengths = torch.tensor(lengths, dtype=torch.int32)
        return words * (torch.arange(words.shape[1]) < lengths[:, None]), lengths

    return make


@pytest.fixture(scope="session")
def check_padding():
    """Make sure that a document scores the same alone, in any order, and with more padding."""

    def check(model, words, lengths):
        together = model.eval()(words, lengths)
        count = len(lengths)
        assert (torch.cdist(together, together) + torch.eye(count) > 1e-4).all()  # every document scores differently
        order = torch.randperm(count, generator=torch.Generator().manual_seed(1))
        assert torch.allclose(model(words[order], lengths[order]), together[order], atol=1e-5)
        assert torch.allclose(model(functional.pad(words, (0, 9)), lengths), together, atol=1e-5)
        for row, length in enumerate(lengths.tolist()):
            alone = model(words[row : row + 1, :length], lengths[row : row + 1])
            assert torch.allclose(alone, together[row : row + 1], atol=1e-5)
        return together

    return check


@pytest.fixture(scope="session")
def check_gradients():
    """Make sure that every parameter gets a gradient."""

    def check(model, batch):
        scores = model(*batch)
        (scores * torch.randn(scores.shape)).sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.any(), name

    return check


@pytest.fixture(scope="session")
def check_dropout():
    """Make sure that dropout acts in training only."""

    def check(model, batch):
        assert not torch.equal(model.train()(*batch), model(*batch))
        assert torch.equal(model.eval()(*batch), model(*batch))

    return check
