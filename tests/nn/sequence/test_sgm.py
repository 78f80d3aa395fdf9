"""The sequence generation model beside one that reads a single document, and searches that try all sequences."""

import itertools
import math

import pytest
import torch
from torch.nn import functional

from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.sgm import SGM, SGMConfig, _masked_log_softmax

SIZES = Sizes(vocabulary=20, D=5, labels=3)
LENGTHS = [6, 0, 1, 9, 3, 4, 8, 2, 5, 7]
END = 3


def network(end=0.5, **options):
    """A network that is sure enough of its symbols for sequences of all lengths to be the best of some document."""
    torch.manual_seed(2)
    model = SGM(SGMConfig(**{"units": 4, "label_size": 5, "dropout": 0.0, **options}), SIZES)
    with torch.no_grad():
        for name in ("embedding", "hidden", "output", "output_end"):
            getattr(model, name).weight.mul_(4)
        model.output_end.bias.fill_(end)
    return model


def documents(lengths=LENGTHS):
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(1, 20, (len(lengths), max(lengths)), generator=generator, dtype=torch.int32)
    lengths = torch.tensor(lengths)
    return words * (torch.arange(words.shape[1]) < lengths[:, None]), lengths


TARGETS = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0]] * 2, dtype=torch.float)


@torch.no_grad()
def probabilities(model, words, generated):
    """The probabilities of all symbols before and after each of the labels `generated`, for one document [n]."""
    x, hidden = model.embedding(words.long()), [torch.zeros(1, 8) for _ in model.encoder]
    for number, layer in enumerate(model.encoder):
        if len(words):
            forwards, backwards = (read(x)[0] for read, x in zip(layer.layers, (x, x.flip(0)), strict=True))
            hidden[number] = torch.cat([forwards[-1:], backwards[-1:]], dim=1)
            x = torch.cat([forwards, backwards.flip(0)], dim=1)
    cell = [torch.zeros(1, 8) for _ in hidden]
    g, c, steps = model.start, attended(model.attention, hidden[-1][0], x), []
    for t in range(len(generated) + 1):
        s = torch.cat([g, c])[None]
        for number, layer in enumerate(model.decoder):
            s, cell[number] = layer(s, (hidden[number], cell[number]))
            hidden[number] = s
        c = attended(model.attention, s[0], x)
        o = torch.tanh(model.hidden.weight @ torch.cat([s[0], c]))
        logits = [*(model.output.weight @ o + model.output.bias).tolist(), model.output_end(o).item()]
        powers = [0.0 if label in generated[:t] else math.exp(logit) for label, logit in enumerate(logits)]
        steps.append([power / sum(powers) for power in powers])
        table = [*model.labels.weight, model.end]
        mean = sum(p * e for p, e in zip(steps[-1], table, strict=True))
        if t < len(generated):
            last = table[generated[t]]
            gate = torch.sigmoid(model.gate.weight[:, :5] @ last + model.gate.weight[:, 5:] @ mean)
            g = (1 - gate) * last + gate * mean
    return steps


def attended(attention, query, x):
    if not len(x):
        return torch.zeros_like(query)
    logits = [attention.weight.weight[0] @ torch.tanh(attention.query(query) + attention.key(h)) for h in x]
    return torch.stack(logits).softmax(dim=0) @ x


def logarithm(steps, labels):
    return sum(math.log(p[symbol]) for p, symbol in zip(steps, [*labels, END], strict=True))


def searched(model, words):
    """The best of all sequences of labels, and what it is worth for each label."""
    sequences = [labels for n in range(4) for labels in itertools.permutations(range(3), n)]
    assert len(sequences) == 16
    best = max(sequences, key=lambda labels: logarithm(probabilities(model, words, labels), labels))
    return best, torch.tensor(probabilities(model, words, best))[:, :3].amax(dim=0)


def greedily(model, words):
    labels = []
    while True:
        steps = probabilities(model, words, labels)
        symbol = max(range(4), key=lambda symbol: steps[-1][symbol])
        if symbol == END:
            return tuple(labels), torch.tensor(steps)[:, :3].amax(dim=0)
        labels.append(symbol)


def each(search, model, words, lengths):
    found = [search(model, words[b, :n]) for b, n in enumerate(lengths.tolist())]
    return [labels for labels, _ in found], torch.stack([scores for _, scores in found])


@pytest.mark.parametrize(("layers", "end"), [(1, 0.5), (2, -1.0)])
def test_a_wide_beam_finds_the_best_of_all_sequences(layers, end):
    model, (words, lengths) = network(layers=layers, end=end, beam=16), documents(LENGTHS[:7])
    best, expected = each(searched, model, words, lengths)
    assert torch.allclose(model.scores(words, lengths), expected, atol=1e-5)
    assert len(set(map(len, best))) > 1, "sequences of one length only say little"


