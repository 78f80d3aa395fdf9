import io

import pytest

from taxocaps.errors import ConfigError, CorpusError, FileError
from taxocaps.workflows.config import resolve_graph_config
from taxocaps.workflows.graph import graph_of_words, inspect_document

TEXT = "Musk told the electric car company that it plans a purchase. The company expects growth."


def test_the_papers_sentence_from_raw_text():
    graph = graph_of_words(TEXT)
    assert graph.tokens[:5] == ("musk", "tell", "electric", "car", "company")
    assert graph.positions["company"] == (5, 8)


def test_text_file_and_standard_input_give_the_same(tmp_path, monkeypatch):
    (tmp_path / "my text.txt").write_text(TEXT)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    from_text = inspect_document(TEXT)
    assert inspect_document(str(tmp_path / "my text.txt")) == from_text == inspect_document("-")
    assert from_text.central_words[0].word == from_text.matrix[0].central_word == "company"
    assert from_text.tokens == 10


def test_the_page_is_written_with_the_title(tmp_path):
    report = inspect_document(TEXT, out=tmp_path / "graph.html")
    assert report.page == str(tmp_path / "graph.html")
    assert "<title>Musk told the electric car company that it …</title>" in (tmp_path / "graph.html").read_text()


def test_options_reach_pipeline_and_graph():
    config = resolve_graph_config(overrides=["graph.N=2", "text.language=de"])
    report = inspect_document("Die Häuser und die Gärten", config)
    assert len(report.matrix) == 2
    assert report.central_words[0].word == "haus"


def test_options_beside_a_configuration_are_refused():
    with pytest.raises(ConfigError, match="graph__window is given beside config"):
        graph_of_words("a text", resolve_graph_config(), graph__window=9)


@pytest.mark.parametrize("argument", ["missing.txt", "some/where", ""])
def test_a_mistyped_path_is_not_taken_for_a_text(argument):
    with pytest.raises(FileError):
        inspect_document(argument)


def test_one_word_and_no_words():
    assert inspect_document("hello").words == 1
    assert inspect_document("the of and").matrix == ()


def test_a_document_of_a_corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "text": "Cats purr."}\n{"id": "b", "tokens": ["Dogs", "bark", "loud"]}\n')
    assert inspect_document(str(path), id="a").words == 2
    assert [central.word for central in inspect_document(str(path), id="b").central_words] == ["Dogs", "bark", "loud"]
    with pytest.raises(CorpusError, match=r"corpus\.jsonl: no document has the id 'c'"):
        inspect_document(str(path), id="c")


def test_texts_of_any_length_are_texts(monkeypatch):
    assert inspect_document("word " * 100).words == 1
    assert inspect_document("x" * 300).words <= 1
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("café".encode("latin-1"))))
    report = inspect_document("-", resolve_graph_config(options={"corpus.encoding": "latin-1"}))
    assert report.central_words[0].word == "café"


def test_a_file_of_documents_needs_an_id(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "Cats purr."}\n')
    with pytest.raises(FileError, match=r"a\.jsonl: is a file of documents; choose one of them with --id"):
        inspect_document(str(tmp_path / "a.jsonl"))
