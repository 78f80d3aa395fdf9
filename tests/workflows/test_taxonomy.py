import pytest

from taxocaps.errors import TaxonomyError
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.workflows.taxonomy import TaxonomyOptions, check_taxonomy, convert_taxonomy, view_taxonomy


@pytest.fixture
def diamond(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("Root\ta\nRoot\tb\na\tc\tSea\nb\tc\nc\td\n")
    return path


def test_the_tree_shows_shared_labels_again_without_their_children(diamond):
    view = view_taxonomy(diamond)
    assert [(line.level, line.label, line.repeated) for line in view.tree] == [
        (0, "Root", False),
        (1, "a", False),
        (2, "c", False),
        (3, "d", False),
        (1, "b", False),
        (2, "c", True),
    ]
    assert view.tree[2].title == "Sea"
    assert view.statistics.labels == 4
    assert [line.label for line in view_taxonomy(diamond, levels=2).tree] == ["Root", "a", "b"]


def test_a_long_chain_needs_no_recursion(tmp_path):
    path = tmp_path / "chain.tsv"
    path.write_text("".join(f"{n}\t{n + 1}\n" for n in range(5_000)))
    assert len(view_taxonomy(path).tree) == 5_001


def test_all_problems_at_once(tmp_path, diamond):
    assert check_taxonomy(diamond).problems == ()
    path = tmp_path / "bad.tsv"
    path.write_text("a\ta\nb\tc\nb\tc\nc\t \nx\ty\ny\tx\n")
    found = check_taxonomy(path)
    assert {problem.line for problem in found.problems} >= {1, 3, 4}
    assert len(found.problems) == 4
    with pytest.raises(TaxonomyError, match="line 1"):
        view_taxonomy(path)


@pytest.mark.parametrize("name", ["t.tsv", "t.hier", "t.json", "t.yaml", "t.ttl", "t.tsv.gz"])
def test_conversion_keeps_the_taxonomy(tmp_path, diamond, name):
    convert_taxonomy(diamond, tmp_path / name)
    options = TaxonomyOptions()
    again = tmp_path / "again.tsv"
    convert_taxonomy(tmp_path / name, again, options)
    assert len(read_taxonomy(again)) == 5
    assert len(read_taxonomy(again).edges) == 5
