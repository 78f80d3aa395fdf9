"""Reading a store does not fill the memory of the process with it."""

import re
from pathlib import Path

import numpy as np
import pytest

from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.encoding.store import open_store
from taxocaps.encoding.store_writer import write_store
from taxocaps.text.pipeline import TextConfig

MAPS = Path("/proc/self/smaps")


@pytest.fixture
def store(tmp_path):
    encoder = DocumentEncoder(TextConfig(tokenizer="none"), {})
    folder = tmp_path / "store"
    folder.mkdir()
    words = [f"w{index}" for index in range(1_000)]
    write_store((Document(tokens=tuple(words)) for _ in range(1_000)), encoder, folder, cache=tmp_path / "cache")
    return folder


def resident(file):
    """Kilobytes of a mapped file in the memory of this process."""
    blocks = re.findall(rf"{re.escape(str(file))}\n(?:.*\n)*?Rss:\s+(\d+) kB", MAPS.read_text(encoding="utf-8"))
    return sum(map(int, blocks))


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux says how much of a file is in memory")
def test_pages_that_were_read_are_given_back(store):
    documents, file = open_store(store), store / "tokens" / "ids.npy"
    assert int(documents.tokens.ids.max()) == 999
    assert resident(file) > 3_000
    documents.release_pages()
    assert resident(file) == 0
    chunks = [tokens.document(0) for tokens in documents.token_chunks(100)]
    assert len(chunks) == 10
    assert resident(file) < 1_000


def test_what_was_given_back_can_be_read_again(store):
    documents = open_store(store)
    before = documents.tokens.ids[:500].copy()
    documents.release_pages()
    assert np.array_equal(documents.tokens.ids[:500], before)
