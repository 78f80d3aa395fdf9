"""What is learned about words before training: chunks, counts and vectors."""

from collections import Counter

import numpy as np
import pytest

from taxocaps.datasets import toy
from taxocaps.encoding.corpus_words import count_words, learn_vectors, tokenise
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.vectors import VectorsConfig, train_skip_gram
from taxocaps.text.vocabulary import VocabularyConfig

TEXTS = [document.text for _, document in toy.load().documents()]
PIPELINE = TextPipeline()
WORDS = [list(PIPELINE(text).words) for text in TEXTS]
SMALL = {"dimension": 6, "epochs": 2}


@pytest.fixture(scope="module")
def chunks():
    return tokenise(TEXTS, PIPELINE)


def test_many_documents_come_in_chunks_and_in_order():
    texts = [f"alpha w{number}" for number in range(2_500)]
    told = []
    chunks = tokenise(texts, PIPELINE, lambda *words: told.append(words), "looking")
    assert [len(chunk) for chunk in chunks] == [1_024, 1_024, 452]
    documents = [words for chunk in chunks for words in chunk.documents()]
    assert documents == [list(PIPELINE(text).words) for text in texts]
    assert told == [("looking", 1_024, 2_500), ("looking", 2_048, 2_500), ("looking", 2_500, 2_500)]


def test_ready_words_and_empty_texts():
    (chunk,) = tokenise([["The", "READY"], "", "The goalkeepers"], PIPELINE)
    assert list(chunk.documents()) == [["The", "READY"], [], ["goalkeeper"]]
    assert tokenise([], PIPELINE) == []


def test_words_are_counted_over_all_chunks(chunks):
    counts = Counter(word for words in WORDS for word in words)
    vocabulary = count_words([*chunks, *chunks], VocabularyConfig())
    assert dict(zip(vocabulary.words, vocabulary.counts, strict=True)) == {
        word: 2 * count for word, count in counts.items()
    }
    frequent = count_words(chunks, VocabularyConfig(min_count=2, max_size=5))
    wanted = sorted(((-count, word) for word, count in counts.items() if count >= 2))[:5]
    assert list(frequent.words) == [word for _, word in wanted]


def test_vectors_trained_on_the_documents(chunks):
    vocabulary, config, told = count_words(chunks, VocabularyConfig()), VectorsConfig("skip-gram", **SMALL), []
    vectors, share = learn_vectors(chunks, vocabulary, config, lambda *words: told.append(words))
    assert share is None
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(vocabulary), 6))
    assert np.array_equal(vectors, train_skip_gram(WORDS, vocabulary, config))
    assert {stage for stage, _, _ in told} == {"training word vectors"}
    total = 2 * sum(map(len, WORDS))
    assert told[-1][1:] == (total, total)


def test_random_vectors_depend_on_the_seed_alone(chunks):
    vocabulary = count_words(chunks, VocabularyConfig())
    first, again, other = (
        learn_vectors(chunks, vocabulary, VectorsConfig("none", seed=seed, **SMALL))[0] for seed in (1, 1, 2)
    )
    assert first.shape == (len(vocabulary), 6)
    assert not first[0].any()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_vectors_from_a_file(chunks, tmp_path):
    vocabulary = count_words(chunks, VocabularyConfig())
    (tmp_path / "my.vec").write_text("goalkeeper 1 2 3\nzebra 9 9 9\ngene 4 5 6\n", encoding="utf-8")
    vectors, share = learn_vectors(chunks, vocabulary, VectorsConfig(str(tmp_path / "my.vec")))
    assert vectors.shape == (len(vocabulary), 3)
    assert vectors[vocabulary.ids(["goalkeeper", "gene"])].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert share == pytest.approx(2 / len(vocabulary.words))
