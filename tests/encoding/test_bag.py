"""Bags of words, compared with those of scikit-learn."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from taxocaps.encoding.bag import BagConfig, BagEncoder
from taxocaps.text.pipeline import TextConfig, TextPipeline

PIPELINE = TextPipeline(TextConfig(stop_words="none"))
TEXTS = ["oil oil oil price", "oil falls", "", "wheat price price", "wheat wheat oil", "gold"]


def learned(texts=TEXTS, **options):
    chunks = [PIPELINE.chunk(texts[:2]), PIPELINE.chunk(texts[2:])]
    return BagEncoder.learn(chunks, PIPELINE, BagConfig(**options)), chunks


@pytest.mark.parametrize(
    ("counts", "theirs"),
    [("all", {}), ("logarithm", {"sublinear_tf": True}), ("once", {"binary": True})],
)
@pytest.mark.parametrize("least", [1, 2])
def test_the_numbers_are_those_of_scikit_learn(counts, theirs, least):
    encoder, chunks = learned(counts=counts, min_documents=least)
    peer = TfidfVectorizer(analyzer=lambda text: PIPELINE(text).words, min_df=least, **theirs).fit(TEXTS)
    columns = [peer.vocabulary_[word] for word in encoder.vocabulary.words]
    assert len(columns) == len(peer.vocabulary_)
    wanted = peer.transform([*TEXTS, "oil unknown"]).toarray()[:, columns]
    assert np.allclose(encoder.read([*TEXTS, "oil unknown"]).toarray(), wanted)
    assert np.allclose(encoder.encode(chunks).toarray(), wanted[:-1])


def test_columns_go_from_the_most_to_the_least_frequent_word():
    encoder, _ = learned(min_documents=1)
    assert encoder.vocabulary.words == ("oil", "price", "wheat", "fall", "gold")
    assert encoder.vocabulary.counts == (3, 2, 2, 1, 1)


def test_without_documents_or_words():
    encoder, _ = learned(min_documents=6)
    assert encoder.read(TEXTS).shape == (6, 0)
    encoder, _ = learned()
    assert encoder.encode([]).shape == (0, 3)
    assert encoder.read(["", "gold"]).nnz == 0
