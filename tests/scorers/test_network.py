"""Networks as scorers: what they learn, from what they start, how they are kept, what others may add."""

import copy
import pickle
import re
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from taxocaps.config import Config
from taxocaps.corpus.labels import Classes, label_matrix
from taxocaps.encoding.store import open_store
from taxocaps.encoding.store_writer import write_store
from taxocaps.errors import CorpusError, ModelError
from taxocaps.metrics.calibration import logistic, logit
from taxocaps.nn.network import Estimate, Network, Sizes, word_embedding
from taxocaps.nn.networks import NETWORKS
from taxocaps.nn.words_matrix import WordsMatrixConfig, WordsMatrixNetwork
from taxocaps.scorers import network as network_module
from taxocaps.scorers.base import Examples, FitContext
from taxocaps.scorers.decision import count_labels
from taxocaps.scorers.fitting import fit_model
from taxocaps.scorers.model import ModelName
from taxocaps.scorers.network import NetworkScorer, describe_memory
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.taxonomy.embedding import train_label_vectors
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.text.pipeline import TextPipeline

heads = pytest.mark.parametrize("head", ["dense", "capsule"])
STILL = {"training": {"learning_rate": 1e-9, "epochs": 1}}
"""With such a rate no weight moves by more than a billionth."""


@pytest.fixture
def fit_scorer(small_config, toys, encode, tmp_path):
    """Fit a scorer to toy documents; gives it, and its report."""
    runs = iter(range(100))

    def fit_it(*layers, classes=toys.classes, texts=toys.texts, labels=toys.labels, seed=0, start=None, **context):
        scorer = NetworkScorer(small_config(*layers), classes, seed)
        scorer.start = start
        examples = Examples(encode(scorer, texts), labels)
        folder = context.pop("folder", tmp_path / str(next(runs)))
        return scorer, scorer.fit(examples, examples, FitContext(folder, **context))

    return fit_it


def state(scorer):
    return scorer.network.state_dict()


def same(one, other):
    return all(torch.equal(weights, other[name]) for name, weights in one.items())


@heads
def test_scores_of_each_label_for_each_text(fit_scorer, toys, encode, head):
    scorer, report = fit_scorer({"network": {"head": head}, "training": {"epochs": 2}})
    scores = scorer.scores(encode(scorer, [*toys.texts, "", "words nobody knows"]))
    assert (scores.dtype, scores.shape) == (np.float32, (14, 10))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert not scores[12].any()
    assert scores[[*range(12), 13]].all()
    assert (report.epochs, len(report.history)) == (2, 2)
    assert 1 <= report.best_epoch <= 2
    assert scorer.scores(encode(scorer, [])).shape == (0, 10)


def words_of(texts):
    return list(TextPipeline().tokenize(texts).documents())


def test_the_vocabulary_is_that_of_the_training_documents(fitted, toys):
    scorer = fitted.scorer
    words = {word for document in words_of(toys.texts) for word in document}
    assert set(scorer.vocabulary.words) == words
    assert state(scorer)["embedding.weight"].shape == (len(words) + 2, 8)


def test_without_a_word_that_is_frequent_enough(fit_scorer):
    with pytest.raises(CorpusError, match=r"no word of the training documents occurs 99 times; .*vocabulary.min_count"):
        fit_scorer({"vocabulary": {"min_count": 99}})


def test_ready_words_score_like_their_text(fitted, toys, encode):
    scorer = fitted.scorer
    wanted = scorer.scores(encode(scorer, toys.texts))
    assert scorer.scores(encode(scorer, words_of(toys.texts))) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("kind", ["words-matrix", "kim-cnn", "hierarchical"])
