"""Parts of a corpus: what is drawn for the test, and that nothing is in two parts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.errors import CorpusError
from taxocaps.text.pipeline import TextConfig
from taxocaps.workflows.parts import divide, part_of


@pytest.fixture(scope="module")
def encode():
    return DocumentEncoder(TextConfig(tokenizer="none"), {}).encode


def numbered(count, **fields):
    return [Document(f"word{n} of{n} text{n} and{n}", labels=(f"label {n % 7}",), **fields) for n in range(count)]


def test_a_tenth_is_drawn_for_the_test_from_every_label(encode):
    documents = encode(numbered(700))
    found = divide(documents, "auto", [], has_test=False).rows
    assert sorted(np.concatenate(list(found.values()))) == list(range(700))
    assert len(found["test"]) == 70
    assert (np.bincount(found["test"] % 7) == 10).all()
    assert divide(documents, "auto", [], has_test=True) is None
    other = divide(documents, "auto", [], has_test=False, seed=1).rows
    assert set(other["test"]) != set(found["test"])


def test_documents_of_other_splits_or_none_are_left_out_and_counted(encode):
    documents = [*numbered(5, split="train"), *numbered(2, split="test"), *numbered(3, split="spare"), *numbered(4)]
    found = divide(encode(documents), "auto", [], has_test=False)
    assert {part: len(rows) for part, rows in found.rows.items()} == {"train": 5, "test": 2}
    assert found.how == "by the field 'split'; 7 with another value or none are left out"


def test_few_documents_are_all_for_training(encode):
    assert divide(encode(numbered(199)), "auto", [], has_test=False) is None


def test_near_copies_are_in_one_part(encode):
    texts = [" ".join(f"w{n // 2}x{i}" for i in range(50)) + (" more" if n % 2 else "") for n in range(400)]
    documents = encode([Document(text, labels=("a",)) for text in texts])
    test = divide(documents, "auto", [], has_test=False).rows["test"]
    assert {row // 2 for row in test if row % 2} == {row // 2 for row in test if not row % 2}


def test_a_large_group_of_near_copies_stays_for_training(encode):
    form = " ".join(f"line{n}" for n in range(40))
    documents = [*numbered(150), *(Document(f"{form} {n}", labels=("form",)) for n in range(150))]
    for seed in range(12):
        found = divide(encode(documents), "auto", [], has_test=False, seed=seed).rows
        assert 10 <= len(found["test"]) <= 30
        assert found["test"].max() < 150


def test_documents_that_are_all_near_copies_are_all_for_training(encode):
    form = " ".join(f"line{n}" for n in range(40))
    documents = [Document(f"{form} {n}", labels=(f"label {n % 3}",)) for n in range(250)]
    assert divide(encode(documents), "auto", [], has_test=False) is None


def test_the_field_split_wins(encode):
    documents = encode([*numbered(3, split="train"), *numbered(2, split="Validation"), *numbered(1, split="test")])
    found = divide(documents, "auto", [], has_test=False)
    assert {part: list(rows) for part, rows in found.rows.items()} == {"train": [0, 1, 2], "dev": [3, 4], "test": [5]}
    assert divide(encode(numbered(5, split="train")), "auto", [], has_test=False) is None
    assert divide(encode(numbered(5, split="1987")), "auto", [], has_test=False) is None


def test_a_part_knows_its_documents(encode):
    whole = encode([Document(text, id=text) for text in "abcde"])
    part = part_of(whole, np.array([1, 3]))
    assert [document.id for document in part.documents] == ["b", "d"]
    assert [words for tokens in part.token_chunks() for words in tokens.documents()] == [["b"], ["d"]]


@given(st.lists(st.integers(0, 30), min_size=3, max_size=60))
def test_no_document_is_earlier_than_one_of_an_earlier_part(years):
    documents = DocumentEncoder(TextConfig(tokenizer="none"), {}).encode(numbered(len(years)))
    try:
        found = divide(documents, "year", [str(year) for year in years], has_test=False).rows
    except CorpusError:
        assert len(set(years)) < 3 or max(map(years.count, years)) > len(years) // 2
        return
    assert sorted(np.concatenate(list(found.values()))) == list(range(len(years)))
    ends = [(min(years[row] for row in rows), max(years[row] for row in rows)) for rows in found.values()]
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))


@pytest.mark.parametrize("values", [["2024-05-31", "2024-06-01T12:00", "2024-06-02T00:00+02:00"], [3, 4, 5.5]])
def test_dates_and_numbers(encode, values):
    found = divide(encode(numbered(3)), "date", values, has_test=False).rows
    assert {part: list(rows) for part, rows in found.items()} == {"train": [0], "dev": [1], "test": [2]}


def test_what_is_no_date(encode):
    documents = encode(numbered(3))
    for values, message in {
        (1, 2, None): "document 3: the field 'date' is missing",
        (1, 2, "May"): "document 3: the field 'date' is 'May'; --split-by needs a date",
        (1, 2, True): "document 3: the field 'date' is 'True'",
        (1, 2, "nan"): "document 3: the field 'date' is 'nan'",
        (1, 2, "2024-05-31"): "has both dates and numbers",
        (1, 1, 1): "is the same for nearly all documents",
    }.items():
        with pytest.raises(CorpusError, match=message):
            divide(documents, "date", values, has_test=False)
