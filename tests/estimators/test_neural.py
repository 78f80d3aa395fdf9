"""Networks over words-matrices as scorers: what they learn, from what they start, how they are kept."""

import dataclasses

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from taxocaps.config import resolve

from taxocaps.corpus.labels import Classes
from taxocaps.corpus.labels import label_matrix
from taxocaps.errors import ModelError
from taxocaps.scorers.base import Labelled, Work
from taxocaps.estimators.config import ModelConfig
from taxocaps.scorers.network import NetworkScorer
from taxocaps.taxonomy.embedding import train_label_vectors
from taxocaps.text.pipeline import TextPipeline

heads = pytest.mark.parametrize("head", ["dense", "capsule"])
STILL = {"training": {"learning_rate": 1e-9, "epochs": 1}}
"""With such a rate no weight moves by more than a billionth."""


@pytest.fixture
def fit_scorer(small, toys, tmp_path):
    """Fit a scorer to toy documents; gives it, and its report."""
    runs = iter(range(100))

    def fit_it(*layers, classes=toys[1], documents=toys[0], seed=0, start=None, **work):
        scorer = NetworkScorer(resolve(ModelConfig, small, *layers), classes, seed)
        scorer.start = start
        folder = work.pop("folder", tmp_path / str(next(runs)))
        return scorer, scorer.fit(documents, documents, Work(folder, **work))

    return fit_it


def state(scorer):
    return scorer.objective.network.state_dict()


def same(one, other):
    return all(torch.equal(weights, other[name]) for name, weights in one.items())


@heads
def test_scores_of_each_label_for_each_text(fit_scorer, toys, head):
    scorer, report = fit_scorer({"network": {"head": head}})
    scores = scorer.predict_scores([*toys[0].texts, "", "words nobody knows"])
    assert (scores.dtype, scores.shape) == (np.float32, (14, 10))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert not scores[12].any()
    assert scores[[*range(12), 13]].all()
    assert (report.epochs, len(report.history)) == (2, 2)
    assert 1 <= report.best_epoch <= 2
    assert scorer.predict_scores([]).shape == (0, 10)


def test_the_vocabulary_is_that_of_the_training_documents(fit_scorer, toys):
    scorer, _ = fit_scorer()
    pipeline = TextPipeline()
    words = {word for text in toys[0].texts for word in pipeline(text).words}
    assert set(scorer.encoder.vocabulary.words) == words
    assert state(scorer)["embedding.weight"].shape == (len(words) + 2, 8)


def test_ready_words_score_like_their_text(fit_scorer, toys):
    scorer, _ = fit_scorer()
    words = [list(TextPipeline()(text).words) for text in toys[0].texts]
    assert scorer.predict_scores(words) == pytest.approx(scorer.predict_scores(toys[0].texts), abs=1e-6)


def test_the_seed_decides(fit_scorer):
    first, again, other = (fit_scorer(seed=seed)[0] for seed in (3, 3, 4))
    assert same(state(first), state(again))
    assert not same(state(first), state(other))


@heads
def test_a_model_learns_its_documents_by_heart(fit_scorer, toys, head):
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
    scores, truth = scorer.predict_scores(toys[0].texts), toys[0].labels.toarray()
    assert scores[truth].mean() > scores[~truth].mean() + 0.5


def test_training_begins_with_the_word_vectors(fit_scorer, tmp_path):
    (tmp_path / "my.vec").write_text("goalkeeper 1 0 0 0 0\ngene 0 2 0 0 0\nplanet 0 0 3 0 0\n", encoding="utf-8")
    scorer, _ = fit_scorer(STILL, {"vectors": {"source": str(tmp_path / "my.vec")}})
    (number,) = scorer.encoder.vocabulary.ids(["gene"])
    assert state(scorer)["embedding.weight"][number].tolist() == pytest.approx([0, 2, 0, 0, 0], abs=1e-6)
    assert not state(scorer)["embedding.weight"][0].any()


def test_label_vectors_are_those_of_the_columns(fit_scorer, toys):
    scorer, _ = fit_scorer(seed=5)
    taxonomy, config = toys[1].taxonomy, scorer.config
    learned = train_label_vectors(taxonomy, config.walks, config.label_vectors, seed=5)
    vectors = scorer.objective.label_vectors.numpy()
    for column, name in enumerate(toys[1].names):
        wanted = learned[taxonomy.position(name)]
        assert vectors[column] == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-6)
    uniform, _ = fit_scorer({"loss": {"label_weights": "uniform"}})
    assert uniform.objective.label_vectors is None


