import pytest

from taxocaps.corpus.document import Document
from taxocaps.datasets.streamed import Streamed
from taxocaps.errors import CorpusError

DOCUMENTS = [Document(str(number)) for number in range(5)]


def test_it_is_the_sequence_of_what_is_read():
    streamed = Streamed(lambda: iter(DOCUMENTS))
    assert len(streamed) == 5
    assert list(streamed) == list(streamed) == DOCUMENTS
    assert (streamed[0], streamed[4], streamed[-1], streamed[1:3]) == (
        *(DOCUMENTS[i] for i in (0, 4, 4)),
        (*DOCUMENTS[1:3],),
    )
    for index in (5, -6):
        with pytest.raises(IndexError):
            streamed[index]


def test_documents_are_read_one_at_a_time():
    read = []

    def documents():
        for document in DOCUMENTS:
            read.append(document)
            yield document

    streamed = Streamed(documents)
    assert read == []
    next(iter(streamed))
    assert len(read) == 1


def test_a_wrong_count_is_told_at_the_end():
    documents = iter(Streamed(lambda: iter(DOCUMENTS), title="News", expected=6))
    assert [next(documents) for _ in range(5)] == DOCUMENTS
    with pytest.raises(CorpusError, match="News: 5 documents of this split, but officially there are 6"):
        next(documents)
    assert len(Streamed(lambda: iter(DOCUMENTS), expected=5)) == 5
