import json

import pytest


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("Root\ta\tAnimals\na\tcat\nRoot\tb\nb\tcat\n")
    return path


def test_show(run, labels):
    code, out, _ = run("taxonomy", "show", labels)
    assert code == 0
    assert out.splitlines()[:3] == ["Root", "  a  Animals", "    cat"]
    assert "with several parents" in out
    code, out, _ = run("taxonomy", "show", labels, "--levels", "2", "--json")
    assert [line["label"] for line in json.loads(out)["tree"]] == ["Root", "a", "b"]


def test_check_lists_every_problem_with_its_line(run, labels, tmp_path):
    assert run("taxonomy", "check", labels)[0] == 0
    bad = tmp_path / "bad.tsv"
    bad.write_text("a\ta\nb\tc\nb\tc\nc\t \nx\ty\ny\tx\n")
    code, out, _ = run("taxonomy", "check", bad)
    assert code == 2
    for line in (1, 3, 4):
        assert f"bad.tsv, line {line}:" in out
    assert "x > y > x" in out
    assert "4 problems" in out
    code, out, _ = run("taxonomy", "check", bad, "--json")
    assert code == 2
    assert len(json.loads(out)["problems"]) == 4
    assert run("taxonomy", "check", bad, "--quiet") == (2, "", "")


@pytest.mark.parametrize("name", ["t.json", "t.yaml", "t.hier", "t.ttl"])
def test_convert_there_and_back(run, labels, tmp_path, name):
    assert run("taxonomy", "convert", labels, tmp_path / name, "--quiet") == (0, "", "")
    label = ["--skos-label", "label"] if name == "t.ttl" else []
    code, out, _ = run("taxonomy", "show", tmp_path / name, *label, "--json")
    assert code == 0
    assert json.loads(out)["statistics"]["edges"] == 4


def test_names_are_shown_beside_ids_in_the_language(run, tmp_path):
    path = tmp_path / "labels.json"
    path.write_text('{"name": "all", "children": [{"name": "D", "titles": {"en": "dogs", "de": "Hunde"}}]}')
    assert run("taxonomy", "show", path)[1].splitlines()[:2] == ["all", "  D  dogs"]
    assert run("taxonomy", "show", path, "--language", "de")[1].splitlines()[:2] == ["all", "  D  Hunde"]


def test_convert_keeps_all_names(run, tmp_path):
    path = tmp_path / "labels.json"
    node = {
        "name": "D",
        "titles": {"de": "Hunde", "en": "dogs"},
        "alternatives": ["hounds"],
        "hidden": {"en": ["dgos"]},
    }
    path.write_text(json.dumps({"name": "all", "children": [node]}))
    assert run("taxonomy", "convert", path, tmp_path / "t.ttl", "--quiet") == (0, "", "")
    assert run("taxonomy", "convert", tmp_path / "t.ttl", tmp_path / "t.json", "--quiet") == (0, "", "")
    assert json.loads((tmp_path / "t.json").read_text())["children"] == [node]


def test_check_tells_names_that_contradict_each_other(run, tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("r\ta\tone\tuno|eins\ns\ta\ttwo\n")
    code, out, _ = run("taxonomy", "check", path)
    assert code == 2
    assert "line 2: the label 'a' has two preferred names, 'one' and 'two'; keep one" in out


def test_a_failed_conversion_leaves_nothing(run, tmp_path):
    bad = tmp_path / "bad.tsv"
    bad.write_text("a\tb\nb\ta\n")
    code, _, err = run("taxonomy", "convert", bad, tmp_path / "out.json")
    assert code == 2
    assert "a > b > a" in err
    assert not (tmp_path / "out.json").exists()


def test_diff_shows_a_table_or_json(run, tmp_path):
    (tmp_path / "old.tsv").write_text("all\tship\nall\tboat\n")
    (tmp_path / "new.tsv").write_text("all\tship\nship\tboat\nall\tcorn\n")
    code, out, err = run("taxonomy", "diff", tmp_path / "old.tsv", tmp_path / "new.tsv")
    assert (code, err) == (0, "")
    assert "moved" in out
    assert out.endswith("2 labels before, 3 now: 1 moved, 1 added\n")
    code, out, _ = run("taxonomy", "diff", tmp_path / "old.tsv", tmp_path / "new.tsv", "--json")
    assert json.loads(out)["counts"] == {"moved": 1, "added": 1}
    assert (
        run("taxonomy", "diff", tmp_path / "old.tsv", tmp_path / "old.tsv")[1] == "2 labels before, 2 now: no changes\n"
    )
