import pytest

from taxocaps.datasets.checks import check_count, check_counts, distinct
from taxocaps.errors import CorpusError


def test_equal_counts_pass_and_others_are_told_in_one_line():
    found = {"training documents": 1_234, "topics": 3}
    check_counts("News", found, {"topics": 3})
    with pytest.raises(
        CorpusError, match=r"News: 1,234 training documents, but officially there are 1,235; .*--any-co"
    ):
        check_counts("News", found, {"topics": 3, "training documents": 1_235})
    check_count("News", "topics", 3, 3)


def test_an_id_that_comes_twice():
    items = [(1, "a"), (2, "b"), (1, "c")]
    with pytest.raises(CorpusError, match="the id 1 occurs twice"):
        list(distinct(items, lambda item: item[0], "News", check=True))
    assert list(distinct(items, lambda item: item[0], "News", check=False)) == items[:2]
