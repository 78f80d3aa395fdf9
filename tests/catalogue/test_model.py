from taxocaps.catalogue.models import PAPER, Model


def test_a_variant_is_what_cites_the_paper():
    parts = {"family": "graph", "summary": "rows", "use": "always", "axes": {}}
    assert Model("ours", citation=PAPER, **parts).is_variant
    assert Model("ours", citation=PAPER, **parts).reads == "a graph of words"
    assert not Model("theirs", citation="Kim 2014", **parts).is_variant
