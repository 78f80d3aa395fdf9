"""The numbers of small taxonomies, counted by hand."""

from taxocaps.taxonomy import Taxonomy, TaxonomyStatistics


def test_a_single_root_is_no_label():
    taxonomy = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("a", "e")])
    assert taxonomy.statistics() == TaxonomyStatistics(
        labels=5,
        edges=6,
        roots=1,
        leaves=3,
        depth=2,
        labels_per_level=(2, 3),
        multiple_parents=1,
        most_children=3,
        most_children_of="a",
    )


def test_several_roots_are_labels_of_the_first_level():
    taxonomy = Taxonomy.from_edges([("a", "c")], labels=["a", "b"])
    assert taxonomy.statistics() == TaxonomyStatistics(
        labels=3,
        edges=1,
        roots=2,
        leaves=2,
        depth=2,
        labels_per_level=(2, 1),
        multiple_parents=0,
        most_children=1,
        most_children_of="a",
    )