def test_training_from_a_store_is_training_from_memory(fit_scorer, small_config, toys, tmp_path, kind):
    options = {"network": {"kind": kind}, "training": {"epochs": 2}}
    scorer, _ = fit_scorer(options)
    stored = NetworkScorer(small_config(options), toys.classes)
    (tmp_path / "store").mkdir()
    write_store(toys.documents, stored.encoder, tmp_path / "store", cache=tmp_path / "cache")
    examples = Examples(open_store(tmp_path / "store", stored.encoder), toys.labels)
    stored.fit(examples, examples, FitContext(tmp_path / "fit"))
    assert stored.vocabulary.words == scorer.vocabulary.words
    assert same(state(stored), state(scorer))


def test_the_seed_decides(fit_scorer):
    first, again, other = (fit_scorer(seed=seed)[0] for seed in (3, 3, 4))
    assert same(state(first), state(again))
    assert not same(state(first), state(other))


@heads
def test_a_model_learns_its_documents_by_heart(fit_scorer, toys, encode, head):
    sizes = {"filters": (16, 16), "channels": 8, "capsule_size": 8, "label_capsule_size": 8, "hidden": (32,)}
    scorer, report = fit_scorer(
        {
            "graph": {"N": 20},
            "vectors": {"source": "none", "dimension": 16},
            "network": {"head": head, "recurrent": "none", "attention": "none", **sizes},
            "loss": {"label_weights": "uniform", "kind": "margin" if head == "capsule" else "cross-entropy"},
            "training": {"epochs": 25, "learning_rate": 0.02, "patience": None},
        }
    )
    assert max(row["micro_f1"] for row in report.history) > 0.95
    scores, truth = scorer.scores(encode(scorer, toys.texts)), toys.labels.toarray()
    assert scores[truth].mean() > scores[~truth].mean() + 0.5


def test_training_begins_with_the_word_vectors(fit_scorer, tmp_path):
    (tmp_path / "my.vec").write_text("goalkeeper 1 0 0 0 0\ngene 0 2 0 0 0\nplanet 0 0 3 0 0\n", encoding="utf-8")
    scorer, _ = fit_scorer(STILL, {"vectors": {"source": str(tmp_path / "my.vec")}})
    (index,) = scorer.vocabulary.ids(["gene"])
    assert state(scorer)["embedding.weight"][index].tolist() == pytest.approx([0, 2, 0, 0, 0], abs=1e-6)
    assert not state(scorer)["embedding.weight"][0].any()


NAMED = {"network": {"start": "names", "channels": 32}}


@pytest.mark.parametrize(("start", "least", "most"), [("names", 0.9, 1.0), ("random", -0.5, 0.5)])
def test_labels_begin_with_what_their_names_say(fit_scorer, toys, encode, start, least, most):
    texts = {
        name: toys.texts[rows[0]] for name, rows in zip(toys.classes.names, toys.labels.T.tolil().rows, strict=True)
    }
    taxonomy = Taxonomy.from_edges([], labels=texts, terms={name: [Term(text)] for name, text in texts.items()})
    options = {"network": {"start": start}, "prior": {"kind": "none"}}
    scorer, _ = fit_scorer(STILL, NAMED, options, classes=Classes(toys.classes.names, taxonomy))
    arrays = scorer.inputs(encode(scorer, list(texts.values()))).arrays(np.arange(len(texts)))
    with torch.no_grad():
        said = scorer.network.eval().capsule_sums(*map(torch.from_numpy, arrays)).flatten(1)
        alike = torch.cosine_similarity(scorer.network.head.labels.weight[:, 0].flatten(1), said - said.mean(dim=0))
    assert least < alike.mean().item() < most


def test_words_are_dropped_in_training_although_names_were_read_before(fit_scorer):
    def trained(word_dropout):
        network = {"start": "names", "channels": 32, "dropout": 0, "word_dropout": word_dropout}
        return state(fit_scorer({"network": network, "prior": {"kind": "none"}, "training": {"epochs": 1}})[0])

    none, many = trained(0.0), trained(0.9)
    assert not torch.allclose(none["head.primary.linear.weight"], many["head.primary.linear.weight"], atol=1e-4)


