from taxocaps.corpus.document import Document
from taxocaps.datasets.splits import draw_order, last_tenth, named_splits


def test_the_last_tenth():
    first, last = last_tenth(list(range(7_770)))
    assert (len(first), len(last)) == (6_993, 777)
    assert [*first, *last] == list(range(7_770))


def test_a_draw_depends_on_ids_and_seed_alone():
    ids = [str(number) for number in range(100)]
    drawn = draw_order(ids, 0)
    assert sorted(drawn) == sorted(ids)
    assert drawn == draw_order(reversed(ids), 0)
    assert drawn not in (ids, draw_order(ids, 1))
    # Other documents do not change the order of these.
    more = draw_order([*ids, "x", "y"], 0)
    assert [id for id in more if id in ids] == drawn
    assert drawn[:4] == ["87", "46", "15", "44"]  # on every machine


def test_documents_say_their_split():
    splits = named_splits({"train": [Document("a")], "dev": []})
    assert splits == {"train": (Document("a", split="train"),), "dev": ()}
