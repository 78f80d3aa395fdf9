"""Losses of objectives by hand and by loops; weights of negatives as the taxonomy has them."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from taxocaps.errors import ConfigError
from taxocaps.nn.losses import margin_loss
from taxocaps.nn.network import Sizes
from taxocaps.nn.networks import NETWORKS
from taxocaps.nn.sequence.sgm import SGM, SGMConfig
from taxocaps.scorers.label_weights import LabelNearness
from taxocaps.scorers.objectives import (
    OBJECTIVES,
    LossConfig,
    PointwiseObjective,
    SequenceObjective,
    balanced_weights,
)
from taxocaps.taxonomy.embedding import unit_vectors
from taxocaps.training.batches import Batch

SCORES = torch.tensor([[0.6, 0.95, 0.5, 0.05], [0.2, 0.3, 0.85, 0.01]])
TARGETS = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
LOGITS = torch.tensor([[-2.0, 0.5, 3.0, 0.0], [1.0, -1.0, 0.25, -4.0]])


def loss_config(**options):
    """The paper's loss; all is named, whatever the defaults may be."""
    usual = {"kind": "margin", "label_weights": "taxonomy", "p": 1.0, "floor": 0.0}
    return LossConfig(**{**usual, "upper": 0.9, "lower": 0.1, "down": 0.5, **options})


class Echo(nn.Module):
    """A network that gives back what it is given, and counts how often."""

    label_parameters = ()

    def __init__(self, output_type):
        super().__init__()
        self.output_type = output_type
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x


class Linear(nn.Linear):
    output_type = "logits"
    label_parameters = ("weight", "bias")


def objective(config=None, *, output_type="scores", label_vectors=None):
    nearness = None if label_vectors is None else LabelNearness(label_vectors)
    return PointwiseObjective(Echo(output_type), config or loss_config(), nearness=nearness)


def batch(numbers, targets=TARGETS):
    return Batch(torch.arange(len(numbers)), (numbers,), targets)


def unit(vectors):
    return torch.from_numpy(unit_vectors(np.asarray(vectors, np.float32)))


def alpha(targets, vectors):
    """1 less the cosine of the nearest label of the document, from 0 to 1, in loops; 1 without a label."""

    def cosine(one, other):
        lengths = np.linalg.norm(one) * np.linalg.norm(other)
        return float(one @ other) / lengths if lengths else 0.0

    found = np.ones(targets.shape)
    for document, carried in enumerate(targets):
        for label, vector in enumerate(vectors):
            cosines = [cosine(vectors[other], vector) for other in np.flatnonzero(carried)]
            if cosines:
                found[document, label] = min(1.0, max(0.0, 1 - max(cosines)))
    return found


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 8), st.integers(1, 4), st.floats(0, 1))
def test_weights_of_negatives_equal_those_of_the_taxonomy(seed, documents, labels, dimension, share):
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((labels, dimension)).astype(np.float32)
    vectors[generator.random(labels) < 0.2] = 0
    targets = generator.random((documents, labels)) < share
    found = objective(label_vectors=unit(vectors)).negative_weights(torch.from_numpy(targets.astype(np.float32)))
    assert found.numpy() == pytest.approx(alpha(targets, vectors), abs=1e-6)


def test_a_document_without_labels_weighs_all_negatives_fully():
    found = objective(label_vectors=unit(np.eye(4))).negative_weights(torch.zeros(2, 4))
    assert torch.equal(found, torch.ones(2, 4))


@pytest.mark.parametrize("floor", [0.25, 1.0])
def test_a_floor_lifts_all_weights(floor):
    vectors = unit([[1, 0], [0, 1], [1, 1]])
    plain = objective(label_vectors=vectors).negative_weights(torch.tensor([[1.0, 0.0, 0.0]]))
    lifted = objective(loss_config(floor=floor), label_vectors=vectors).negative_weights(torch.tensor([[1.0, 0, 0]]))
    near = 1 - math.sqrt(0.5)
    assert plain.tolist()[0] == pytest.approx([0, 1, near], abs=1e-6)
    assert lifted.tolist()[0] == pytest.approx([floor, 1, floor + (1 - floor) * near], abs=1e-6)


