"""Word pieces: what a pre-trained encoder reads of a text, and the words that the pieces belong to.

The encoder reads all raw tokens of a text, stop words and capitals among them, with the marks that end sentences. Words
are written as ids, as in every encoding, so that a vector of a piece becomes one of its word.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import Between, Config, fingerprint
from taxocaps.encoding.encoders import Encoder, Ids, Indices
from taxocaps.errors import ConfigError, StoreError
from taxocaps.files import digest
from taxocaps.registry import import_extra
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["EncoderConfig", "EncoderFolder", "PieceEncoder", "Pieces", "padded"]

_MOST_PIECES = 16
"""A token with more pieces, such as encoded data, is cut there."""


class EncoderConfig(Config):
    """A pre-trained encoder that gives words vectors by their context.

    Attributes:
        folder: The encoder, in the layout of Hugging Face: `config.json`, `tokenizer.json` and `model.safetensors`;
            null for none.
        weights: `frozen` (its vectors are computed once, when documents are encoded) or `tuned` (it is trained with the
            network, and runs in every step).
        length: The largest number of pieces of a document that it reads; words beyond have no contextual vector.
        window: The largest number of pieces that it reads at once; longer documents are read in windows that overlap
            by a quarter.
        learning_rate: Of its last layer, if it is tuned.
        decay: Factor of the learning rate from a layer to the one below it.
    """

    section: ClassVar[str] = "encoder"

    folder: str | None = None
    weights: Literal["frozen", "tuned"] = "frozen"
    length: Annotated[int, Between(1, 1_000_000)] = 2048
    window: Annotated[int, Between(8, 100_000)] = 256
    learning_rate: Annotated[float, Between(1e-9, 1)] = 5e-5
    decay: Annotated[float, Between(0.01, 1)] = 0.9

    @property
    def encoding(self) -> str | None:
        """The name of the encoding that a network reads for this; None without an encoder."""
        if self.folder is None:
            return None
        return "contextual" if self.weights == "frozen" else "pieces"


@dataclass(frozen=True)
class EncoderFolder:
    """The folder of a pre-trained encoder; nothing is ever downloaded, and no pickle is read."""

    path: Path

    def check(self, *, weights: bool = True) -> None:
        """Make sure that all files are there.

        Args:
            weights: Whether those with the weights are needed, too.

        Raises:
            ConfigError: If one is missing.
        """
        if not self.path.is_dir():
            raise ConfigError(
                f"encoder.folder must be a folder with config.json, tokenizer.json and model.safetensors; "
                f"there is no folder {str(self.path)!r}, and names of models are not downloaded"
            )
        for name, advice in _NEEDED.items():
            if not (self.path / name).is_file():
                raise ConfigError(f"encoder.folder: {self.path} has no {name}; {advice}")
        if self._config.get("is_encoder_decoder") or not self.size("hidden_size"):
            kind = self._config.get("model_type", "a model of no known type")
            raise ConfigError(f"encoder.folder: {self.path} holds {kind}; give an encoder such as BERT or MiniLM")
        if weights and not self.weight_files:
            has_pickle = any(self.path.glob("*.bin"))
            found = "weights as pickle only (.bin), which may run code" if has_pickle else "no model.safetensors"
            raise ConfigError(f"encoder.folder: {self.path} has {found}; {_SAVE_AGAIN}")

    @property
    def weight_files(self) -> list[Path]:
        """The files with the weights."""
        return sorted(self.path.glob("model*.safetensors"))

    @property
    def files(self) -> list[Path]:
        """All files that are needed to use the encoder, weights apart."""
        index = self.path / "model.safetensors.index.json"
        return [self.path / name for name in _NEEDED] + ([index] if index.is_file() else [])

    def fingerprint(self, *, weights: bool = False) -> str:
        """A hash of the tokenizer or, with the weights, of the whole encoder."""
        paths = (*self.files, *self.weight_files) if weights else (self.path / "tokenizer.json",)
        return fingerprint([digest(path) for path in paths])[:16]

    @cached_property
    def _config(self) -> Mapping[str, Any]:
        try:
            return dict(json.loads((self.path / "config.json").read_text(encoding="utf-8")))
        except (ValueError, TypeError, RecursionError) as error:
            raise ConfigError(f"{self.path / 'config.json'}: not JSON, or damaged; {_SAVE_AGAIN}") from error

    def size(self, name: str) -> int:
        """A size by its usual name: `hidden_size`, `num_hidden_layers`, `intermediate_size`, ...; 0 if not known."""
        found = (self._config.get(key) for key in (name, *_OTHER_NAMES.get(name, ())))
        return int(next((size for size in found if isinstance(size, int)), 0))

    def tokenizer(self) -> Any:
        """The tokenizer, from `tokenizer.json`."""
        found = import_extra("tokenizers", "a pre-trained encoder").Tokenizer
        try:
            tokenizer = found.from_file(str(self.path / "tokenizer.json"))
        except Exception as error:  # the library raises nothing more special
            raise ConfigError(f"{self.path / 'tokenizer.json'}: not a tokenizer, or damaged; {_SAVE_AGAIN}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


_SAVE_AGAIN = "load it with the library transformers and save it again with save_pretrained"
_NEEDED = {"config.json": "is it the folder of an encoder?", "tokenizer.json": _SAVE_AGAIN}
_OTHER_NAMES = {
    "hidden_size": ("dim", "d_model", "n_embd"),
    "num_hidden_layers": ("n_layers", "num_layers", "n_layer"),
    "intermediate_size": ("hidden_dim", "d_ff"),
    "max_position_embeddings": ("n_positions",),
}


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of documents, and the word that each is a part of.

    Attributes:
        offsets: Document i has the pieces `offsets[i]` to `offsets[i + 1]`; int64 [documents + 1].
        words: The id of the word of each piece; 0 for a piece of a stop word or a mark; int32 [pieces].
        pieces: The id of each piece in the vocabulary of the encoder; int32 [pieces].
    """

    offsets: Indices
    words: Ids
    pieces: Ids

    @property
    def lengths(self) -> Indices:
        """The number of pieces of each document."""
        return np.diff(self.offsets)

    def arrays(self, documents: Indices) -> tuple[NDArray[Any], ...]:
        """The words of the pieces [B, P], 0 where there is none, and the pieces [B, P], -1 at padding."""
        return padded(self.words, self.offsets, documents), padded(self.pieces, self.offsets, documents, -1)


