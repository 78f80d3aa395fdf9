"""The fall of scores, against documents that really have an unknown word there."""

import numpy as np
import pytest
from taxocaps.estimators.occlusion import OccludedDocuments, occluded_characters, occluded_words

from taxocaps.text.pipeline import TextPipeline

TEXT = "The striker scored. A striker hopes for penalties, and the xyzzy supporters carry the goalkeeper home."


def test_copies_lack_a_word_each_and_others_stay():
    inputs = (np.array([[[2, 3], [3, 0]]], np.int32), np.array([[2, 1]], np.int8))
    copies = OccludedDocuments(inputs, np.array([-1, 3, 2]))
    ids, lengths = copies.arrays(np.array([2, 0, 1]))
    assert ids.tolist() == [[[1, 3], [3, 0]], [[2, 3], [3, 0]], [[2, 1], [1, 0]]]
    assert ids.dtype == np.int32
    assert lengths.tolist() == [[2, 1]] * 3
    assert inputs[0].tolist() == [[[2, 3], [3, 0]]]
    assert len(copies.lengths) == 3


@pytest.mark.parametrize("kind", ["words-matrix", "kim-cnn", "hierarchical"])
def test_a_fall_is_the_score_less_that_of_a_document_with_an_unknown_word(fit_network, kind):
    model = fit_network(kind)
    words = list(TextPipeline()(TEXT).words)
    falls = occluded_words(model.scorer, TEXT)
    assert set(falls) == set(words) - {"xyzzy"}
    whole = model.raw_scores([TEXT])[0]
    for word in ("striker", "home"):
        unknown = TEXT.replace(word, "plugh")
        assert np.allclose(falls[word], whole - model.raw_scores([unknown])[0], atol=1e-5)
    assert any(np.abs(fall).max() > 1e-6 for fall in falls.values())


def test_words_of_characters(keywords, toys):
    scorer = keywords(None, toys[1])
    column = scorer.classes.names.index("Tennis")
    text = "tennis and tennis again"
    falls = occluded_characters(scorer, text, [("tennis", (0, 6)), ("and", (7, 10)), ("tennis", (11, 17)), ("x", None)])
    assert set(falls) == {"tennis", "and"}
    assert (falls["tennis"][column], falls["and"][column]) == (0.5, 0.0)