def test_the_constant_control_gives_the_mean_of_all_pairs():
    # Right angles but for labels 0 and 2, whose cosine is 1/2: the weights of the three pairs are 1, 1/2 and 1.
    vectors = unit([[1, 0, 0], [0, 1, 0], [0.5, 0, math.sqrt(0.75)]])
    targets = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = objective(loss_config(control="constant"), label_vectors=vectors).negative_weights(targets)
    assert found.numpy() == pytest.approx(np.full((2, 3), 2.5 / 3), abs=1e-6)
    lifted = objective(loss_config(control="constant", floor=0.4), label_vectors=vectors).negative_weights(targets)
    assert lifted.numpy() == pytest.approx(np.full((2, 3), 0.4 + 0.6 * 2.5 / 3), abs=1e-6)


def test_the_loss_of_the_constant_control_by_hand():
    vectors = unit([[1, 0, 0, 0], [0, 1, 0, 0], [0.5, 0, math.sqrt(0.75), 0], [0, 0, 0, 1]])
    # One of six pairs weighs 1/2, the others 1: the mean is 5.5 / 6.
    first = 0.09 + 0.5 * 5.5 / 6 * 0.16
    second = 0.0025 + 0.5 * 5.5 / 6 * (0.01 + 0.04)
    found = objective(loss_config(control="constant"), label_vectors=vectors).loss(batch(SCORES))
    assert found.item() == pytest.approx((first + second) / 2)


def test_one_label_has_no_pairs():
    found = objective(loss_config(control="constant"), label_vectors=unit([[1, 0]])).negative_weights(torch.ones(2, 1))
    assert torch.equal(found, torch.ones(2, 1))


def test_the_margin_loss_by_hand():
    # First document: (0.9 - 0.6)^2 + 0 + 0.5 (0.5 - 0.1)^2 + 0 = 0.17.
    # Second: (0.9 - 0.85)^2 + 0.5 ((0.2 - 0.1)^2 + (0.3 - 0.1)^2) = 0.0025 + 0.025.
    found = objective(loss_config(label_weights="uniform")).loss(batch(SCORES))
    assert found.item() == pytest.approx((0.17 + 0.0275) / 2)


def test_other_margins_by_hand():
    config = loss_config(label_weights="uniform", upper=0.7, lower=0.4, down=2.0)
    # (0.7 - 0.6)^2 + 2 (0.5 - 0.4)^2, and nothing in the second document.
    assert objective(config).loss(batch(SCORES)).item() == pytest.approx((0.01 + 0.02) / 2)


def test_the_weighted_margin_loss_by_hand():
    # Labels 0 and 2 at 60 degrees: their cosine is 1/2; all others stand at right angles.
    vectors = unit([[1, 0, 0, 0], [0, 1, 0, 0], [0.5, 0, math.sqrt(0.75), 0], [0, 0, 0, 1]])
    # Label 2 weighs 1/2 beside label 0; in the second document label 0 weighs 1/2 beside label 2, label 1 fully.
    first = 0.09 + 0.5 * 0.01 * 0.5 * 0.16
    second = 0.0025 + 0.5 * 0.01 * (0.5 * 0.01 + 1 * 0.04)
    found = objective(loss_config(p=0.01), label_vectors=vectors).loss(batch(SCORES))
    assert found.item() == pytest.approx((first + second) / 2)
    # Weights of negatives: 1/2 and 1 in the first document, 1/2, 1 and 1 in the second.
    first = 0.09 + 0.5 / 1.5 * 0.5 * 0.16
    second = 0.0025 + 0.5 / 2.5 * (0.5 * 0.01 + 1 * 0.04)
    found = objective(loss_config(p="sum-to-one"), label_vectors=vectors).loss(batch(SCORES))
    assert found.item() == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("p", [0.001, 7.0, "sum-to-one", "approximate"])
def test_uniform_means_that_p_and_alpha_are_one(p):
    found = objective(loss_config(label_weights="uniform", p=p)).loss(batch(SCORES))
    assert found == margin_loss(SCORES, TARGETS, torch.ones(2, 4), p=1.0)