def test_labels_that_were_learned_before_do_not_begin_anew(fit_scorer):
    first, _ = fit_scorer(NAMED)
    second, _ = fit_scorer(NAMED, STILL, start=first)
    weights = second.network.head.labels.weight
    assert torch.allclose(weights, first.network.head.labels.weight, atol=1e-6)


def test_label_vectors_are_those_of_the_columns(fit_scorer, toys):
    scorer, _ = fit_scorer(seed=5)
    taxonomy, config = toys.classes.taxonomy, scorer.config
    learned = train_label_vectors(taxonomy, config.walks, config.label_vectors, seed=5)
    vectors = scorer.objective.nearness.vectors.numpy()
    for column, name in enumerate(toys.classes.names):
        wanted = learned[taxonomy.position(name)]
        assert vectors[column] == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-6)
    uniform, _ = fit_scorer({"loss": {"label_weights": "uniform"}})
    assert uniform.objective.nearness is None


def test_the_permuted_control_gives_each_label_the_vector_of_one_of_them(fitted, fit_scorer):
    permuted, _ = fit_scorer({"loss": {"control": "permuted"}})
    vectors, others = (scorer.objective.nearness.vectors.tolist() for scorer in (fitted.scorer, permuted))
    assert sorted(others) == sorted(vectors)
    assert others != vectors


def test_parameters_are_counted(fitted):
    assert fitted.scorer.parameters == sum(weights.numel() for weights in state(fitted.scorer).values())


def test_progress_names_every_stage(fit_scorer):
    told = []
    fit_scorer(progress=lambda stage, done, total=None, note="": told.append((stage, done, total)))
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == [
        "training word vectors",
        "learning label vectors",
        "training",
    ]
    assert all(0 <= done <= total for _, done, total in told)
    assert told[-1] == ("training", 3, 3)


def test_an_interrupted_fit_is_resumed(fit_scorer, tmp_path):
    whole, _ = fit_scorer({"training": {"epochs": 3}, "network": {"dropout": 0.5}}, folder=tmp_path / "whole")

    def stop(stage, done, total=None, note=""):
        if stage == "training" and done == 5:
            raise ZeroDivisionError

    options = ({"training": {"epochs": 3}, "network": {"dropout": 0.5}},)
    with pytest.raises(ZeroDivisionError):
        fit_scorer(*options, folder=tmp_path / "stopped", progress=stop)
    resumed, report = fit_scorer(*options, folder=tmp_path / "stopped", resume=True)
    assert same(state(resumed), state(whole))
    assert report.epochs == 3


def test_threads_change_nothing(fit_scorer):
    assert same(state(fit_scorer(threads=1)[0]), state(fit_scorer(threads=3)[0]))


@pytest.fixture
def fewer(toys):
    """Toy documents with the labels of sport only: the options of a fit."""
    classes = Classes(("Sport", "Football", "Tennis"), toys.classes.taxonomy)
    lists = toys.classes.label_lists(toys.labels)
    return {"classes": classes, "labels": label_matrix(lists, classes.names)}


@heads
def test_starting_from_another_model_keeps_its_weights(fit_scorer, toys, fewer, head):
    axes = {"network": {"head": head}}
    older, _ = fit_scorer(axes, **fewer)
    newer, _ = fit_scorer(axes, STILL, start=older, seed=9)
    kept = [toys.classes.names.index(name) for name in fewer["classes"].names]
    others = [column for column in range(10) if column not in kept]
    fresh = NetworkScorer(newer.config, toys.classes, 9)
    fresh.vocabulary = newer.vocabulary
    fresh.objective = fresh._make_objective(8)
    fresh.objective.prepare(torch.from_numpy(count_labels(toys.labels)), toys.labels.shape[0])
    unlearned = fresh.network.state_dict()
    assert newer.network.label_parameters
    for name, weights in state(newer).items():
        if name in newer.network.label_parameters:
            assert torch.allclose(weights[kept], state(older)[name], atol=1e-6), name
            assert torch.allclose(weights[others], unlearned[name][others], atol=1e-6), name
        else:
            assert torch.allclose(weights, state(older)[name], atol=1e-6), name