def test_a_beam_of_one_is_greedy():
    model, (words, lengths) = network(beam=1), documents(LENGTHS[:7])
    greedy, expected = each(greedily, model, words, lengths)
    assert torch.allclose(model.scores(words, lengths), expected, atol=1e-5)
    best, _ = each(searched, model, words, lengths)
    assert greedy != best, "documents of which greed finds the best sequence say little"


def test_the_usual_beam_finds_what_greed_misses():
    model, (words, lengths) = network(beam=5), documents(LENGTHS[:7])
    _, expected = each(searched, model, words, lengths)
    assert torch.allclose(model.scores(words, lengths), expected, atol=1e-5)


def test_the_search_stops_after_the_longest_sequence():
    model, (words, lengths) = network(longest=1), documents()
    first = [probabilities(model, words[b, :n], [])[0][:3] for b, n in enumerate(lengths.tolist())]
    assert torch.allclose(model.scores(words, lengths), torch.tensor(first), atol=1e-5)


def test_masked_softmax_is_that_of_a_loop():
    generator = torch.Generator().manual_seed(0)
    logits = 5 * torch.randn(6, 5, generator=generator)
    generated = torch.rand(6, 5, generator=generator) < 0.5
    generated[0], generated[1, -1], generated[2] = True, True, False
    found = _masked_log_softmax(logits, generated)
    for row in range(6):
        open_ = [symbol for symbol in range(5) if symbol == 4 or not generated[row, symbol]]
        total = sum(math.exp(logits[row, symbol]) for symbol in open_)
        for symbol in range(5):
            expected = math.exp(logits[row, symbol]) / total if symbol in open_ else 0.0
            assert math.exp(found[row, symbol]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_loss_is_the_mean_over_the_symbols_of_labels_by_frequency(layers):
    model, (words, lengths) = network(layers=layers), documents()
    model.set_frequencies(torch.tensor([3, 1, 7]))
    assert model.rank.tolist() == [1, 2, 0]
    total, count = 0.0, 0
    for b, n in enumerate(lengths.tolist()):
        labels = [label for label in (2, 0, 1) if TARGETS[b, label]]
        total -= logarithm(probabilities(model, words[b, :n], labels), labels)
        count += len(labels) + 1
    assert model.loss(words, lengths, TARGETS).item() == pytest.approx(total / count, rel=1e-4)


def test_labels_as_frequent_as_others_keep_their_order():
    model = network()
    assert model.rank.tolist() == [0, 1, 2]
    model.set_frequencies(torch.tensor([1, 5, 5]))
    assert model.rank.tolist() == [2, 0, 1]
    assert model.state_dict()["rank"].dtype == torch.int64
    other = network()
    other.load_state_dict(model.state_dict())
    assert other.rank.tolist() == [2, 0, 1]


def test_padding_changes_nothing():
    model, (words, lengths) = network().eval(), documents()
    together = model.scores(words, lengths)
    assert together.shape == (len(LENGTHS), 3)
    assert ((together >= 0) & (together <= 1)).all()
    assert together.std(dim=0).min() > 1e-2
    order = [4, 2, 0, 3, 5, 1, 9, 8, 6, 7]
    assert torch.allclose(model.scores(words[order], lengths[order]), together[order], atol=1e-5)
    assert torch.allclose(model.scores(functional.pad(words, (0, 8)), lengths), together, atol=1e-5)
    for document, length in enumerate(LENGTHS):
        one = slice(document, document + 1)
        assert torch.allclose(model.scores(words[one, :length], lengths[one]), together[one], atol=1e-5)
    padded = model.loss(functional.pad(words, (0, 8)), lengths, TARGETS)
    assert torch.allclose(padded, model.loss(words, lengths, TARGETS), atol=1e-5)


@pytest.mark.parametrize("layers", [1, 2])
def test_every_parameter_receives_a_gradient(layers):
    model, (words, lengths) = network(layers=layers), documents()
    model.loss(words, lengths, TARGETS).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


def test_documents_can_be_learned_by_heart():
    torch.manual_seed(2)
    model = SGM(SGMConfig(units=8, label_size=8, dropout=0.0), SIZES)
    words, lengths = documents(LENGTHS[:5])
    for _ in range(40):
        gradients = torch.autograd.grad(model.loss(words, lengths, TARGETS[:5]), list(model.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.sub_(0.03 * gradient.sign())
    assert torch.equal(model.scores(words, lengths) > 0.5, TARGETS[:5] > 0)


def test_dropout_acts_in_training_only():
    model, batch = network(dropout=0.5), documents()
    assert not torch.equal(model.train().loss(*batch, TARGETS), model.loss(*batch, TARGETS))
    assert torch.equal(model.eval().loss(*batch, TARGETS), model.loss(*batch, TARGETS))


def test_batches_without_words_or_documents():
    model, batch = network(), documents([0, 0])
    assert model.scores(*batch).shape == (2, 3)
    assert torch.isfinite(model.loss(*batch, torch.zeros(2, 3)))
    assert model.scores(torch.zeros(0, 4, dtype=torch.int32), torch.zeros(0, dtype=torch.long)).shape == (0, 3)
