import hashlib
import os
import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pytest

from taxocaps.errors import ConfigError
from taxocaps.text.vectors import VectorsConfig, WordVectors, align, train_skip_gram
from taxocaps.text.vocabulary import Vocabulary, VocabularyConfig

CONFIG = VectorsConfig(source="skip-gram", dimension=12, epochs=4)


def corpus(documents=300):
    """Two topics that share no words."""
    generator = np.random.default_rng(5)
    topics = [[f"{topic}{number}" for number in range(8)] for topic in "ab"]
    return [generator.choice(topics[number % 2], 20).tolist() for number in range(documents)]


def vocabulary_of(sentences, **options):
    counts = Counter(word for sentence in sentences for word in sentence)
    return Vocabulary.from_counts(counts, VocabularyConfig(**options))


def digest():
    """A hash of trained vectors, the same in every process."""
    sentences = corpus(60)
    return hashlib.sha256(train_skip_gram(sentences, vocabulary_of(sentences), CONFIG).tobytes()).hexdigest()


def cosine(one, two):
    return one @ two / np.linalg.norm(one) / np.linalg.norm(two)


def test_words_of_one_topic_come_close():
    sentences = corpus()
    vocabulary = vocabulary_of(sentences)
    vectors = train_skip_gram(sentences, vocabulary, VectorsConfig(dimension=12, epochs=15))
    assert vectors.shape == (len(vocabulary), 12)
    assert vectors.dtype == np.float32
    assert not vectors[Vocabulary.PADDING].any()
    a0, a1, b0, b1 = vectors[vocabulary.ids(["a0", "a1", "b0", "b1"])]
    within = min(cosine(a0, a1), cosine(b0, b1))
    across = max(cosine(a, b) for a in (a0, a1) for b in (b0, b1))
    assert within > across + 0.2