def test_the_margin_loss_of_a_dense_head_sees_probabilities():
    found = objective(loss_config(label_weights="uniform"), output_type="logits").loss(batch(LOGITS))
    assert found.item() == pytest.approx(margin_loss(LOGITS.sigmoid(), TARGETS).item())


def cross_entropy(probabilities, targets):
    """The mean over documents of the sum over labels, in a loop."""
    total = 0.0
    for row, wanted in zip(probabilities.tolist(), targets.tolist(), strict=True):
        for p, target in zip(row, wanted, strict=True):
            total -= math.log(p) if target else math.log(1 - p)
    return total / len(probabilities)


def test_cross_entropy_equals_a_loop():
    config = loss_config(kind="cross-entropy", label_weights="uniform")
    dense = objective(config, output_type="logits").loss(batch(LOGITS))
    assert dense.item() == pytest.approx(cross_entropy(LOGITS.sigmoid(), TARGETS), rel=1e-5)
    capsule = objective(config).loss(batch(SCORES))
    assert capsule.item() == pytest.approx(cross_entropy(SCORES, TARGETS), rel=1e-5)


def test_cross_entropy_is_finite_for_certain_scores():
    config = loss_config(kind="cross-entropy", label_weights="uniform")
    for numbers, output_type in (
        (torch.tensor([[0.0, 1.0, 1.0 + 1e-6]]), "scores"),
        (torch.tensor([[-1e4, 1e4, 0]]), "logits"),
    ):
        numbers.requires_grad_()
        loss = objective(config, output_type=output_type).loss(batch(numbers, torch.tensor([[1.0, 0.0, 1.0]])))
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(numbers.grad).all()


def test_scores_are_between_zero_and_one():
    assert torch.equal(objective().scores(batch(SCORES)), SCORES)
    assert objective(output_type="logits").scores(batch(LOGITS)).tolist()[0] == pytest.approx(
        [1 / (1 + math.exp(2)), 1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(-3)), 0.5]
    )


