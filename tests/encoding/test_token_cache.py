"""Chunks of words are found again exactly when they would come out the same."""

from taxocaps.corpus.document import Document
from taxocaps.encoding.token_cache import TokenCache
from taxocaps.text.pipeline import TextConfig, TextPipeline

FIRST = [Document("Cats chase mice."), Document(tokens=("Ready", "tokens"))]
SECOND = [Document("Dogs chase cats.")]


def fill(folder, *chunks, config=None):
    cache = TokenCache(folder, TextPipeline(config or TextConfig()))
    for chunk in chunks:
        cache.add(chunk)
    return cache


def words_of(cache):
    return [list(document) for chunk in cache for document in chunk.documents()]


def written(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_words_come_back_as_often_as_wanted(tmp_path):
    cache = fill(tmp_path, FIRST, SECOND)
    expected = [["cat", "chase", "mouse"], ["Ready", "tokens"], ["dog", "chase", "cat"]]
    assert words_of(cache) == words_of(cache) == expected


def test_the_same_documents_are_not_tokenised_again(tmp_path):
    before = fill(tmp_path, FIRST, SECOND)
    files = written(tmp_path)
    after = fill(tmp_path, FIRST, SECOND)
    assert written(tmp_path) == files
    assert words_of(after) == words_of(before)


def test_another_document_or_pipeline_replaces_the_chunk(tmp_path):
    fill(tmp_path, FIRST, SECOND)
    changed = fill(tmp_path, FIRST, [Document("Dogs chase birds.")])
    assert words_of(changed)[-1] == ["dog", "chase", "bird"]
    assert len(written(tmp_path)) == 2
    plain = fill(tmp_path, FIRST, SECOND, config=TextConfig(lemmas="none"))
    assert words_of(plain)[0] == ["cats", "chase", "mice"]


def test_a_text_and_the_same_ready_tokens_differ(tmp_path):
    text = fill(tmp_path, [Document("tokens")])
    tokens = fill(tmp_path, [Document(tokens=("tokens",))])
    assert (words_of(tokens), len(written(tmp_path))) == ([["tokens"]], 1)
    assert list(tokens._files) != list(text._files)


def test_a_damaged_chunk_is_made_again(tmp_path):
    fill(tmp_path, SECOND)
    for path in tmp_path.iterdir():
        path.write_bytes(b"damaged")
    assert words_of(fill(tmp_path, SECOND)) == [["dog", "chase", "cat"]]