@pytest.mark.slow
def test_hash_seed_of_python_does_not_matter():
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['digest']())"
    results = {
        subprocess.run(
            [sys.executable, "-c", code, __file__],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert results == {digest() + "\n"}


def test_seed_matters():
    sentences = corpus(20)
    vocabulary = vocabulary_of(sentences)
    one, two = (train_skip_gram(sentences, vocabulary, VectorsConfig(dimension=4, seed=seed)) for seed in (0, 1))
    assert not np.allclose(one, two)


def test_long_documents_are_not_cut():
    start, end = ["x", "y"] * 5_000, ["p", "q"] * 400
    vocabulary = vocabulary_of([start, end])
    whole = train_skip_gram([start + end], vocabulary, CONFIG)
    pieces = train_skip_gram([start, end], vocabulary, CONFIG)
    np.testing.assert_array_equal(whole, pieces)


def test_progress_counts_words_of_all_epochs():
    sentences = corpus(50)
    seen = []
    train_skip_gram(sentences, vocabulary_of(sentences), CONFIG, lambda done, total: seen.append((done, total)))
    total = 50 * 20 * CONFIG.epochs
    assert {whole for _, whole in seen} == {total}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (total, total)


class Failing:
    """Sentences that can be read once, for counting, and fail in training."""

    reads = 0

    def __iter__(self):
        self.reads += 1
        yield from corpus(5)
        if self.reads > 1:
            raise OSError("the disk is gone")


def test_an_error_while_reading_is_raised_and_does_not_hang():
    caught = []

    def train():
        try:
            train_skip_gram(Failing(), vocabulary_of(corpus(5)), CONFIG)
        except OSError as error:
            caught.append(error)

    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert [str(error) for error in caught] == ["the disk is gone"]


def test_sentences_must_start_anew():
    with pytest.raises(TypeError, match="read several times"):
        train_skip_gram(iter(corpus(5)), vocabulary_of(corpus(5)), CONFIG)


@pytest.mark.parametrize("sentences", [[], [[]], [["unknown"]], [["a"]], [["a", "a", "unknown"]]])
def test_little_or_nothing_to_learn_from(sentences):
    vectors = train_skip_gram(sentences, Vocabulary.from_counts({"a": 3, "b": 1}), CONFIG)
    assert vectors.shape == (4, 12)
    assert np.isfinite(vectors).all()
    assert vectors[1:].any(axis=1).all()


def test_empty_vocabulary():
    vectors = train_skip_gram([["a"]], Vocabulary.from_counts({}), CONFIG)
    assert vectors.shape == (2, 12)


def test_rare_words_are_not_trained_and_others_do_not_feel_them():
    sentences = corpus(40)
    full = vocabulary_of(sentences)
    with_rare = Vocabulary.from_counts({**dict(zip(full.words, full.counts, strict=True)), "rare": 1})
    config = VectorsConfig(dimension=12, epochs=4, min_count=2)
    one = train_skip_gram(sentences, full, config)
    two = train_skip_gram(sentences, with_rare, config)
    np.testing.assert_array_equal(one[full.ids(full.words)], two[with_rare.ids(full.words)])


def test_training_is_quiet(capfd):
    train_skip_gram(corpus(5), vocabulary_of(corpus(5)), CONFIG)
    assert capfd.readouterr() == ("", "")


def test_align():
    vocabulary = Vocabulary.from_counts({"a": 3, "b": 2, "c": 1})
    source = WordVectors(("c", "x", "a"), np.array([[1, 2], [3, 4], [5, 6]], np.float32))
    aligned, share = align(vocabulary, source, np.random.default_rng(0))
    assert aligned.dtype == np.float32
    assert aligned[0].tolist() == [0, 0]
    assert aligned[vocabulary.ids(["c", "a"])].tolist() == [[1, 2], [5, 6]]
    assert share == pytest.approx(2 / 3)
    assert aligned[1].any()


def test_random_vectors_have_the_scale_of_the_others():
    generator = np.random.default_rng(0)
    mean, spread = np.array([0.0, 3.0, -1.0]), np.array([1.0, 0.1, 5.0])
    source = WordVectors(
        tuple(f"w{number}" for number in range(4_000)), generator.normal(mean, spread, (4_000, 3)).astype(np.float32)
    )
    vocabulary = Vocabulary.from_counts({f"v{number}": 1 for number in range(4_000)})
    aligned, share = align(vocabulary, source, generator)
    assert share == 0
    np.testing.assert_allclose(aligned[1:].mean(axis=0), mean, atol=0.3)
    np.testing.assert_allclose(aligned[1:].std(axis=0), spread, rtol=0.1)


def test_align_is_seeded():
    vocabulary = Vocabulary.from_counts({"a": 1, "b": 1})
    source = WordVectors(("z",), np.ones((1, 3), np.float32))
    one, two, three = (align(vocabulary, source, np.random.default_rng(seed))[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, three)


@pytest.mark.parametrize("vectors", [np.zeros((0, 3)), np.ones((1, 3))])
def test_too_few_vectors_to_tell_a_scale(vectors):
    source = WordVectors(tuple("z" * len(vectors)), vectors.astype(np.float32))
    aligned, _ = align(Vocabulary.from_counts({"a": 1, "b": 1}), source, np.random.default_rng(0))
    assert len(np.unique(aligned[1:], axis=0)) == 3


def test_align_with_an_empty_vocabulary():
    aligned, share = align(
        Vocabulary.from_counts({}), WordVectors(("a",), np.ones((1, 2), np.float32)), np.random.default_rng(0)
    )
    assert (aligned.shape, share) == ((2, 2), 0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimension": 0}, r"vectors\.dimension must be from 1 to 10000"),
        ({"subsample": 2.0}, r"vectors\.subsample must be from 0 to 1"),
        (
            {"source": "skipgram"},
            r"vectors\.source must be none, skip-gram or a file; got 'skipgram'; did you mean skip-gram",
        ),
        ({"source": "None"}, r"did you mean none"),
    ],
)
def test_configuration(options, message):
    with pytest.raises(ConfigError, match=message):
        VectorsConfig(**options)


def test_a_file_may_be_named_almost_as_a_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "skipgram").touch()
    assert VectorsConfig(source="skipgram").source == "skipgram"
    assert VectorsConfig(source="vectors/glove.txt").source == "vectors/glove.txt"
