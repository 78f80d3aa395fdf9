"""The whole network, in all combinations of its axes: padding, attention, gradients, shapes as in the paper."""

import itertools

import pytest
import torch

from taxocaps.errors import ConfigError
from taxocaps.nn import capsules
from taxocaps.nn.network import Sizes
from taxocaps.nn.words_matrix import WordsMatrixConfig, WordsMatrixNetwork

SIZES = Sizes(vocabulary=30, D=6, N=5, T=20, labels=4)
SMALL = {
    "filters": (5, 7),
    "units": 6,
    "channels": 3,
    "capsule_size": 4,
    "label_capsule_size": 5,
    "hidden": (8,),
    "dropout": 0.0,
    "word_dropout": 0.0,
}
PAPER = {
    "filters": (64, 128),
    "units": 128,
    "channels": 64,
    "capsule_size": 16,
    "label_capsule_size": 32,
    "iterations": 3,
    "gain": None,
    "normalization": "none",
    "pooling": "sum",
}
AXES = [
    {"recurrent": recurrent, "attention": attention, "head": head}
    for recurrent, attention in (("none", "none"), ("lstm", "none"), ("lstm", "blocks"))
    for head in ("dense", "capsule")
]
names = [" ".join(axes.values()) for axes in AXES]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    return WordsMatrixNetwork(WordsMatrixConfig(**{**SMALL, **options}), sizes)