class PieceEncoder(Encoder):
    """Pieces for an encoder inside the network: words of pieces [B, P] and pieces [B, P]."""

    Config = EncoderConfig
    stored: ClassVar[type[Any] | None] = Pieces
    reads_raw = True

    @cached_property
    def folder(self) -> EncoderFolder:
        """The folder of the pre-trained encoder."""
        return EncoderFolder(Path(self.config.folder))

    @cached_property
    def _tokenizer(self) -> Any:
        return self.folder.tokenizer()

    def check(self) -> None:
        """The folder must have what is needed, and the libraries must be installed."""
        self.folder.check(weights=False)
        import_extra("tokenizers", "a pre-trained encoder")

    @property
    def shape(self) -> Mapping[str, int]:
        """The size of a contextual vector."""
        return {"context": self.folder.size("hidden_size")}

    @cached_property
    def portable(self) -> EncoderConfig:
        """What decides the pieces: the tokenizer, by a hash, and how much of a document is read."""
        return EncoderConfig(folder=self.folder.fingerprint(), weights="tuned", length=self.config.length)

    def encode(self, tokens: Tokens, word_ids: Ids | None = None) -> Any:
        """Cut the raw tokens of documents into pieces.

        Raises:
            StoreError: If the raw tokens are not at hand.
        """
        if tokens.raw is None or tokens.origins is None:
            raise StoreError(
                "a pre-trained encoder reads texts, but a store keeps only words; give the documents themselves"
            )
        return self._cut(tokens, tokens.raw, tokens.origins, word_ids)

    def _cut(self, tokens: Tokens, raw: Tokens, origins: Indices, word_ids: Ids | None) -> Pieces:
        used, ids = np.unique(raw.ids, return_inverse=True)
        flat, counts, own = self._table([raw.words[index] for index in used.tolist()])
        repeats = counts[ids]  # pieces of each raw token
        token = np.repeat(np.arange(len(ids)), repeats)  # the raw token of each piece
        starts = np.cumsum(repeats) - repeats
        step = np.arange(len(token)) - starts[token]  # of each piece in its token
        pieces = flat[(np.cumsum(counts) - counts)[ids[token]] + step]
        words = self._words_of(tokens, origins, token, step, own[ids], word_ids)
        bounds = np.concatenate([starts, [len(token)]])[raw.offsets]  # of each document
        return _cut_at(Pieces(bounds, words, pieces), self.config.length)

    def _table(self, words: Sequence[str]) -> tuple[Ids, Indices, Indices]:
        """The pieces of distinct raw tokens one after the other, how many each has, and how many are of its word."""
        written = [TextPipeline.written(word) for word in words]
        # A space before a word is what most vocabularies have before all words but the first; others ignore it.
        of_words = self._pieces_of([f" {word}" for word, _ in written])
        of_ends = self._pieces_of([end for _, end in written])
        own = np.fromiter(map(len, of_words), np.int64, len(words))
        counts = own + np.fromiter(map(len, of_ends), np.int64, len(words))
        pairs = chain.from_iterable(zip(of_words, of_ends, strict=True))
        return np.fromiter(chain.from_iterable(pairs), np.int32), counts, own

    def _pieces_of(self, texts: Sequence[str]) -> list[list[int]]:
        # Half a surrogate pair is no character that the library takes.
        sound = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        found = self._tokenizer.encode_batch_fast(sound, add_special_tokens=False)
        return [one.ids[:_MOST_PIECES] for one in found]

    @staticmethod
    def _words_of(
        tokens: Tokens, origins: Indices, token: Indices, step: Indices, own: Indices, word_ids: Ids | None
    ) -> Ids:
        """The id of the word of each piece; where a token makes several words, its pieces are shared out in order."""
        kept = np.bincount(origins, minlength=len(own))  # words of each raw token
        first = np.cumsum(kept) - kept
        is_part = (kept[token] > 0) & (step < own[token])
        word = first[token] + step * kept[token] // np.maximum(own[token], 1)
        found = tokens.ids[word[is_part]]
        words = np.zeros(len(token), np.int32)
        words[is_part] = found + Vocabulary.FIRST if word_ids is None else word_ids[found]
        return words


def _cut_at(given: Pieces, most: int) -> Pieces:
    """The first pieces of each document."""
    lengths = np.minimum(given.lengths, most)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    kept = np.repeat(given.offsets[:-1] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return Pieces(offsets, given.words[kept], given.pieces[kept])


def padded(values: NDArray[Any], offsets: Indices, documents: Indices, fill: float = 0) -> NDArray[Any]:
    """Ragged values of some documents as rows; [B, greatest length, ...], at least one wide.

    Args:
        values: Those of all documents; [values, ...].
        offsets: Where those of each document begin.
        documents: The documents.
        fill: What stands where a document has ended.
    """
    starts, lengths = offsets[documents], offsets[documents + 1] - offsets[documents]
    steps = np.arange(max(1, int(lengths.max(initial=0))))
    is_value = steps < lengths[:, None]  # [B, width]
    rows = np.full((*is_value.shape, *values.shape[1:]), fill, values.dtype)
    rows[is_value] = values[(starts[:, None] + steps)[is_value]]
    return rows
