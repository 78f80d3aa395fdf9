import json

TEXT = "Musk told the electric car company that it plans a purchase. The company expects growth."


def test_the_words_matrix_is_printed_and_the_graph_drawn(run, tmp_path):
    code, out, err = run("graph", TEXT, "--out", tmp_path / "graph.html", "--rows", "2")
    assert (code, err) == (0, "")
    assert "electric car company plan purchase" in out
    assert "... 6 more rows" in out or "more rows" in out
    assert "10 words kept" in out
    assert (tmp_path / "graph.html").read_text().startswith("<!doctype html>")


def test_json_and_quiet(run):
    _, out, _ = run("graph", TEXT, "--json")
    report = json.loads(out)
    assert report["central_words"][0]["positions"] == [5, 8]
    assert report["matrix"][0]["central_word"] == "company"
    assert run("graph", TEXT, "--quiet") == (0, "", "")


def test_markup_in_a_text_is_only_text(run):
    code, out, _ = run("graph", "a[bold]b[/bold]c [red] nonsense")
    assert code == 0
    assert "nonsense" in out


def test_language_and_unicode(run):
    code, out, _ = run("graph", "Die schönen Häuser 🏠 von Köln", "--language", "de")
    assert code == 0
    assert "haus" in out
    code, _, err = run("graph", "Die Häuser", "--language", "klingon")
    assert code == 2
    assert "klingon" in err
