"""Documents out of files, with their labels held against the taxonomy."""

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import CorpusError
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.workflows.labelled import read_labelled

TOPICS = Taxonomy.from_edges([("all", "art"), ("all", "trade"), ("trade", "oil")])


@pytest.fixture
def read(tmp_path):
    def call(*documents, taxonomy=None, unknown="error", name="documents.jsonl", config=None):
        write_documents(documents, tmp_path / name)
        return read_labelled(tmp_path / name, config or CorpusConfig(), taxonomy, unknown)

    return call


def test_what_is_read(read):
    found = read(
        Document("some text", id="x", labels=("oil", "art")),
        Document(tokens=("ready", "words"), labels=()),
        Document("no label field"),
        taxonomy=TOPICS,
    )
    assert list(found.ids) == ["x", None, None]
    assert list(found.texts) == ["some text", ("ready", "words"), "no label field"]
    assert list(found.labels) == [("oil", "art"), (), ()]
    assert (found.taxonomy, found.unknown) == (TOPICS, {})


def test_without_a_taxonomy_any_label_will_do(read):
    found = read(Document("x", labels=("whatever",)))
    assert (found.labels[0], found.taxonomy, found.unknown) == (("whatever",), None, {})


def test_an_unknown_label_names_file_document_and_the_nearest(read):
    with pytest.raises(CorpusError, match=r"documents\.jsonl: document 'b': the label 'tarde' .*\(nearest: 'trade'\)"):
        read(Document("x", id="a", labels=("art",)), Document("y", id="b", labels=("tarde",)), taxonomy=TOPICS)
    with pytest.raises(CorpusError, match=r"documents\.jsonl: document 2: "):
        read(Document("x", labels=("art",)), Document("y", labels=("tarde",)), taxonomy=TOPICS)


def test_unknown_labels_can_be_added_or_dropped(read):
    documents = [Document("x", labels=("art", "new")), Document("y", labels=("new",))]
    added = read(*documents, taxonomy=TOPICS, unknown="add")
    assert list(added.labels) == [("art", "new"), ("new",)]
    assert added.taxonomy.parents("new") == ("all",)
    dropped = read(*documents, taxonomy=TOPICS, unknown="drop")
    assert list(dropped.labels) == [("art",), ()]
    assert dropped.taxonomy == TOPICS
    assert added.unknown == dropped.unknown == {"new": 2}


def test_the_fingerprint_is_of_texts_and_labels_in_their_order(read):
    a, b = Document("x", id="1", labels=("art",)), Document("y", id="2", labels=("oil",))
    base = read(a, b).fingerprint
    assert read(a, b, name="copy.csv").fingerprint == base
    assert read(a, b, taxonomy=TOPICS).fingerprint == base
    others = [
        read(b, a),
        read(a),
        read(a, Document("y", labels=("art",))),
        read(a, Document("z", labels=("oil",))),
        read(a, Document(tokens=("y",), labels=("oil",))),
        read(a, Document("y", labels=("oil", "art"))),
    ]
    assert len({base, *(found.fingerprint for found in others)}) == 7


def test_options_of_reading_hold(read):
    documents = [Document("x", split="train"), Document("y", split="test")]
    assert list(read(*documents, config=CorpusConfig(split="test")).texts) == ["y"]


def test_a_broken_record_is_told_with_its_line(tmp_path):
    (tmp_path / "documents.jsonl").write_text('{"text": "x"}\n{\n')
    with pytest.raises(CorpusError, match=r"documents\.jsonl, line 2"):
        read_labelled(tmp_path / "documents.jsonl", CorpusConfig())