def test_parameters_are_counted(fit_scorer):
    scorer, _ = fit_scorer()
    assert scorer.parameters == sum(weights.numel() for weights in state(scorer).values())


def test_progress_names_every_stage(fit_scorer):
    told = []
    fit_scorer(progress=lambda stage, done, total=None, note="": told.append((stage, done, total)))
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == [
        "reading documents",
        "training word vectors",
        "encoding documents",
        "encoding validation documents",
        "learning label vectors",
        "training",
    ]
    assert all(0 <= done <= total for _, done, total in told)
    assert told[-1] == ("training", 6, 6)


def test_an_interrupted_fit_goes_on(fit_scorer, tmp_path):
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
    """Toy documents with the labels of sport only, and their classes."""
    names = ("Sport", "Football", "Tennis")
    classes = Classes(names, toys[1].taxonomy)
    lists = toys[1].lists(toys[0].labels)
    return Labelled(toys[0].texts, label_matrix(lists, names)), classes


@heads
def test_starting_from_another_model_keeps_its_weights(fit_scorer, toys, fewer, head):
    axes = {"network": {"head": head}}
    older, _ = fit_scorer(axes, documents=fewer[0], classes=fewer[1])
    newer, _ = fit_scorer(axes, STILL, start=older, seed=9)
    places = [toys[1].names.index(name) for name in fewer[1].names]
    others = [place for place in range(10) if place not in places]
    fresh = NetworkScorer(newer.config, toys[1], 9)
    fresh.encoder = newer.encoder
    unlearned = fresh._objective(8, None).network.state_dict()
    assert newer.objective.network.label_parameters
    for name, weights in state(newer).items():
        if name in newer.objective.network.label_parameters:
            assert torch.allclose(weights[places], state(older)[name], atol=1e-6), name
            assert torch.allclose(weights[others], unlearned[name][others], atol=1e-6), name
        else:
            assert torch.allclose(weights, state(older)[name], atol=1e-6), name


def test_starting_from_another_model_keeps_its_words_and_leaves_it_alone(fit_scorer, toys, fewer):
    older, _ = fit_scorer(documents=fewer[0], classes=fewer[1])
    before = {name: weights.clone() for name, weights in state(older).items()}
    others = Labelled(["an unheard word", *toys[0].texts[1:]], toys[0].labels)
    newer, _ = fit_scorer({"training": {"learning_rate": 0.1}}, documents=others, start=older)
    assert newer.encoder.vocabulary is older.encoder.vocabulary
    assert "unheard" not in newer.encoder.vocabulary
    assert same(state(older), before)
    assert not torch.equal(state(newer)["embedding.weight"], before["embedding.weight"])


def test_starting_with_other_sizes_is_refused_in_one_line(fit_scorer):
    older, _ = fit_scorer()
    with pytest.raises(ModelError) as caught:
        fit_scorer({"network": {"units": 5}}, start=older)
    assert "\n" not in str(caught.value)


@heads
def test_saved_and_loaded_weights_are_the_same(fit_scorer, toys, tmp_path, head):
    scorer, _ = fit_scorer({"network": {"head": head}})
    folder = tmp_path / "kept"
    folder.mkdir()
    scorer.save(folder)
    assert {path.name for path in folder.iterdir()} == {"vocabulary.tsv", "weights.safetensors"}
    loaded = NetworkScorer(scorer.config, scorer.classes, seed=99).load(folder)
    assert same(state(loaded), state(scorer))
    assert np.array_equal(loaded.predict_scores(toys[0].texts), scorer.predict_scores(toys[0].texts))


def test_weights_of_another_network_are_refused(fit_scorer, tmp_path):
    scorer, _ = fit_scorer()
    scorer.save(tmp_path)
    wider = dataclasses.replace(scorer.config, network=dataclasses.replace(scorer.config.network, units=5))
    message = f"{tmp_path / 'weights.safetensors'}: damaged, or not the weights of this model"
    with pytest.raises(ModelError) as caught:
        NetworkScorer(wider, scorer.classes).load(tmp_path)
    assert str(caught.value) == message
    weights = load_file(tmp_path / "weights.safetensors")
    del weights["embedding.weight"]
    save_file(weights, tmp_path / "weights.safetensors")
    with pytest.raises(ModelError) as caught:
        NetworkScorer(scorer.config, scorer.classes).load(tmp_path)
    assert str(caught.value) == message