def test_starting_from_another_model_keeps_its_words_and_leaves_it_alone(fit_scorer, toys, fewer):
    older, _ = fit_scorer(**fewer)
    before = {name: weights.clone() for name, weights in state(older).items()}
    others = ["an unheard word", *toys.texts[1:]]
    newer, _ = fit_scorer({"training": {"learning_rate": 0.1}}, texts=others, start=older)
    assert newer.vocabulary is older.vocabulary
    assert "unheard" not in newer.vocabulary
    assert same(state(older), before)
    assert not torch.equal(state(newer)["embedding.weight"], before["embedding.weight"])


def test_starting_with_other_sizes_is_refused_in_one_line(fitted, fit_scorer):
    with pytest.raises(ModelError) as caught:
        fit_scorer({"network": {"units": 5}}, start=fitted.scorer)
    assert "\n" not in str(caught.value)


@heads
def test_saved_and_loaded_weights_are_the_same(fit_scorer, toys, encode, tmp_path, head):
    scorer, _ = fit_scorer({"network": {"head": head}})
    folder = tmp_path / "kept"
    folder.mkdir()
    scorer.save(folder)
    assert {path.name for path in folder.iterdir()} == {"vocabulary.tsv", "weights.safetensors"}
    loaded = NetworkScorer(scorer.config, scorer.classes, seed=99).load(folder)
    assert same(state(loaded), state(scorer))
    documents = encode(scorer, toys.texts)
    assert np.array_equal(loaded.scores(documents), scorer.scores(documents))


def test_weights_of_another_network_are_refused(fitted, tmp_path):
    scorer = fitted.scorer
    scorer.save(tmp_path)
    wider = scorer.config.replace(network=scorer.config.network.replace(units=5))
    message = f"{tmp_path / 'weights.safetensors'}: damaged, or not the weights of this model"
    with pytest.raises(ModelError) as caught:
        NetworkScorer(wider, scorer.classes).load(tmp_path)
    assert str(caught.value).startswith(message)
    weights = load_file(tmp_path / "weights.safetensors")
    del weights["network.embedding.weight"]
    save_file(weights, tmp_path / "weights.safetensors")
    with pytest.raises(ModelError) as caught:
        NetworkScorer(scorer.config, scorer.classes).load(tmp_path)
    assert str(caught.value).startswith(message)


def test_all_documents_are_trained_on_for_as_many_epochs_as_were_best(small_config, toys, encode, tmp_path):
    scorer = NetworkScorer(small_config({"training": {"epochs": 4, "learning_rate": 0.2}}), toys.classes)
    examples = Examples(encode(scorer, toys.texts), toys.labels)
    fitted = fit_model(ModelName("a model", "default", 0), scorer, examples, None, FitContext(tmp_path))
    rows = (tmp_path / "all" / "checkpoints" / "history.csv").read_text().splitlines()
    assert fitted.report.best_epoch < fitted.report.epochs == 4
    assert len(rows) == 1 + fitted.report.best_epoch


def test_labels_without_a_common_column_above_them_are_tied_through_their_parent(small_config):
    taxonomy = Taxonomy.from_edges([("all", "metal"), ("metal", "gold"), ("metal", "tin"), ("all", "ship")])
    config = small_config({"loss": {"recursive": 0.1}})
    scorer = NetworkScorer(config, Classes(("gold", "tin", "ship"), taxonomy))
    assert scorer._edges().T.tolist() == [[3, 0], [3, 1]]
    scorer = NetworkScorer(config, Classes(("metal", "gold", "ship"), taxonomy))
    assert scorer._edges().T.tolist() == [[0, 1]]


WITH_PRIOR = {"prior": {"kind": "linear"}}