def documents(lengths, seed=0):
    """Documents with so many rows, each row of 1 to T words in 1 to 3 blocks."""
    generator = torch.Generator().manual_seed(seed)
    rows = max(lengths, default=0)
    words = torch.zeros(len(lengths), rows, SIZES.T, dtype=torch.int32)
    blocks = torch.zeros_like(words, dtype=torch.int8)
    counts = torch.zeros(len(lengths), rows, dtype=torch.int8)
    for document, length in enumerate(lengths):
        for row in range(length):
            filled = int(torch.randint(1, SIZES.T + 1, (), generator=generator))
            count = min(int(torch.randint(1, 4, (), generator=generator)), filled)
            words[document, row, :filled] = torch.randint(1, 30, (filled,), generator=generator, dtype=torch.int32)
            blocks[document, row, :filled] = (torch.arange(filled) * count // filled + 1).to(torch.int8)
            counts[document, row] = count
    return words, blocks, counts


@pytest.mark.parametrize("axes", AXES, ids=names)
def test_a_document_scores_the_same_alone_and_in_any_batch(axes):
    model, batch = network(**axes).eval(), documents([3, 5, 0, 1, 4])
    together = model(*batch)
    assert together.shape == (5, 4)
    order = [4, 2, 0, 3, 1]
    assert torch.allclose(model(*(tensor[order] for tensor in batch)), together[order], atol=1e-5)
    for document, rows in enumerate([3, 5, 0, 1, 4]):
        alone = model(*(tensor[document : document + 1, :rows] for tensor in batch))
        assert torch.allclose(alone, together[document : document + 1], atol=1e-5)


FORMS = [
    *AXES,
    {"recurrent": "self-attention"},
    {"windows": "kept"},
    {"widths": (3, 5)},
    {"pooling": "sum", "normalization": "none", "gain": None},
    {"pooling": "mean"},
    {"iterations": 3},
    {"sharing": "label"},
    {"compress": 2},
]


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_prediction_without_gradients_gives_the_same(options, monkeypatch):
    monkeypatch.setattr(capsules, "_CHUNK_ROWS", 4)
    model, batch = network(**options).eval(), documents([3, 5, 0, 1, 4])
    torch.nn.init.uniform_(model.embedding.weight)
    for name, parameter in model.named_parameters():
        if name.endswith(("alpha", "row_weight.weight")):
            torch.nn.init.normal_(parameter, 1)
    expected = model(*batch)
    with torch.inference_mode():
        assert torch.allclose(model(*batch), expected, atol=1e-5)
    with torch.no_grad():
        assert torch.allclose(model(*batch), expected, atol=1e-5)


@pytest.mark.parametrize("head", ["dense", "capsule"])
def test_attention_of_ones_is_no_attention(head):
    batch = documents([3, 5])
    attentional, plain = network(head=head), network(head=head, attention="none")
    plain.load_state_dict({k: v for k, v in attentional.state_dict().items() if not k.endswith("alpha")})
    assert torch.equal(attentional(*batch), plain(*batch))


@pytest.mark.parametrize("options", [*AXES, {"sharing": "none"}, {"sharing": "label"}, {"compress": 2}, {"gain": 3.0}])
def test_every_parameter_receives_a_gradient(options):
    model, batch = network(**options), documents([5, 5, 4, 5])
    if options.get("head") != "dense":  # while all rows have the same weight, a common factor changes nothing
        torch.nn.init.normal_(model.head.row_weight.weight)
    (model(*batch) * torch.randn(4, 4)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


def test_shapes_of_the_paper():
    # T = 20 with stride 2: 9, then 4 windows; N x M capsules; the capsule kernel covers the 4 windows that are left.
    sizes = Sizes(vocabulary=10, D=50, N=100, T=20, labels=103)
    model = WordsMatrixNetwork(WordsMatrixConfig(**PAPER), sizes)
    assert model.head.primary.linear.weight.shape == (64 * 16, 4 * 128)
    assert model.head.labels.weight.shape == (103, 32, 64, 16)
    plain = {"recurrent": "none", "attention": "none", "head": "dense"}
    dense = WordsMatrixNetwork(WordsMatrixConfig(**PAPER, **plain), sizes)
    assert [layer.convolutions[0].weight.shape for layer in dense.layers] == [(64, 50, 3), (128, 64, 3)]
    assert dense.head.layers[0].weight.shape == (1024, 100 * 128)


def test_capsule_lengths_are_between_zero_and_one():
    scores = network()(*documents([5, 3, 0]))
    assert ((scores >= 0) & (scores < 1)).all()


def test_a_batch_without_rows():
    for head in ("dense", "capsule"):
        assert network(head=head)(*documents([0, 0])).shape == (2, 4)


@pytest.mark.parametrize("kind", ["dropout", "word_dropout"])
def test_dropout_acts_in_training_only(kind):
    model, batch = network(**{kind: 0.5}), documents([5])
    assert not torch.equal(model.train()(*batch), model(*batch))
    assert torch.equal(model.eval()(*batch), model(*batch))


def test_impossible_networks_are_refused():
    with pytest.raises(ConfigError, match=r"network\.recurrent=lstm"):
        WordsMatrixConfig(recurrent="none")
    with pytest.raises(ConfigError, match=r"rows of graph\.T=4 words are too short for 2 convolutions of stride 2"):
        network(Sizes(vocabulary=10, D=4, labels=2, N=3, T=4))
    with pytest.raises(ConfigError, match=r"network\.filters"):
        WordsMatrixConfig(filters=())


@pytest.mark.parametrize(("T", "stride"), list(itertools.product((7, 19, 20, 21), (1, 2))))
def test_other_row_lengths_and_strides(T, stride):
    sizes = Sizes(vocabulary=30, D=6, labels=4, N=5, T=T)
    words = torch.ones(2, 3, T, dtype=torch.int32)
    found = network(sizes, stride=stride)(words, words.to(torch.int8), torch.ones(2, 3, dtype=torch.int8))
    assert found.shape == (2, 4)


def described(labels=4):
    """A text for each label, as the network reads it."""
    return documents([2, 3, 1, 4][:labels], seed=5)


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("pooling", ["sum", "mean", "weighted"])
def test_labels_that_begin_with_their_names_are_the_best_for_these(iterations, pooling):
    net = network(start="names", iterations=iterations, pooling=pooling, channels=16, capsule_size=8)
    net.eval().start_labels(net.capsule_sums(*described()))
    with torch.no_grad():
        assert net(*described()).argmax(dim=1).tolist() == [0, 1, 2, 3]


def test_labels_with_the_same_names_begin_as_before():
    net = network(start="names")
    before = net.head.labels.weight.detach().clone()
    same = [array[:1].expand(4, *array.shape[1:]) for array in described(1)]
    net.eval().start_labels(net.capsule_sums(*same))
    assert torch.allclose(net.head.labels.weight, before)


def test_names_are_refused_where_nothing_can_begin_with_them():
    for options in ({"head": "dense"}, {"sharing": "label"}, {"compress": 8}):
        with pytest.raises(ConfigError, match=r"network\.start=names needs"):
            network(start="names", **options)
