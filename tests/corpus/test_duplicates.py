import tracemalloc
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.duplicates import DuplicateFinder, Repeats


def found(splits):
    finder = DuplicateFinder()
    for split, keys in splits.items():
        for number, key in enumerate(keys):
            finder.add(key, split, f"{split}{number}")
    return finder


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from("uvwxyz"))))
def test_counts_are_those_of_sets(splits):
    finder = found(splits)
    for split, keys in splits.items():
        assert finder.within(split).count == len(keys) - len(set(keys))
    shared = {pair: len(set(splits[pair[0]]) & set(splits[pair[1]])) for pair in combinations(splits, 2)}
    assert {pair: repeats.count for pair, repeats in finder.across().items()} == {p: n for p, n in shared.items() if n}


def test_examples_name_the_later_document():
    finder = found({"train": ["x", "y", "x"], "test": ["z", "y", "x"]})
    assert finder.within("train") == Repeats(1, "train2")
    assert finder.within("test") == Repeats(0, None)
    assert finder.across() == {("train", "test"): Repeats(2, "test1")}


def test_odd_characters_are_keys_too():
    assert found({"a": ["\ud800", "\ud800", ""]}).within("a").count == 1


def test_memory_is_bounded_per_key():
    tracemalloc.start()
    finder = found({"train": (f"a text of some length, number {number}, " * 5 for number in range(50_000))})
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert finder.within("train").count == 0
    assert used / 50_000 < 150