@pytest.fixture(scope="module")
def with_prior(fit):
    """A network with a prior that has learned for some epochs, and its report; not to be changed."""
    model = fit(WITH_PRIOR, {"training": {"epochs": 6, "learning_rate": 0.02}})
    return model.scorer, model.report


@pytest.fixture(scope="module")
def still_with_prior(fit):
    """One whose weights have not moved; not to be changed."""
    return fit(WITH_PRIOR, STILL).scorer


def test_with_a_prior_a_network_starts_as_the_calibrated_linear_model(still_with_prior, toys, encode):
    scorer = still_with_prior
    documents = encode(scorer, toys.texts)
    linear, prior = scorer.linear.scores(documents), scorer.objective.prior
    wanted = logistic(prior.slopes.numpy() * logit(linear) + prior.intercepts.numpy())
    assert scorer.scores(documents) == pytest.approx(wanted, abs=1e-5)
    assert scorer.parameters == scorer.linear.parameters + sum(p.numel() for p in scorer.objective.parameters())


def test_the_linear_model_scores_training_documents_that_it_has_not_seen(fit_scorer, toys, encode, monkeypatch):
    trained = []
    monkeypatch.setattr(
        "taxocaps.training.trainer.train", lambda objective, training, *_, **__: trained.append(training)
    )
    scorer, _ = fit_scorer(WITH_PRIOR)
    unseen = trained[0].inputs.linear
    seen = logit(scorer.linear.scores(encode(scorer, toys.texts)))
    truth = toys.labels.toarray()
    assert unseen.shape == seen.shape
    assert unseen[truth].mean() < seen[truth].mean() - 0.5


def test_a_prior_and_its_network_learn(with_prior, toys, encode):
    scorer, report = with_prior
    assert scorer.objective.prior.own.abs().max() > 0.01
    assert report.history[-1]["loss"] < report.history[0]["loss"]
    assert not np.array_equal(*(scorer.scores(encode(scorer, [text]))[0] for text in toys.texts[:2]))


def test_a_network_with_folds_keeps_validation_documents_for_thresholds(fit, toys):
    model = fit({"folds": 3, "training": {"epochs": 1}})
    assert model.validation.documents == len(toys.texts)
    assert model.counts.tolist() == toys.labels.sum(axis=0).tolist()


@pytest.mark.parametrize("kind", ["words-matrix", "kim-cnn"])
def test_a_prior_is_kept_with_its_network(fit_scorer, toys, encode, tmp_path, kind):
    scorer, _ = fit_scorer(WITH_PRIOR, {"network": {"kind": kind}})
    scorer.save(tmp_path)
    loaded = NetworkScorer(scorer.config, scorer.classes, seed=99).load(tmp_path)
    documents = encode(scorer, toys.texts)
    assert np.array_equal(loaded.scores(documents), scorer.scores(documents))
    assert loaded.knows("told") == scorer.knows("told")


def test_prior_and_network_add_up_to_the_score(fitted, with_prior, toys, encode):
    scorer, _ = with_prior
    document = encode(scorer, toys.texts[:1])
    parts = scorer.logit_parts(document)
    assert list(parts) == ["linear", "network"]
    assert logistic(parts["linear"] + parts["network"]) == pytest.approx(scorer.scores(document)[0], abs=1e-5)
    assert np.abs(parts["network"]).max() > 1e-4
    assert fitted.scorer.logit_parts(document) == {}


def test_unknown_words_are_no_evidence_against_all_labels(still_with_prior, toys, encode):
    scorer = still_with_prior
    shares = (2 * np.asarray(toys.labels.sum(axis=0)).ravel() + 0.5) / 25  # 12 training and 12 validation documents
    found = scorer.scores(encode(scorer, ["zyx wvu tsr"]))[0]
    assert found == pytest.approx(shares, abs=1e-4)


