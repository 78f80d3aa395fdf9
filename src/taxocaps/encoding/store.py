"""The store: the encoded documents of a whole corpus on disk, read memory-mapped; `store_writer` writes it.

A store is a folder. `manifest.json`, written last, says what it was made from and makes it complete. Opening it reads
the numbers of its words once, since it may come from a stranger; the rest is checked as it is read. Words keep the
numbering of the store itself, all words of the corpus, so that one store serves models with different vocabularies.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from taxocaps.config import Config
from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.encoding.encoders import ENCODERS, Encoder
from taxocaps.errors import FileError, StoreError
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary
from taxocaps.untrusted import check_depth, read_json, regular_files

__all__ = [
    "DOCUMENTS",
    "FORMAT",
    "MANIFEST",
    "TOKENS",
    "VOCABULARY",
    "Listing",
    "check_words",
    "is_store",
    "open_arrays",
    "open_store",
    "read_manifest",
]

FORMAT = "taxocaps-store/2"
MANIFEST, DOCUMENTS, VOCABULARY, TOKENS = "manifest.json", "documents.jsonl", "vocabulary.tsv", "tokens"
"""The files of a store, and the folder of its tokens; each encoding has a folder of its own name."""

_AGAIN = "encode the corpus again (--overwrite)"
_ANEW = "encode the documents that it was made from"


def is_store(path: object) -> bool:
    """Whether something is the path of a store: of a folder with a manifest in it."""
    return isinstance(path, Path | str) and (Path(path) / MANIFEST).is_file()


def open_store(
    path: Path | str, encoder: DocumentEncoder | None = None, *, flags: str = "--model NAME"
) -> EncodedDocuments:
    """Open a store for reading.

    Args:
        path: Its folder.
        encoder: How a model reads documents; the store must have been made with the same options. None takes the
            options of the store.
        flags: The options of `taxocaps encode` that name the model, for messages.

    Raises:
        StoreError: If there is no store, it is damaged, or its options differ from the encoder's.
    """
    path = Path(path)
    manifest = read_manifest(path)
    try:
        files = regular_files(path)
    except FileError as error:
        raise StoreError(str(error)) from error
    if encoder is None:
        encoders = _encoders_of(path, manifest)
    else:
        _check_options(path, manifest, encoder, flags)
        encoders = dict(encoder.encoders)
    for name in (VOCABULARY, DOCUMENTS, *(f"{name}.npy" for name in manifest["arrays"])):
        if name not in files:
            raise StoreError(f"{path / name[:255]}: is missing from the store; {_AGAIN}")
    vocabulary = Vocabulary.load(path / VOCABULARY)
    # Words forgotten while counting millions share one last entry that no vocabulary knows.
    words = (*vocabulary.words, "")
    tokens = _tokens(path, words, manifest["arrays"])
    encodings = {
        name: one.encode(tokens) if one.stored is None else _encoding(path, name, one, tokens, manifest["arrays"])
        for name, one in encoders.items()
    }
    found = EncodedDocuments(Listing(path / DOCUMENTS, len(tokens)), tokens, encodings, store=path)
    found.release_pages()
    return found


def _tokens(path: Path, words: Sequence[str], described: Mapping[str, Any]) -> Tokens:
    arrays: Any = open_arrays(path, TOKENS, described)
    if set(arrays) != {"ids", "offsets", "sentence_ends"} or not (tokens := Tokens(words, **arrays)).is_sound:
        raise StoreError(f"{path}: damaged: the token arrays do not fit together; {_AGAIN}")
    return tokens


def _encoding(path: Path, name: str, encoder: Encoder, tokens: Tokens, described: Mapping[str, Any]) -> Any:
    """An encoding that a store keeps; what its arrays hold is looked at when it is read."""
    assert encoder.stored is not None
    arrays = open_arrays(path, name, described)
    offsets = arrays.get("offsets", np.zeros(0))
    is_sound = (
        set(arrays) == {field.name for field in fields(encoder.stored)}
        and offsets.dtype == np.int64
        and offsets.shape == (len(tokens) + 1,)
        and offsets[0] == 0
        and (np.diff(offsets) >= 0).all()
        and all(array.ndim and len(array) == offsets[-1] for key, array in arrays.items() if key != "offsets")
    )
    if not is_sound:
        raise StoreError(f"{path / name}: damaged: it does not fit the tokens; {_AGAIN}")
    return encoder.stored(**arrays)


def check_words(path: Path, pipeline: TextPipeline) -> None:
    """Refuse a store whose words are not those that a text pipeline would make.

    Raises:
        StoreError: If the store was made with other options of the text pipeline.
    """
    manifest = read_manifest(path)
    if difference := _difference(manifest, {TextConfig.section: pipeline.config.portable}):
        key, theirs, ours = difference
        raise StoreError(f"{path}: the words in it were made with {key}={theirs}, not {ours}; {_ANEW}")
    if manifest["hashes"].get("text") != pipeline.fingerprint:
        raise StoreError(f"{path}: the words in it were made with other stop words or another tokenizer; {_ANEW}")


def read_manifest(path: Path) -> Mapping[str, Any]:
    """The manifest of a store.

    Raises:
        StoreError: If there is no store, or it has another format.
    """
    if not path.is_dir():
        raise StoreError(f"{path}: no store there; make one with: taxocaps encode CORPUS --out {path}")
    if not (path / MANIFEST).exists():
        raise StoreError(f"{path}: not a store (no {MANIFEST} in it)")
    try:
        found = read_json(path / MANIFEST, dict[str, Any], most=_MOST_MANIFEST)
        check_depth(found)
    except (FileError, ValueError) as error:
        raise StoreError(f"{path / MANIFEST}: cannot be read; {_AGAIN}") from error
    if found.get("format") != FORMAT:
        raise StoreError(f"{path}: has the format {str(found.get('format'))[:80]!r}, not {FORMAT!r}; {_AGAIN}")
    for key, kind in _SECTIONS.items():
        if key not in found:
            raise StoreError(f"{path / MANIFEST}: {key} is missing; {_AGAIN}")
        try:
            TypeAdapter(kind).validate_python(found[key], strict=True)
        except ValidationError:
            raise StoreError(f"{path / MANIFEST}: {key} is damaged; {_AGAIN}") from None
    return dict(found)


class _Described(BaseModel):
    """An array in the manifest."""

    dtype: str
    shape: list[Annotated[int, Field(ge=0)]]


_SECTIONS: Mapping[str, Any] = {
    "config": dict[str, dict[str, Any]],
    "hashes": dict[str, str],
    "counts": dict[str, Annotated[int, Field(ge=0)]],
    "arrays": dict[str, _Described],
    "encodings": list[str],
}
_MOST_MANIFEST = 2**22


@dataclass(frozen=True)
class Listing:
    """The documents of a store, without their texts; read from disk at each iteration.

    Attributes:
        path: The file.
        count: How many there must be; None while the file is still being written.
    """

    path: Path
    count: int | None = None

    def __iter__(self) -> Iterator[Document]:
        names: dict[str, str] = {}  # one copy of each label, however many documents have it
        done = 0
        try:
            with self.path.open(encoding="utf-8") as file:
                for done, line in enumerate(file, 1):  # noqa: B007 - counted
                    yield _document(json.loads(line), names)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreError(f"{self.path}: cannot be read; {_AGAIN}") from error
        if self.count not in (None, done):
            raise StoreError(f"{self.path}: has {done:,} documents, but the store {self.count:,}; {_AGAIN}")


def _document(entry: Any, names: dict[str, str]) -> Document:
    found, id, split = entry["labels"], entry["id"], entry["split"]
    for value in (id, split, *(found or ())):
        if not isinstance(value, str | None):
            raise TypeError("ids, labels and splits are texts")
    labels = None if found is None else tuple(names.setdefault(name, name) for name in found)
    return Document(id=id, labels=labels, split=split)


def open_arrays(path: Path, name: str, described: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays of the tokens or of an encoding, memory-mapped; their shapes must be as described."""
    found = {
        key.partition("/")[2]: _open_array(path / f"{key}.npy", shape)
        for key, shape in described.items()
        if key.startswith(f"{name}/")
    }
    if not found:
        raise StoreError(f"{path / name}: is missing from the store; {_AGAIN}")
    return found


