"""Copies of documents that carry different labels."""

from scipy.sparse import csr_array

from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.reviewing.copies import differing_copies
from taxocaps.text.pipeline import TextConfig

LONG = [f"word{number}" for number in range(20)]


def copies(contents, labels):
    documents = [Document(tokens=tuple(content)) for content in contents]
    encoded = DocumentEncoder(TextConfig(tokenizer="none"), {}).encode(documents)
    return [(one.documents, one.is_exact) for one in differing_copies(encoded, csr_array(labels).astype(bool))]


def test_exact_copies_with_other_labels_are_found_and_those_with_the_same_are_not():
    other = list(reversed(LONG))
    labels = [[1, 0], [0, 1], [1, 0], [1, 0]]
    assert copies([LONG, LONG, other, other], labels) == [((0, 1), True)]


def test_near_copies_are_found_and_documents_that_share_a_phrase_are_not():
    words = [f"w{number}" for number in range(200)]
    near = [*words[:199], "changed"]
    far = [*words[:60], *(f"v{number}" for number in range(140))]
    assert copies([words, near, far], [[1, 0], [0, 1], [0, 0]]) == [((0, 1), False)]


def test_documents_without_words_are_no_copies_of_each_other():
    assert copies([[], [], LONG], [[1, 0], [0, 1], [1, 0]]) == []
