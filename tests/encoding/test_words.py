"""What is learned before training: bags of words as scikit-learn has them, the vocabulary, and word vectors."""

from collections import Counter
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from taxocaps.corpus.document import Document
from taxocaps.encoding import bag as module
from taxocaps.encoding.bag import BagConfig, BagOfWords
from taxocaps.encoding.bag_kernels import _sort
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.encoding.words import count_words, learn_vectors, vocabulary_ids
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.vectors import VectorsConfig, train_skip_gram
from taxocaps.text.vocabulary import Vocabulary, VocabularyConfig

ENCODER = DocumentEncoder(TextConfig(stop_words="none"), {})
TEXTS = ["oil oil oil price", "oil falls", "", "wheat price price", "wheat wheat oil", "gold"]
SMALL = {"dimension": 6, "epochs": 2}


def encoded(texts):
    return ENCODER.encode([Document(text) for text in texts])


def words_of(text):
    return encoded([text]).tokens.document(0)


@pytest.mark.parametrize(
    ("counts", "theirs"), [("all", {}), ("logarithm", {"sublinear_tf": True}), ("once", {"binary": True})]
)
@pytest.mark.parametrize("least", [1, 2])
def test_bags_are_those_of_scikit_learn(counts, theirs, least):
    bag = BagOfWords.learn(encoded(TEXTS), BagConfig(counts=counts, min_documents=least))
    peer = TfidfVectorizer(analyzer=words_of, min_df=least, **theirs).fit(TEXTS)
    columns = [peer.vocabulary_[word] for word in bag.vocabulary.words]
    assert len(columns) == len(peer.vocabulary_)
    wanted = peer.transform([*TEXTS, "oil unknown"]).toarray()[:, columns]
    assert np.allclose(bag.transform(encoded([*TEXTS, "oil unknown"])).toarray(), wanted)


@pytest.mark.parametrize(
    ("features", "theirs"),
    [
        ("words", {"token_pattern": r"(?u)\w+|[!?]+"}),
        ("pairs", {"token_pattern": r"(?u)\w+|[!?]+", "ngram_range": (1, 2)}),
        ("characters", {"analyzer": "char_wb", "ngram_range": (3, 5)}),
    ],
)
def test_all_kinds_of_features_are_those_of_scikit_learn(features, theirs, documents):
    plain = DocumentEncoder(TextConfig(tokenizer="plain"), {})
    texts = [" ".join(plain.encode([one]).tokens.document(0)) for one in documents] + ["", "a", "really ? no !! go"]
    ours = plain.encode([Document(text) for text in texts])
    bag = BagOfWords.learn(ours, BagConfig(features=features, min_documents=1))
    peer = TfidfVectorizer(sublinear_tf=True, **theirs).fit(texts)
    columns = [peer.vocabulary_[name] for name in bag.vocabulary.words]
    assert len(columns) == len(peer.vocabulary_)
    assert np.allclose(bag.transform(ours).toarray(), peer.transform(texts).toarray()[:, columns])


def test_the_most_frequent_features_are_kept():
    bag = BagOfWords.learn(encoded(TEXTS), BagConfig(min_documents=1, max_features=2))
    assert bag.vocabulary.words == ("oil", "price")


def test_a_word_is_known_by_itself_or_by_how_it_is_spelled():
    words = BagOfWords.learn(encoded(TEXTS), BagConfig(min_documents=1))
    characters = BagOfWords.learn(encoded(TEXTS), BagConfig(min_documents=1, features="characters"))
    assert [words.knows(word) for word in ("oil", "oily", "xyz")] == [True, False, False]
    assert [characters.knows(word) for word in ("oil", "oily", "xyz")] == [True, True, False]


def test_columns_go_from_the_most_to_the_least_frequent_word():
    bag = BagOfWords.learn(encoded(TEXTS), BagConfig(min_documents=1))
    assert bag.vocabulary.words == ("oil", "price", "wheat", "fall", "gold")
    assert bag.vocabulary.counts == (3, 2, 2, 1, 1)


def test_bags_are_learned_from_the_documents_meant():
    part = encoded(TEXTS).select(np.array([3, 4]))
    assert BagOfWords.learn(part, BagConfig(min_documents=2)).vocabulary.words == ("wheat",)


def test_bags_without_documents_or_words():
    bag = BagOfWords.learn(encoded(TEXTS), BagConfig(min_documents=6))
    assert bag.transform(encoded(TEXTS)).shape == (6, 0)
    bag = BagOfWords.learn(encoded(TEXTS), BagConfig())
    assert bag.transform(encoded([])).shape == (0, 3)
    assert bag.transform(encoded(["", "gold"])).nnz == 0


def test_words_are_counted_over_the_documents_meant(encoder, documents):
    everything = encoder.encode(documents)
    part = everything.select(np.array([1, 4, 1]))
    counts = Counter(word for index in (1, 4, 1) for word in everything.tokens.document(index))
    vocabulary = count_words(part, VocabularyConfig(min_count=1))
    assert dict(zip(vocabulary.words, vocabulary.counts, strict=True)) == counts
    frequent = count_words(part, VocabularyConfig(min_count=2, max_size=5))
    wanted = sorted((-count, word) for word, count in counts.items() if count >= 2)[:5]
    assert list(frequent.words) == [word for _, word in wanted]