def test_a_prior_learns_from_validation_documents_and_scores_them_out_of_fold(small_config, toys, encode, tmp_path):
    scorer = NetworkScorer(small_config(WITH_PRIOR, STILL), toys.classes)
    texts = [f"{text} volcano" for text in toys.texts]
    training, validation = (
        Examples(encode(scorer, toys.texts), toys.labels),
        Examples(encode(scorer, texts), toys.labels),
    )
    found = scorer.validated_fit(training, validation, FitContext(tmp_path))
    assert scorer.linear.knows("volcano")
    learned = scorer.scores(validation.documents)
    assert found.scores.shape == learned.shape
    truth = toys.labels.toarray()
    assert found.scores[truth].mean() < learned[truth].mean()


def test_a_prior_goes_on_with_its_network(with_prior, fit_scorer, toys, encode):
    """Trained on from here with one document and no steps to speak of, it says what it said before."""
    first, _ = with_prior
    again, _ = fit_scorer(WITH_PRIOR, STILL, texts=toys.texts[:1], labels=toys.labels[:1], start=first)
    documents = encode(first, toys.texts)
    assert again.scores(documents) == pytest.approx(first.scores(documents), abs=1e-5)


def test_new_labels_start_with_their_frequency(fit_scorer, toys, encode):
    names = (*toys.classes.names, "weather")
    taxonomy = toys.classes.taxonomy.with_labels(["weather"])
    classes = Classes(tuple(name for name in taxonomy.names if name in names), taxonomy)
    first, _ = fit_scorer(WITH_PRIOR)
    columns = [classes.names.index(name) for name in toys.classes.names]
    labels = label_matrix([["weather"], ["weather"], []], classes.names)
    again, _ = fit_scorer(WITH_PRIOR, STILL, texts=toys.texts[:3], labels=labels, classes=classes, start=first)
    documents = encode(first, toys.texts)
    assert again.scores(documents)[:, columns] == pytest.approx(first.scores(documents), abs=1e-5)
    assert again.linear.scores(documents)[:, classes.names.index("weather")] == pytest.approx(
        4.5 / 7, abs=1e-5
    )  # of both parts


def test_words_that_no_two_documents_share_are_told_with_the_option_of_the_prior(small_config, toys, encode, tmp_path):
    scorer = NetworkScorer(small_config(WITH_PRIOR), toys.classes)
    texts = [" ".join([f"{letter}{letter}"] * 3) for letter in "abcdefghijklmnopqrstuvwxy"]
    labels = toys.labels[np.arange(len(texts)) % toys.labels.shape[0]]
    with pytest.raises(CorpusError, match=r"give more text, or set prior\.kind to none"):
        scorer.fit(Examples(encode(scorer, texts), labels), None, FitContext(tmp_path))


def test_one_document_has_no_prior(fit_scorer, toys, encode):
    scorer, _ = fit_scorer(WITH_PRIOR, texts=toys.texts[:1], labels=toys.labels[:1])
    assert scorer.linear is None
    assert scorer.members == {}
    assert scorer.scores(encode(scorer, toys.texts)).shape == (12, 10)


def test_a_member_of_a_joined_model_has_no_prior(small_config):
    assert small_config(WITH_PRIOR).as_member().prior.kind == "none"


class TwoInputsConfig(Config):
    section: ClassVar[str] = "network"

    kind: Literal["two-inputs"] = "two-inputs"
    units: int = 6


