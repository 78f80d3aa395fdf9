"""Corrections become documents with labels, and labelled documents become corrections."""

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import CorpusError, FileError
from taxocaps.feedback import read_corrections
from taxocaps.feedback.corrections import import_corrections
from taxocaps.feedback.store import Correction, FeedbackStore, feedback_path

OIL, ART = Document("Crude prices rose.", "oil"), Document("A new museum opened.", "art")


@pytest.fixture
def model(tmp_path):
    """The folder of a model with two documents in its store: one reviewed, one not."""
    folder = tmp_path / "news"
    folder.mkdir()
    (folder / "versions.json").write_text("{}")
    with FeedbackStore(feedback_path(folder)) as store:
        store.add(
            [
                Correction("1", "reject", "ann", OIL, "trade"),
                Correction("2", "accept", "ann", OIL, "markets"),
                Correction("3", "add", "ann", OIL, "crude"),
                Correction("4", "done", "ann", OIL, suggested=("markets", "trade", "energy")),
                Correction("5", "add", "ann", ART, "culture"),
            ]
        )
    return folder


def test_final_labels_are_accepted_kept_and_added_ones_without_rejected_ones(model):
    wanted = [Document(OIL.text, OIL.id, ("markets", "energy", "crude"))]
    assert list(read_corrections(model)) == wanted  # the document that nobody was done with is not there
    assert list(read_corrections(str(feedback_path(model)))) == wanted


def test_a_file_of_documents_is_read_as_it_is(tmp_path):
    documents = [Document("a", "1", ("oil",)), Document("b", "2", ())]
    write_documents(documents, tmp_path / "corrections.jsonl")
    assert list(read_corrections(tmp_path / "corrections.jsonl")) == documents


def test_what_is_imported_comes_out_again_and_again_is_once(model, tmp_path):
    documents = [Document(OIL.text, OIL.id, ("crude", "gas")), Document("b", "2", ()), Document("c", "3", ("oil",))]
    with FeedbackStore(feedback_path(model)) as store:
        assert import_corrections(store, documents, "eve") == 3
        events = store.events()
        assert import_corrections(store, documents, "eve") == 3
        assert store.events() == events
    assert list(read_corrections(model)) == documents


def test_documents_without_ids_are_told_apart_by_their_texts(model):
    files = [[Document(f"{name} {number}", labels=("oil",)) for number in range(3)] for name in ("first", "second")]
    with FeedbackStore(feedback_path(model)) as store:
        for documents in (*files, files[0]):
            assert import_corrections(store, documents, "eve") == 3
    assert set(read_corrections(model)) > {*files[0], *files[1]}
    assert len(list(read_corrections(model))) == 7  # with the one that was there


def test_what_a_reviewer_says_after_an_import_stands(model):
    with FeedbackStore(feedback_path(model)) as store:
        import_corrections(store, [Document(OIL.text, OIL.id, ("crude",))], "eve")
        store.add([Correction("6", "add", "ann", OIL, "gas")])
        import_corrections(store, [Document(OIL.text, OIL.id, ("crude",))], "eve")
    assert next(read_corrections(model)).labels == ("crude", "gas")


def test_what_has_no_corrections(tmp_path):
    (tmp_path / "versions.json").write_text("{}")
    with pytest.raises(FileError, match="there is no feedback"):
        read_corrections(tmp_path)
    with pytest.raises(FileError, match=r"nothing\.jsonl"):
        read_corrections(tmp_path / "nothing.jsonl")
    write_documents([Document("a", "1")], tmp_path / "unlabelled.jsonl")
    with pytest.raises(CorpusError, match=r"document '1': has no labels"):
        list(read_corrections(tmp_path / "unlabelled.jsonl"))