def _open_array(file: Path, described: Mapping[str, Any]) -> NDArray[Any]:
    """An array of plain numbers, memory-mapped; its header and its size must be as the manifest has them."""
    try:
        with file.open("rb") as opened:
            if npy.read_magic(opened) != (1, 0):
                raise ValueError("not as stores are written")
            shape, is_transposed, dtype = npy.read_array_header_1_0(opened, max_header_size=_LONGEST_HEADER)
            start = opened.tell()
    except Exception as error:  # a damaged header can fail in a dozen ways
        raise StoreError(f"{file}: damaged or cut off; {_AGAIN}") from error
    if (
        list(shape) != described["shape"]
        or str(dtype) != described["dtype"]
        or is_transposed
        or dtype.kind not in "biuf"
    ):
        raise StoreError(f"{file}: does not match {MANIFEST}; {_AGAIN}")
    if file.stat().st_size != start + math.prod(shape) * dtype.itemsize:
        raise StoreError(f"{file}: damaged or cut off; {_AGAIN}")
    if not math.prod(shape):  # nothing that could be mapped
        return np.zeros(shape, dtype)
    return np.memmap(file, dtype, "r", start, shape)


_LONGEST_HEADER = 1_000


def _encoders_of(path: Path, manifest: Mapping[str, Any]) -> dict[str, Encoder]:
    encoders = {}
    for name in manifest["encodings"]:
        if name not in ENCODERS:
            raise StoreError(f"{path / MANIFEST}: there is no encoding {name[:80]!r}; {_AGAIN}")
        kind = ENCODERS[name]
        encoders[name] = kind(kind.Config.model_validate(manifest["config"].get(kind.Config.section, {})))
    return encoders


def _check_options(path: Path, manifest: Mapping[str, Any], encoder: DocumentEncoder, flags: str) -> None:
    """Refuse a store that was made with other options than a model's, and name the first that differs."""
    stored = {name: one for name, one in encoder.encoders.items() if one.stored}
    for name in stored:
        if name not in manifest["encodings"]:
            raise StoreError(f"{path}: has no {name}, which the model reads; encode it again with {flags}")
    wanted: dict[str, Config] = {TextConfig.section: encoder.pipeline.config.portable}
    wanted |= {one.Config.section: one.portable for one in stored.values()}
    if difference := _difference(manifest, wanted):
        key, theirs, ours = difference
        again = "the model's file of stop words" if ours == "file" else ours
        raise StoreError(
            f"{path}: was encoded with {key}={theirs}, but the model has {ours}; "
            f"encode it again with {flags} --set {key}={again}"
        )
    if manifest["hashes"].get("text") != encoder.pipeline.fingerprint:
        raise StoreError(f"{path}: was encoded with other stop words or another tokenizer; {_AGAIN}")


def _difference(manifest: Mapping[str, Any], wanted: Mapping[str, Config]) -> tuple[str, Any, Any] | None:
    """The first option in which a store differs from what is wanted, by section: its key, and the two values."""
    for section, config in wanted.items():
        theirs = manifest["config"].get(section, {})
        for key, value in config.as_mapping().items():
            if theirs.get(key) != value:
                return f"{section}.{key}", theirs.get(key), value
    return None