class TwoInputs(Network):
    """The mean of the first words beside the mean of the words of the matrix."""

    Config = TwoInputsConfig
    reads = ("tokens", "words-matrix")
    label_parameters = ("labels.weight", "labels.bias")
    word_vectors_name = "words.vectors.weight"

    def __init__(self, config, sizes):
        super().__init__()
        self.words = nn.ModuleDict({"vectors": word_embedding(sizes)})
        self.hidden = nn.Linear(2 * sizes.D + sizes.N, config.units)
        self.labels = nn.Linear(config.units, sizes.labels)
        self.N = sizes.N

    def forward(self, ids, lengths, words, blocks, counts):
        vectors = self.words["vectors"]
        sequence = vectors(ids.long()).sum(1) / lengths.clamp(min=1)[:, None]  # [B, D]
        matrix = vectors(words.long()).sum((1, 2)) / (words > 0).sum((1, 2)).clamp(min=1)[:, None]  # [B, D]
        rows = nn.functional.pad(counts.float(), (0, self.N - counts.shape[1]))  # [B, N]
        return self.labels(self.hidden(torch.cat([sequence, matrix, rows], 1)).relu())  # [B, L]


@pytest.fixture
def two_inputs(monkeypatch):
    """The options of a network of this module, which is among the built-in ones for one test."""
    monkeypatch.setitem(NETWORKS._table, "two-inputs", "unused")
    monkeypatch.setitem(NETWORKS._loaded, "two-inputs", TwoInputs)
    return {"network": {"kind": "two-inputs"}}


def test_a_network_may_read_two_encodings(two_inputs, fit, toys, encode, tmp_path):
    model = fit(two_inputs, {"graph": {"N": 6}, "tokens": {"length": 9}})
    assert set(model.config.encodings) == {"tokens", "words-matrix"}
    assert (model.config.graph.N, model.config.tokens.length) == (6, 9)
    inputs = model.scorer.inputs(encode(model.scorer, toys.texts))
    assert [array.shape[:1] for array in inputs.arrays(np.array([3, 5]))] == [(2,)] * 5
    documents = encode(model.scorer, [*toys.texts, ""])
    scores = model.scores(documents)
    assert scores.shape == (13, 10)
    assert not scores[12].any()
    alone = model.scores(encode(model.scorer, toys.texts[4:5]))
    assert alone[0] == pytest.approx(scores[4], abs=1e-6)
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    assert np.array_equal(loaded.scores(encode(loaded.scorer, [*toys.texts, ""])), scores)