def test_label_vectors_are_not_saved_with_the_weights():
    made = PointwiseObjective(Linear(4, 4), LossConfig(), nearness=LabelNearness(unit(np.eye(4))))
    assert set(made.state_dict()) == {"network.weight", "network.bias"}
    assert {name for name, _ in made.named_parameters()} == {"network.weight", "network.bias"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "hinge"}, "loss.kind must be one of margin, cross-entropy; got 'hinge'"),
        ({"upper": 1.5}, "loss.upper must be from 0 to 1; got 1.5"),
        ({"p": "sum"}, "loss.p must be a number or one of sum-to-one, approximate; got 'sum'"),
        ({"p": -1}, "loss.p must be from 0 to 1000000.0 or one of sum-to-one, approximate; got -1"),
        (
            {"control": "permuted", "label_weights": "uniform"},
            "loss.control=permuted needs loss.label_weights=taxonomy",
        ),
        ({"down": -1}, "loss.down must be from 0 to 1000000.0; got -1"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ConfigError) as caught:
        LossConfig(**options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("output_type", ["logits", "scores"])
def test_one_pass_measures_loss_and_scores(output_type):
    made = objective(LossConfig(label_weights="uniform"), output_type=output_type)
    given = batch(torch.tensor([[0.2, 0.7], [0.9, 0.1]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    loss, scores = made.measure(given)
    assert made.network.calls == 1
    assert torch.equal(loss, made.loss(given))
    assert torch.equal(scores, made.scores(given))


def test_labels_are_tied_to_their_parents_in_training_only():
    torch.manual_seed(0)
    network = Linear(3, 2)
    edges = torch.tensor([[0], [1]])
    batch = Batch(torch.arange(4), (torch.randn(4, 3),), torch.tensor([[1.0, 0.0]]).expand(4, 2))
    config = LossConfig(kind="cross-entropy", label_weights="uniform")
    plain = PointwiseObjective(network, config, edges=edges)
    tied = PointwiseObjective(network, config.replace(recursive=0.1), edges=edges)
    parent, child = network.weight.detach()
    extra = 0.1 * 0.5 * (child - parent).square().sum()
    assert torch.isclose(tied.loss(batch), plain.loss(batch) + extra)
    assert torch.equal(tied.measure(batch)[0], plain.measure(batch)[0])
    assert torch.equal(tied.scores(batch), plain.scores(batch))


def test_parents_without_a_column_have_weights_of_their_own():
    torch.manual_seed(0)
    network = Linear(3, 2)
    batch = Batch(torch.arange(4), (torch.randn(4, 3),), torch.tensor([[1.0, 0.0]]).expand(4, 2))
    config = LossConfig(kind="cross-entropy", label_weights="uniform", recursive=0.1)
    siblings = PointwiseObjective(network, config, edges=torch.tensor([[2, 2], [0, 1]]))
    assert [tuple(weights.shape) for weights in siblings.inner] == [(1, 3)]
    with torch.no_grad():
        siblings.inner[0].copy_(torch.tensor([[1.0, -1.0, 2.0]]))
    extra = 0.05 * (network.weight.detach() - torch.tensor([1.0, -1.0, 2.0])).square().sum()
    plain = PointwiseObjective(network, config.replace(recursive=0.0))
    assert torch.isclose(siblings.loss(batch), plain.loss(batch) + extra)
    siblings.loss(batch).backward()
    assert siblings.inner[0].grad.abs().sum() > 0


def test_biases_start_at_the_frequencies_of_labels():
    network = Linear(3, 4)
    weights = network.weight.detach().clone()
    made = PointwiseObjective(network, LossConfig(kind="cross-entropy", label_weights="uniform"))
    made.prepare(torch.tensor([0, 1, 50, 99]), 99)
    shares = [0.005, 0.015, 0.505, 0.995]  # half a document more on either side
    assert network.bias.tolist() == pytest.approx([math.log(share / (1 - share)) for share in shares], rel=1e-4)
    assert torch.equal(network.weight, weights)


def test_a_network_that_continues_keeps_the_biases_of_labels_it_knows():
    network = Linear(3, 3)
    before = network.bias.detach().clone()
    made = PointwiseObjective(network, LossConfig(kind="cross-entropy", label_weights="uniform"))
    made.prepare(torch.tensor([10, 50, 99]), 99, known=[0, 2])
    assert torch.equal(network.bias[[0, 2]], before[[0, 2]])
    assert network.bias[1].sigmoid().item() == pytest.approx(0.505, rel=1e-4)


def test_with_the_margin_loss_no_score_starts_below_the_lower_margin():
    network = Linear(3, 3)
    PointwiseObjective(network, loss_config(lower=0.2)).prepare(torch.tensor([0, 10, 50]), 99)
    assert network.bias.sigmoid().tolist() == pytest.approx([0.2, 0.2, 0.505], rel=1e-4)
    PointwiseObjective(network, loss_config(lower=0.0)).prepare(torch.tensor([0, 10, 50]), 99)
    assert network.bias.sigmoid().tolist() == pytest.approx([0.01, 0.105, 0.505], rel=1e-4)


def test_biases_stay_where_told_so_and_where_scores_are_no_logits():
    network = Linear(3, 2)
    bias = network.bias.detach().clone()
    PointwiseObjective(network, LossConfig(start="half")).prepare(torch.tensor([1, 2]), 9)
    assert torch.equal(network.bias, bias)
    made = PointwiseObjective(network, LossConfig())
    network.output_type = "scores"
    made.prepare(torch.tensor([1, 2]), 9)
    assert torch.equal(network.bias, bias)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=50).filter(any), st.floats(0, 1))
def test_rare_labels_weigh_more_and_all_labels_of_all_documents_as_much_as_before(counts, power):
    weights = balanced_weights(torch.tensor(counts), power).tolist()
    total = sum(weight * count for weight, count in zip(weights, counts, strict=True))
    assert total == pytest.approx(sum(counts), rel=1e-3)
    for one, other in itertools.pairwise(sorted(range(len(counts)), key=counts.__getitem__)):
        assert weights[one] >= weights[other] * (1 - 1e-5)
    if power == 1:  # documents of each label that has any weigh the same together
        shares = {round(weight * count, 2) for weight, count in zip(weights, counts, strict=True) if count}
        assert max(shares) == pytest.approx(min(shares), rel=1e-2)


@pytest.mark.parametrize("kind", ["margin", "cross-entropy"])
@pytest.mark.parametrize("output_type", ["logits", "scores"])
def test_frequencies_weigh_positives_if_wanted(kind, output_type):
    numbers, counts = (LOGITS if output_type == "logits" else SCORES), torch.tensor([1, 4, 16, 0])
    made = objective(loss_config(kind=kind, label_weights="uniform", balance=0.5), output_type=output_type)
    made.prepare(counts, 21)
    weights, total = balanced_weights(counts, 0.5).tolist(), 0.0
    for row, wanted in zip(made._as_scores(numbers).tolist(), TARGETS.tolist(), strict=True):
        for weight, score, target in zip(weights, row, wanted, strict=True):
            if kind == "margin":
                total += weight * max(0.0, 0.9 - score) ** 2 if target else 0.5 * max(0.0, score - 0.1) ** 2
            else:
                total -= weight * math.log(score) if target else math.log(1 - score)
    assert made.loss(batch(numbers)).item() == pytest.approx(total / 2, rel=1e-5)
    assert not made.state_dict()  # weights of the loss are no weights of the model


SIZES = Sizes(vocabulary=200, D=30, labels=100, N=64, T=20)


@pytest.mark.parametrize("name", [name for name in NETWORKS if NETWORKS[name].output_type == "logits"])
def test_the_first_loss_is_that_of_the_label_frequencies(name):
    """All networks that return logits; random words say nothing about labels, so no start could be better."""
    torch.manual_seed(0)
    options = {"head": "dense"} if name == "words-matrix" else {}
    network = NETWORKS[name](NETWORKS[name].Config(**options), SIZES)
    nn.init.normal_(network.word_vectors, std=0.25)  # as skip-gram vectors are
    frequencies = 1000 // torch.arange(2, 102)  # few are frequent, most are rare
    shares = frequencies / 1000  # [L]
    made = PointwiseObjective(network, LossConfig(kind="cross-entropy", label_weights="uniform"))
    made.prepare(frequencies, 1000)
    targets = (torch.rand(64, 100) < shares).float()
    loss = made.loss(Batch(torch.arange(64), random_inputs(network.reads[0], 64), targets))
    entropy = functional.binary_cross_entropy(shares.expand(64, -1), targets, reduction="sum") / 64
    assert loss.item() < 1.5 * entropy.item()


def random_inputs(reads, count):
    words = {"words-matrix": (64, 20), "tokens": (90,), "sentences": (6, 15)}[reads]
    ids = torch.randint(1, 200, (count, *words))
    if reads == "words-matrix":
        return ids, torch.ones_like(ids), torch.ones(count, 64, dtype=torch.long)
    return ids, torch.full((count, *words[:-1]), words[-1])


def test_a_network_of_sequences_is_asked_for_loss_and_scores():
    network = SGM(SGMConfig(units=4, layers=1, label_size=4), Sizes(vocabulary=9, D=3, labels=3)).eval()
    objective = SequenceObjective(network)
    batch = Batch(torch.arange(2), (torch.tensor([[2, 3], [4, 0]]), torch.tensor([2, 1])), torch.eye(3)[:2])
    loss, scores = objective.measure(batch)
    assert torch.equal(loss, objective.loss(batch))
    assert torch.equal(loss, network.loss(*batch.inputs, batch.targets))
    assert torch.equal(scores, objective.scores(batch))
    assert scores.shape == (2, 3)


def test_a_network_of_sequences_learns_the_most_frequent_labels_first():
    network = SGM(SGMConfig(units=4, layers=1, label_size=4), Sizes(vocabulary=9, D=3, labels=3))
    SequenceObjective(network).prepare(torch.tensor([1, 5, 3]), 9)
    assert network.rank.tolist() == [2, 0, 1]


def test_every_network_names_an_objective():
    assert {NETWORKS[name].objective for name in NETWORKS} == set(OBJECTIVES)
