"""The recurrent CNN: padding, gradients, published shapes, and contexts against the equations in a loop."""

import torch

from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.rcnn import RCNN, RCNNConfig

SIZES = Sizes(vocabulary=30, D=6, labels=4)
LENGTHS = [3, 7, 0, 12, 1, 2]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    return RCNN(RCNNConfig(**{"context": 5, "hidden": 7, "dropout": 0.0, **options}), sizes)


def test_padding_changes_nothing(documents, check_padding):
    assert check_padding(network(), *documents(LENGTHS)).shape == (len(LENGTHS), 4)


def test_every_parameter_receives_a_gradient(documents, check_gradients):
    check_gradients(network(), documents(LENGTHS))


def test_dropout_acts_in_training_only(documents, check_dropout):
    check_dropout(network(dropout=0.5), documents(LENGTHS))


def test_scores_follow_the_equations_of_the_publication(documents):
    model, (words, lengths) = network(), documents(LENGTHS)
    torch.nn.init.normal_(model.ends)
    scores = model(words, lengths)
    for row, length in enumerate(LENGTHS):
        e = model.embedding.weight[words[row, :length].long()]
        left, right = _contexts(model, e)
        latent = [
            torch.tanh(model.latent.weight @ torch.cat(parts) + model.latent.bias)
            for parts in zip(left, e, right, strict=True)
        ]
        greatest = torch.stack(latent).amax(dim=0) if latent else torch.zeros(7)
        assert torch.allclose(scores[row], model.output.weight @ greatest + model.output.bias, atol=1e-5)


def _contexts(model, e):
    """Equations 1 and 2: the context of a word follows from its neighbour's context and vector."""
    left, right = [model.ends[0]], [model.ends[1]]
    forwards, backwards = model.contexts.layers
    for vector in e[:-1]:
        left.append(torch.tanh(forwards.weight_hh_l0 @ left[-1] + forwards.weight_ih_l0 @ vector))
    for vector in e.flip(0)[:-1]:
        right.append(torch.tanh(backwards.weight_hh_l0 @ right[-1] + backwards.weight_ih_l0 @ vector))
    return left[: len(e)], right[: len(e)][::-1]


def test_the_contexts_of_a_word_do_not_know_it():
    model, words = network(), torch.tensor([[3, 4, 5, 6]])
    other = words.clone()
    other[0, 2] = 9
    contexts = [model._contexts(model.embedding(ids), torch.tensor([4])) for ids in (words, other)]
    for before, after in zip(*contexts, strict=True):
        assert torch.equal(before[0, 2], after[0, 2])
    assert not torch.equal(contexts[0][0][0, 3], contexts[1][0][0, 3])
    assert not torch.equal(contexts[0][1][0, 1], contexts[1][1][0, 1])


def test_shapes_of_the_publication():
    model = RCNN(RCNNConfig(), Sizes(vocabulary=10, D=50, labels=4))
    assert model.contexts.layers[0].weight_hh_l0.shape == (50, 50)
    assert model.latent.weight.shape == (100, 150)
    assert model.output.weight.shape == (4, 100)