def test_word_vectors_may_have_another_name(two_inputs, fit_scorer, fewer, tmp_path):
    (tmp_path / "my.vec").write_text("gene 0 2 0 0 0\nplanet 0 0 3 0 0\n", encoding="utf-8")
    older, _ = fit_scorer(two_inputs, STILL, {"vectors": {"source": str(tmp_path / "my.vec")}}, **fewer)
    (index,) = older.vocabulary.ids(["gene"])
    assert older.network.word_vectors[index].tolist() == pytest.approx([0, 2, 0, 0, 0], abs=1e-6)
    newer, _ = fit_scorer(two_inputs, STILL, start=older, seed=3)
    assert torch.allclose(newer.network.word_vectors, older.network.word_vectors, atol=1e-6)
    moved, _ = fit_scorer(two_inputs, {"training": {"learning_rate": 0.05}}, start=older)
    assert not torch.allclose(moved.network.word_vectors, older.network.word_vectors, atol=1e-3)
    kept = [newer.classes.names.index(name) for name in older.classes.names]
    assert torch.allclose(newer.network.labels.weight[kept], older.network.labels.weight, atol=1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_reads_what_its_encoders_give(small_config, toys, encode, name):
    scorer = NetworkScorer(small_config({"network": {"kind": name}}), toys.classes)
    documents = encode(scorer, ["Oil rose. Wheat fell.", "", "gold"])
    scorer.vocabulary = network_module.count_words(documents, scorer.config.vocabulary)
    scorer.objective = scorer._make_objective(6)
    network = scorer.network.eval()
    assert network.word_vectors.shape == (len(scorer.vocabulary), 6)
    assert type(network) is NETWORKS[name]
    assert network.Config().kind == name
    assert network.Config.section == "network"
    assert scorer.scores(documents).shape == (3, 10)
    for parameter in network.label_parameters:
        assert network.state_dict()[parameter].shape[0] == 10


def test_a_configuration_can_be_sent_to_another_process(small_config):
    for kind in ("words-matrix", "sgm"):
        config = small_config({"network": {"kind": kind}, "decision": {"k": 3}})
        assert pickle.loads(pickle.dumps(config)) == config
        assert copy.deepcopy(config) == config


GIGABYTE = 2**30
CAPSULES = WordsMatrixConfig()
DENSE = WordsMatrixConfig(recurrent="none", attention="none", head="dense")


def test_enough_memory():
    wanted = "the network has 1,234,567 weights; training takes about 1.5 GB"
    assert describe_memory(Estimate(1_234_567, 3 * GIGABYTE // 2), 32, 2 * GIGABYTE) == wanted


@pytest.mark.parametrize(
    ("config", "batch_size", "advice"),
    [
        (CAPSULES, 32, "--set network.sharing=label and --set network.compress=128 and --set training.batch_size=8"),
        (WordsMatrixConfig(sharing="label"), 32, "--set network.compress=128 and --set training.batch_size=8"),
        (WordsMatrixConfig(compress=64), 8, "--set network.sharing=label"),
        (DENSE, 32, "--set training.batch_size=8"),
        (DENSE, 8, "a smaller graph.N, or fewer labels"),
        (WordsMatrixConfig(sharing="label", compress=64), 4, "a smaller graph.N, or fewer labels"),
    ],
)
def test_too_little_memory_and_what_to_do(config, batch_size, advice):
    savings = WordsMatrixNetwork.estimate(config, Sizes(9, D=8, labels=3, N=4, T=20), batch_size).savings
    line = describe_memory(Estimate(1_000, 8 * GIGABYTE, savings), batch_size, 4 * GIGABYTE)
    assert line.endswith(f"takes about 8.0 GB, but there are 4.0 GB; try {advice}")


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="compared with what Linux says")
def test_the_memory_of_this_machine():
    total = int(re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())[1]) * 1024
    assert describe_memory(Estimate(1, total // 2), 32).endswith(" GB")
    assert "but there are" in describe_memory(Estimate(1, 2 * total), 32)


def test_a_machine_that_does_not_say(monkeypatch):
    monkeypatch.delattr("os.sysconf")
    assert "but there are" not in describe_memory(Estimate(1, 2**60), 32)


def test_few_documents_for_a_network_are_told_and_what_training_does_about_it(small_config, toys):
    def scorer_with(**training):
        return NetworkScorer(small_config({"training": training}), toys.classes)

    scorer = scorer_with(epochs=5, batch_size=64, min_steps=300)
    better = "linear models, joined by --model auto, are usually better"
    assert scorer.advice(500) == (
        f"networks need thousands of documents, and there are 500: {better}",
        "500 documents are 8 batches: training for 38 epochs in place of 5, 304 steps (training.min_steps)",
    )
    assert scorer.advice(60)[1] == (
        "60 documents are 1 batch: training for 100 epochs in place of 5, 100 steps (training.min_steps)"
    )
    assert scorer.advice(3_841) == ()  # 61 batches
    assert len(scorer_with(min_steps=0).advice(999)) == 1


def test_people_are_told_about_weights_and_memory(fit_scorer):
    told = []
    fit_scorer(STILL, tell=told.append)
    fit_scorer(STILL, {"network": {"kind": "lstm"}}, tell=told.append)
    assert re.fullmatch(r"the network has [\d,]+ weights; training takes about [\d.]+ GB", told[0])
    assert re.fullmatch(r"the network has [\d,]+ weights", told[1])


def test_observed_siblings_are_counted_in_the_training_documents(fit_scorer):
    (alone, _), (observed, _) = fit_scorer(), fit_scorer({"loss": {"siblings": "observed"}})
    assert alone.objective.nearness.taxonomy_share.min() == 1
    assert observed.objective.nearness.taxonomy_share.min() < 1
    assert observed.objective.nearness.counts.sum() > 0
