"""From a model's folder and a file of documents to an explanation and its page."""

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.errors import ConfigError, CorpusError, FileError
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.explain import explain
from taxocaps.workflows.sources import find_document


@pytest.fixture(scope="module")
def model(toy_model):
    return load_model(toy_model)


def test_a_folder_and_a_loaded_model_explain_alike(toy_model, model):
    assert explain(toy_model, "The striker scored.") == explain(model, "The striker scored.")


def test_a_page_is_written(model, tmp_path):
    found = explain(model, Document("The striker scored.", id="a < b"), out=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found.title == "a < b"
    assert "<title>a &lt; b</title>" in page


def test_ready_tokens(model):
    assert explain(model, Document(tokens=("striker", "score"))).text == "striker score"


def test_text_that_is_no_unicode(model):
    with pytest.raises(FileError, match="not valid Unicode"):
        explain(model, "a \udcff b")


def test_documents_by_id_and_by_place(toy_files, tmp_path):
    assert find_document(toy_files.documents, "genetics-mice").labels == ("Science", "Biology", "Genetics")
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "first"}\n{"text": "second"}\n')
    assert find_document(path, "2").text == "second"


BAD = {
    "unknown id": ('{"text": "x"}\n', "7", "no document has the id '7'; none has an id, only a position"),
    "several": ('{"text": "x"}\n{"text": "y"}\n', None, "has several documents; choose one of them with --id"),
    "none": ("", None, "contains no documents"),
}


@pytest.mark.parametrize(("content", "id", "message"), BAD.values(), ids=BAD)
def test_documents_that_are_not_there(tmp_path, content, id, message):
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(CorpusError, match=message):
        find_document(path, id)


def test_the_only_document_needs_no_id_and_is_not_overwritten(model, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n')
    assert find_document(path).text == explain(model, path).text == "x"
    with pytest.raises(FileError, match="is the input itself"):
        explain(model, path, out=path)


def test_a_text_is_no_file(toy_model, toy_files):
    for options in ({"id": "d3"}, {"corpus": CorpusConfig()}):
        with pytest.raises(
            ConfigError, match=r"^id and corpus belong to a file of documents; give it as a Path, such as"
        ):
            explain(toy_model, "test.jsonl", **options)


@pytest.mark.parametrize("given", [["one", "two"], 7, None])
def test_one_document_at_a_time(toy_model, given):
    with pytest.raises(CorpusError, match=f"^one document is explained at a time: .*; got {type(given).__name__}$"):
        explain(toy_model, given)
