"""Labels in all forms come out as the same matrix."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix

from taxocaps.corpus.labels import Classes, LabelConfig
from taxocaps.corpus.targets import read_targets
from taxocaps.errors import CorpusError
from taxocaps.taxonomy.tree import Taxonomy

TOPICS = Taxonomy.from_edges([("all", "trade"), ("trade", "oil"), ("trade", "grain"), ("all", "art")])
CONFIG = LabelConfig()
LISTS = [["oil", "art"], [], ["grain"], ["oil"]]
MATRIX = np.array([[0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0]])
"""The same labels; the columns are all, trade, oil, grain, art."""


def read(y, taxonomy=TOPICS, config=CONFIG, **options):
    return read_targets(y, taxonomy, config, **options)


def assert_is(targets, names, rows):
    assert targets.classes.names == tuple(names)
    assert isinstance(targets.labels, csr_array)
    assert targets.labels.dtype == bool
    assert targets.labels.has_sorted_indices
    assert targets.labels.toarray().astype(int).tolist() == rows


@pytest.mark.parametrize(
    "y",
    [
        LISTS,
        [tuple(labels) for labels in LISTS],
        [set(labels) for labels in LISTS],
        [labels or None for labels in LISTS],
        np.array([*LISTS, None], dtype=object)[:-1],
        [["oil", "art"], (), "grain", ["oil", "oil"]],
    ],
    ids=["lists", "tuples", "sets", "None", "array of lists", "mixed"],
)
def test_lists_of_names(y):
    found = read(y)
    assert found.form == "names"
    # Columns are the labels that are carried, in taxonomy order.
    assert_is(found, ["oil", "grain", "art"], [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert found.classes.taxonomy is TOPICS


def test_arrays_of_names():
    found = read([np.array(labels, str) for labels in LISTS])
    assert found.form == "names"
    assert_is(found, ["oil", "grain", "art"], [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_one_name_each(kind):
    found = read(kind(["oil", "art", "oil"]))
    assert found.form == "single"
    assert_is(found, ["oil", "art"], [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    "kind",
    [np.array, lambda y: y.astype(bool), lambda y: y / 2, csr_array, csr_matrix, csc_matrix, coo_array],
    ids=["int", "bool", "float", "csr", "csr matrix", "csc", "coo"],
)
def test_an_indicator_matrix_has_a_column_for_every_label_of_the_taxonomy(kind):
    found = read(kind(MATRIX))
    assert found.form == "matrix"
    assert_is(found, ["all", "trade", "oil", "grain", "art"], MATRIX.tolist())


def test_explicit_zeros_and_unsorted_columns_of_a_matrix():
    untidy = csr_array((np.array([1, 0, 2]), np.array([4, 3, 2]), np.array([0, 3, 3, 3, 3])), shape=(4, 5))
    found = read(untidy)
    assert found.labels.nnz == 2
    assert_is(found, TOPICS.names, [[0, 0, 1, 0, 1], *[[0] * 5] * 3])
    assert untidy.nnz == 3  # the caller's matrix is as it was


def test_without_a_taxonomy_labels_stand_side_by_side():
    found = read(LISTS, None)
    assert_is(found, ["art", "grain", "oil"], [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert set(found.classes.taxonomy.roots) == {"art", "grain", "oil"}
    assert_is(read(MATRIX, None), ["0", "1", "2", "3", "4"], MATRIX.tolist())


@pytest.mark.parametrize("columns", [0, 4, 6])
def test_a_matrix_of_another_width_is_refused(columns):
    with pytest.raises(CorpusError) as caught:
        read(np.ones((2, columns)))
    assert str(caught.value) == (
        f"a label matrix has a column for each of the 5 labels of the taxonomy, in its order; got {columns} columns"
    )


def test_unknown_labels():
    with pytest.raises(CorpusError, match="document 2: the label 'oils' is not in the taxonomy"):
        read([["oil"], ["oils"]])
    added = read([["oil"], ["oils"]], config=LabelConfig(unknown="add"))
    assert_is(added, ["oil", "oils"], [[1, 0], [0, 1]])
    assert "oils" in added.classes.taxonomy
    assert_is(read([["oil"], ["oils"]], config=LabelConfig(unknown="drop")), ["oil"], [[1], [0]])


def test_ancestors_are_added_on_request():
    found = read([["oil"], ["art"]], config=LabelConfig(ancestors="add"))
    assert_is(found, ["trade", "oil", "art"], [[1, 1, 0], [0, 0, 1]])


def test_ancestors_are_added_to_a_matrix_too():
    closed = [[0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 1, 1, 0, 0]]
    assert_is(read(MATRIX, config=LabelConfig(ancestors="add")), TOPICS.names, closed)


def test_known_columns_stay_and_other_labels_have_none():
    known = Classes(("trade", "oil"), TOPICS)
    found = read([["oil"], ["art"], ["oil", "trade"]], None, known=known)
    assert found.classes is known
    assert_is(found, ["trade", "oil"], [[0, 1], [0, 0], [1, 1]])
    closed = read([["grain"]], None, LabelConfig(ancestors="add"), known=known)
    assert_is(closed, ["trade", "oil"], [[1, 0]])
    assert_is(read(np.array([[1, 0]]), None, known=known), ["trade", "oil"], [[1, 0]])
    # Nothing is learned from these: documents to be measured may carry nothing that is known.
    assert_is(read([["art"], []], None, known=known), ["trade", "oil"], [[0, 0], [0, 0]])
    assert_is(read(np.zeros((2, 2)), None, known=known), ["trade", "oil"], [[0, 0], [0, 0]])
    with pytest.raises(CorpusError, match="each of the 2 labels"):
        read(np.array([[1, 0, 0]]), None, known=known)


def test_more_labels_get_a_column():
    assert_is(read([["oil"]], more=("art", "grain")), ["oil", "grain", "art"], [[1, 0, 0]])
    assert_is(read([["oil"]], None, more=("art",)), ["art", "oil"], [[0, 1]])


@pytest.mark.parametrize("taxonomy", [TOPICS, None], ids=["taxonomy", "none"])
@pytest.mark.parametrize("y", [[], [[], None], np.zeros((2, 5))], ids=["no documents", "no labels", "matrix"])
def test_nothing_to_learn_from(y, taxonomy):
    with pytest.raises(CorpusError, match="no document carries a label; there is nothing to learn"):
        read(y, taxonomy)


def test_labels_that_are_all_dropped():
    with pytest.raises(CorpusError, match="nothing to learn"):
        read([["oils"]], config=LabelConfig(unknown="drop"))


@pytest.mark.parametrize(
    ("y", "label"),
    [([1, 2, 1], "1"), (np.array([1, 2]), "np.int64(1)"), ([0, 0], "0"), ([[0, 1], [1, 0]], "0")],
    ids=["list", "array", "zeros", "indicator lists"],
)
def test_numbers_are_refused_in_one_line(y, label):
    with pytest.raises(CorpusError) as caught:
        read(y, None)
    wanted = f"labels[0] must be names; got {label}; give text, or an indicator matrix as an array"
    assert str(caught.value) == wanted


def test_rows_of_an_array_of_names():
    found = read(np.array([["oil", "art"], ["grain", "oil"]]))
    assert found.form == "names"
    assert_is(found, ["oil", "grain", "art"], [[1, 0, 1], [1, 1, 0]])
    assert {type(name) for name in found.classes.names} == {str}


FRAME = pd.DataFrame(MATRIX[:, 2:], columns=["oil", "grain", "art"])


@pytest.mark.parametrize("kind", [int, bool, float])
def test_a_frame_has_names_for_columns(kind):
    found = read(FRAME[["art", "oil", "grain"]].astype(kind))
    assert (found.form, found.columns) == ("frame", ("art", "oil", "grain"))
    assert_is(found, ["oil", "grain", "art"], [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]])


def test_columns_of_a_frame_that_no_document_carries_or_no_taxonomy_has():
    assert_is(read(FRAME.assign(trade=0)[:1]), ["trade", "oil", "grain", "art"], [[0, 1, 0, 1]])
    for value in (0, 1):
        strange = FRAME.assign(music=value)[:1]
        with pytest.raises(CorpusError, match=r"the column 'music' is not in the taxonomy; .*labels.unknown"):
            read(strange)
        assert_is(read(strange, config=LabelConfig(unknown="drop")), ["oil", "grain", "art"], [[1, 0, 1]])
        added = read(strange, config=LabelConfig(unknown="add"))
        assert_is(added, ["oil", "grain", "art", "music"], [[1, 0, 1, value]])
    known = Classes(("trade", "oil"), TOPICS)
    assert_is(read(FRAME.assign(music=1)[:1], None, known=known), ["trade", "oil"], [[0, 1]])


def test_a_frame_without_a_label():
    with pytest.raises(CorpusError, match="no document carries a label"):
        read(FRAME * 0)
