"""What to label next: rare labels, doubt and variety."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from taxocaps.corpus.document import Document
from taxocaps.corpus.labels import Classes
from taxocaps.encoding.bag import BagConfig, BagOfWords
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.reviewing.batch import choose_next, latent_vectors, name_scores, next_batch, unmet_labels
from taxocaps.scorers.base import Examples, FitContext, make_scorer
from taxocaps.scorers.fitting import fit_model
from taxocaps.scorers.model import ModelName
from taxocaps.taxonomy import Taxonomy
from taxocaps.text.pipeline import TextConfig


def apart(count):
    """Documents that have nothing in common."""
    return np.eye(count, dtype=np.float32)


def test_a_rare_label_comes_before_a_frequent_one():
    scores = np.array([[0.5, 0.0], [0.0, 0.5]], np.float32)
    found = next_batch(scores, np.array([100, 1]), apart(2), 2)
    assert found.documents.tolist() == [1, 0]
    assert found.labels.tolist() == [1, 0]
    assert found.scores.tolist() == [0.5, 0.5]


def test_doubt_comes_before_certainty():
    scores = np.array([[0.99], [0.6]], np.float32)
    assert next_batch(scores, np.array([10]), apart(2), 1).documents.tolist() == [1]


def test_a_copy_of_a_chosen_document_comes_last():
    vectors = np.array([[1.0, 0], [1, 0], [0, 1]])
    scores = np.array([[0.6], [0.6], [0.2]], np.float32)
    assert next_batch(scores, np.array([5]), vectors, 3).documents.tolist() == [0, 2, 1]


def test_what_is_like_labelled_documents_comes_last():
    vectors = np.array([[1.0, 0], [0, 1]])
    scores = np.array([[0.6], [0.3]], np.float32)
    assert next_batch(scores, np.array([5]), vectors, 1).documents.tolist() == [0]
    assert next_batch(scores, np.array([5]), vectors, 1, np.array([[1.0, 0]])).documents.tolist() == [1]


def test_a_typical_document_comes_before_an_odd_one():
    vectors = np.array([[0.0, 1, 0], [0.8, 0, 0.6], [1, 0, 0], [0.8, 0, -0.6]])
    assert next_batch(np.full((4, 1), 0.5, np.float32), np.array([1]), vectors, 1).documents.tolist() == [2]


def test_a_batch_covers_labels_of_equal_rarity():
    scores = np.kron(np.eye(4), np.full((5, 1), 0.5)).astype(np.float32)  # five documents of each of four labels
    found = next_batch(scores, np.zeros(4, np.int64), apart(20), 8)
    assert np.bincount(found.labels).tolist() == [2, 2, 2, 2]


@given(seed=st.integers(0, 1000), size=st.integers(1, 15))
def test_no_document_comes_twice_and_the_first_of_a_batch_is_a_smaller_batch(seed, size):
    generator = np.random.default_rng(seed)
    scores = (generator.random((12, 3)) * (generator.random((12, 3)) < 0.4)).astype(np.float32)
    vectors = generator.random((12, 4))
    counts = generator.integers(5, size=3)
    found = next_batch(scores, counts, vectors, size)
    assert len(set(found.documents.tolist())) == len(found) == min(size, 12)
    smaller = next_batch(scores, counts, vectors, max(1, size - 1))
    assert smaller.documents.tolist() == found.documents[: len(smaller)].tolist()
    assert [label >= 0 for label in found.labels] == (scores[found.documents] >= 0.02).any(axis=1).tolist()


TEXTS = ["harbour and cargo", "cargo of a vessel", "zebu on grass", "grass for cattle", "a vessel in the harbour"]


def encoded(texts):
    return DocumentEncoder(TextConfig(), {}).encode([Document(text) for text in texts])


def test_vectors_of_few_documents_keep_the_likeness_of_their_words():
    documents = encoded(TEXTS)
    bags = BagOfWords.learn(documents, BagConfig(min_documents=1)).transform(documents).toarray()
    vectors, known = latent_vectors(documents, encoded(["cargo", "unheard of"]))
    assert np.allclose(vectors @ vectors.T, bags @ bags.T, atol=1e-5)
    assert np.argmax(vectors @ known[0]) in (0, 1)
    assert not known[1].any()


def test_related_words_are_alike_in_many_documents():
    generator = np.random.default_rng(0)
    topics = [[f"{topic}{number}" for number in range(30)] for topic in ("sea", "land")]
    texts = [" ".join(generator.choice(topics[row % 2], 6)) for row in range(400)]
    vectors, known = latent_vectors(encoded(texts), encoded(["sea1 sea2 sea3"]))
    likeness = vectors @ known[0]
    assert likeness[::2].mean() > 2 * abs(likeness[1::2]).mean()
    assert vectors.shape == (400, 60)


def test_names_fit_documents_that_have_their_words():
    taxonomy = Taxonomy.from_edges([("all", "zebu"), ("all", "vessel"), ("all", "stone")])
    found = name_scores(taxonomy, ("zebu", "vessel", "stone"), encoded(TEXTS), TextConfig())
    assert found.argmax(axis=0).tolist()[:2] in ([2, 1], [2, 4])
    assert not found[:, 2].any()
    assert 0 <= found.min() <= found.max() == np.float32(0.5)
    assert name_scores(taxonomy, (), encoded(TEXTS), TextConfig()).shape == (5, 0)


def test_a_label_that_nobody_has_is_looked_for_by_its_name(small_config, tmp_path):
    taxonomy = Taxonomy.from_edges([("all", "ships"), ("all", "cattle"), ("cattle", "zebu"), ("cattle", "cow")])
    texts = ["harbour with cargo", "cargo in the harbour", "cow on the meadow", "meadow with a cow"] * 3
    scorer = make_scorer(
        small_config({"scorer": "linear", "bag": {"min_documents": 1}}), Classes(("ships", "cow"), taxonomy), 0
    )
    labels = np.repeat(np.eye(2, dtype=bool), 2, axis=0)
    examples = Examples(scorer.encoder.encode([Document(text) for text in texts]), csr_array(np.tile(labels, (3, 1))))
    model = fit_model(ModelName("a model", "default", 0), scorer, examples, None, FitContext(tmp_path))
    assert unmet_labels(model) == ["zebu"]
    pool = scorer.encoder.encode([Document("harbour with cargo"), Document("a zebu"), Document("cow on the meadow")])
    first = choose_next(model, pool, 3, examples.documents)[0]
    assert (first.document, first.label, first.score, first.label_documents) == (1, "zebu", 0.0, 0)
