"""The names of labels as evidence, compared with loops over plain words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.arrays import ModelArrays
from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.joining.names import LabelNames, Phrases, label_terms
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.tokens import gather

RAW = TextConfig(tokenizer="raw")
TEXTS = [
    "The balance of payments improved. Trade was brisk, and the balance of payments too.",
    "shortest_paths finds the shortest path of a graph!",
    "Nothing of interest here.",
    "",
]
TERMS = [["Balance of Payments"], ["shortest paths"], ["Trade/Commerce"], ["zebra crossing", "interests"]]

TITLES = ["Balance of Payments", "graph shortest paths", "Trade/Commerce", "zebra crossing"]


def encoded(texts):
    return DocumentEncoder(RAW, {}).encode([Document(text) for text in texts])


@pytest.fixture(scope="module")
def names():
    found = LabelNames(TERMS, TITLES, RAW)
    found.fit(encoded(TEXTS))
    return found


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=12), max_size=4),
    st.lists(
        st.lists(st.lists(st.sampled_from("abcx"), min_size=1, max_size=3).map(tuple), max_size=3, unique=True),
        max_size=4,
    ),
)
def test_phrases_are_found_as_a_loop_finds_them(documents, phrases):
    tokens = gather(documents, lambda word: (word,))
    counts, first = Phrases(phrases).find(tokens)
    for row, words in enumerate(documents):
        for column, of_term in enumerate(phrases):
            starts = [i for phrase in of_term for i in range(len(words)) if tuple(words[i : i + len(phrase)]) == phrase]
            assert counts[row, column] == len(starts)
            assert first[row, column] == pytest.approx(1 / (1 + min(starts) / 20) if starts else 0)


def test_phrases_are_counted_in_every_form_of_their_words(names):
    found = names.evidence(encoded(TEXTS))
    assert np.expm1(found["phrases"]).round().tolist() == [[2, 0, 1, 0], [0, 2, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert found["first phrase"][0, 0] == 1


def test_coverage_is_the_share_of_a_names_words(names):
    found = names.evidence(encoded([*TEXTS, "Payments only."]))["coverage"]
    assert found[0, 0] == pytest.approx(1)
    assert 0 < found[4, 0] < 1
    assert found[2, 3] == pytest.approx(1)  # of its second name
    assert not found[3].any()


def test_full_coverage_counts_the_words_of_the_whole_name(names):
    found = names.evidence(encoded(["the shortest paths", "the shortest paths of a graph"]))
    assert found["coverage"][:, 1] == pytest.approx([1, 1])
    assert found["full coverage"][0, 1] < found["full coverage"][1, 1] == pytest.approx(1)


def test_likeness_sees_the_spelling_of_words(names):
    found = names.evidence(encoded(["A path in the graphs.", "Tradesmen."]))["likeness"]
    assert found[0].argmax() == 1
    assert found[1].argmax() == 2
    assert ((found >= 0) & (found <= 1 + 1e-6)).all()


def test_chunks_give_the_same_as_all_documents_together(names):
    together = names.evidence(encoded(TEXTS))
    documents = encoded(TEXTS)
    for index in range(len(TEXTS)):
        alone = names.evidence(documents.select(np.array([index])))
        for name in LabelNames.rising:
            np.testing.assert_allclose(alone[name][0], together[name][index], atol=1e-6)


def test_saved_names_measure_the_same(names, tmp_path):
    arrays = names.save(tmp_path)
    again = LabelNames(TERMS, TITLES, RAW)
    again.load(tmp_path, ModelArrays(arrays))
    expected = names.evidence(encoded(TEXTS))
    for name, values in again.evidence(encoded(TEXTS)).items():
        assert np.array_equal(values, expected[name])


def test_a_name_goes_without_that_of_its_parent():
    tags = Taxonomy.from_edges([("role", "role::program"), ("role", "use")], titles={"use": "in use (rare)"})
    assert label_terms(tags, "role::program") == ["::program"]
    assert label_terms(tags, "use") == ["in use"]
    assert label_terms(tags, "role") == ["role"]


@pytest.mark.parametrize(
    ("parent", "label", "name"),
    [
        ("facet", "facet::tag", "::tag"),
        ("trade", "trade policy", "trade policy"),
        ("oil", "oilseed", "oilseed"),
        ("a.b", "a.b.c", ".c"),
        ("a.b", "axb.c", "axb.c"),
    ],
)
def test_only_paths_are_cut(parent, label, name):
    assert label_terms(Taxonomy.from_edges([(parent, label)]), label) == [name]
