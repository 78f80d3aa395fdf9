"""A store gives back what was written, opens without reading it, and says clearly what is wrong with it."""

import json
import time

import numpy as np
import pytest

from taxocaps.errors import StoreError
from taxocaps.graph.store import StoreWriter, open_store
from taxocaps.graph.words_matrix import WordsMatrices

MANIFEST = {"config": {}, "hashes": {"config": "c", "vocabulary": "v"}}


def some_matrices(rows_per_document, T=5, seed=0):
    generator = np.random.default_rng(seed)
    rows = sum(rows_per_document)
    return WordsMatrices(
        generator.integers(0, 99, (rows, T), np.int32),
        generator.integers(0, 3, (rows, T), np.int8),
        generator.integers(0, 3, rows, np.int8),
        np.cumsum([0, *rows_per_document], dtype=np.int64),
    )


def write_store(folder, parts, T=5):
    folder.mkdir(exist_ok=True)
    with StoreWriter(folder, T) as writer:
        for part in parts:
            writer.append(part)
        writer.finish(MANIFEST)
    return folder


def test_appended_parts_come_back_in_order(tmp_path):
    parts = [some_matrices([3, 0, 2], seed=1), some_matrices([], seed=2), some_matrices([4], seed=3)]
    store = open_store(write_store(tmp_path / "store", parts), expected={"vocabulary": "v"})
    assert len(store) == 4
    assert store.manifest["counts"] == {"documents": 4, "rows": 9}
    assert store.matrices.offsets.tolist() == [0, 3, 3, 5, 9]
    assert np.array_equal(store.matrices.words, np.concatenate([part.words for part in parts]))
    assert np.array_equal(store.matrices.blocks, np.concatenate([part.blocks for part in parts]))
    assert np.array_equal(store.matrices.padded([3]).words[0], parts[2].words)


def test_arrays_are_plain_npy_files_mapped_not_read(tmp_path):
    folder = write_store(tmp_path / "store", [some_matrices([50] * 2_000)])
    assert np.load(folder / "words.npy").shape == (100_000, 5)
    begin = time.process_time()
    store = open_store(folder)
    assert time.process_time() - begin < 0.05
    assert isinstance(store.matrices.words, np.memmap)


def test_a_store_without_rows(tmp_path):
    store = open_store(write_store(tmp_path / "store", [some_matrices([0, 0])]))
    assert len(store) == 2
    assert store.matrices.words.shape == (0, 5)


def test_no_store(tmp_path):
    with pytest.raises(StoreError, match="no encoded store there"):
        open_store(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"not an encoded store \(no manifest\.json"):
        open_store(tmp_path)


def test_an_unfinished_store_cannot_be_opened(tmp_path):
    with StoreWriter(tmp_path, 5) as writer:
        writer.append(some_matrices([1]))
    with pytest.raises(StoreError, match="not an encoded store"):
        open_store(tmp_path)


def test_made_from_something_else(tmp_path):
    folder = write_store(tmp_path / "store", [some_matrices([1])])
    with pytest.raises(StoreError, match="was encoded with another config; encode the corpus again"):
        open_store(folder, expected={"config": "other"})


def damage_manifest(folder):
    (folder / "manifest.json").write_text("{")


def change_format(folder):
    (folder / "manifest.json").write_text('{"format": "other/7"}')


def drop_key(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["arrays"]["blocks"]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def spoil_key(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["arrays"]["blocks"] = {"shape": 7}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def cut_array(folder):
    content = (folder / "words.npy").read_bytes()
    (folder / "words.npy").write_bytes(content[:-7])


def empty_array(folder):
    (folder / "words.npy").write_bytes(b"")


def remove_array(folder):
    (folder / "blocks.npy").unlink()


def swap_array(folder):
    np.save(folder / "blocks.npy", np.zeros((3, 5), np.int8))


def swap_offsets(folder):
    np.save(folder / "offsets.npy", np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_manifest, "manifest.json: cannot be read"),
        (change_format, "is of format 'other/7', not 'taxocaps-encoded/1'"),
        (drop_key, r"manifest\.json: arrays\.blocks is missing"),
        (spoil_key, r"blocks\.npy: does not match manifest\.json"),
        (cut_array, "words.npy: damaged or cut off"),
        (empty_array, "words.npy: damaged or cut off"),
        (remove_array, "blocks.npy: is missing from the store"),
        (swap_array, "blocks.npy: does not match manifest.json"),
        (swap_offsets, "offsets.npy does not fit words.npy"),
    ],
)
def test_a_damaged_store_is_refused(tmp_path, damage, message):
    folder = write_store(tmp_path / "store", [some_matrices([3, 2])])
    damage(folder)
    with pytest.raises(StoreError, match=message):
        open_store(folder)