def test_ids_of_a_vocabulary_for_padding_unknown_and_words():
    assert vocabulary_ids(("b", "z", ""), Vocabulary(["a", "b"], [2, 1])).tolist() == [0, 1, 3, 1, 1]


@pytest.fixture(scope="module")
def toy_words(encoder, documents):
    everything = encoder.encode(documents)
    return everything, count_words(everything, VocabularyConfig(min_count=1))


def test_vectors_trained_on_the_documents(toy_words):
    (documents, vocabulary), config, told = toy_words, VectorsConfig(source="skip-gram", **SMALL), []
    vectors = learn_vectors(documents, vocabulary, config, lambda *report: told.append(report))
    words = list(documents.tokens.documents())
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(vocabulary), 6))
    assert np.array_equal(vectors, train_skip_gram(words, vocabulary, config))
    assert {stage for stage, _, _ in told} == {"training word vectors"}
    assert told[-1][1:] == (2 * sum(map(len, words)),) * 2


def test_random_vectors_depend_on_the_seed_alone(toy_words):
    documents, vocabulary = toy_words
    first, again, other = (
        learn_vectors(documents, vocabulary, VectorsConfig(source="none", seed=seed, **SMALL)) for seed in (1, 1, 2)
    )
    assert first.shape == (len(vocabulary), 6)
    assert not first[0].any()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_vectors_from_a_file(toy_words, tmp_path):
    documents, vocabulary = toy_words
    (tmp_path / "my.vec").write_text("goalkeeper 1 2 3\nzebra 9 9 9\ngene 4 5 6\n", encoding="utf-8")
    told = []
    source = VectorsConfig(source=str(tmp_path / "my.vec"))
    vectors = learn_vectors(documents, vocabulary, source, lambda *report: told.append(report))
    assert vectors.shape == (len(vocabulary), 3)
    assert vectors[vocabulary.ids(["goalkeeper", "gene"])].tolist() == [[1, 2, 3], [4, 5, 6]]
    share = 2 / len(vocabulary.words)
    assert told[0][0] == f"reading word vectors, {share:.0%} of the words found"


READY = st.lists(
    st.lists(st.sampled_from(["oil", "a", "New York", "New", "York", "of", "straße", "日本", "x y z", "y z"]))
)


def feature_names(features, words):
    if features == "characters":
        padded = [f" {word} " for word in words]
        return [one[start : start + n] for one in padded for n in (3, 4, 5) for start in range(len(one) - n + 1)]
    return words + [f"{first} {second}" for first, second in pairwise(words) if features == "pairs"]


@pytest.mark.parametrize("features", ["words", "pairs", "characters"])
@given(lists=READY)
def test_numpy_and_compiled_code_count_features_as_plain_loops_do(features, lists):
    documents = DocumentEncoder(TextConfig(tokenizer="none"), {}).encode([Document(tokens=tuple(one)) for one in lists])
    config = BagConfig(features=features, min_documents=1)
    bag = BagOfWords.learn(documents, config)
    names = [Counter(feature_names(features, list(filter(None, one)))) for one in lists]
    wanted = [[one[name] for name in bag.vocabulary.words] for one in names]
    for is_compiled in (False, True):
        with mock.patch.object(module, "pays", lambda *_, answer=is_compiled: answer):
            assert bag.counts(documents.tokens).toarray().tolist() == wanted
    has = Counter(name for one in names for name in one)
    assert dict(zip(bag.vocabulary.words, bag.vocabulary.counts, strict=True)) == has


@pytest.mark.parametrize("limit", [0, 3, 1_000])
def test_counts_do_not_depend_on_the_words_met_before(monkeypatch, limit):
    monkeypatch.setattr("taxocaps.encoding.features._MOST_REMEMBERED", limit)
    monkeypatch.setattr(module, "pays", lambda *_: True)
    texts = ["crude oil and oil", "oil prices", "new words among known prices", "crude oil and oil"]
    encoded = [DocumentEncoder(TextConfig(tokenizer="plain"), {}).encode([Document(text)]) for text in texts]
    bags = [BagOfWords.learn(one, BagConfig(features="characters", min_documents=1)) for one in encoded]
    for bag, same in zip(bags, encoded, strict=True):
        wanted = Counter(feature_names("characters", same.tokens.document(0)))
        for other in encoded:
            bag.counts(other.tokens)
        assert bag.counts(same.tokens).toarray()[0].tolist() == [wanted[name] for name in bag.vocabulary.words]


@pytest.mark.parametrize(("count", "width"), [(0, 1), (1, 1), (5, 100_000), (64, 64), (900, 100_000)])
def test_columns_are_sorted_by_comparing_and_by_bits(count, width):
    columns = np.random.default_rng(0).permutation(width)[:count].astype(np.int32)
    wanted = sorted(columns.tolist())
    _sort(columns, width)
    assert columns.tolist() == wanted
