"""Pre-trained encoders: from a local folder to a module, vectors of words by it, and its copy in a model's folder.

torch is imported where it is used: the table of encoders names this module.
"""

import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from taxocaps.encoding.encoders import Ids, Indices
from taxocaps.encoding.pieces import EncoderConfig, EncoderFolder, PieceEncoder, Pieces, padded
from taxocaps.errors import ConfigError
from taxocaps.registry import import_extra
from taxocaps.text.tokens import Tokens

if TYPE_CHECKING:
    from taxocaps.nn.contextual import PieceReader, Special

__all__ = ["ContextualEncoder", "ContextualWords", "copy_encoder", "describe_tuning", "load_reader", "seconds_to_read"]

_PIECES_AT_ONCE = 4_096
"""Pieces of a batch: more are not faster on a processor."""
_PIECES_OF_A_TOKEN = 1.5
_SPEED = 5e10
"""Floating point operations that one core does in a second; a rule of thumb."""


@dataclass(frozen=True, eq=False)
class ContextualWords:
    """The distinct words of documents, each with the mean of its vectors in the document.

    Attributes:
        offsets: Document i has the words `offsets[i]` to `offsets[i + 1]`; int64 [documents + 1].
        words: The ids of the words, each once in a document; int32 [words].
        vectors: Their vectors; float16 [words, E].
    """

    offsets: Indices
    words: Ids
    vectors: NDArray[np.float16]

    @property
    def lengths(self) -> Indices:
        """The number of distinct words of each document."""
        return np.diff(self.offsets)

    def arrays(self, documents: Indices) -> tuple[NDArray[Any], ...]:
        """The words [B, U], 0 at padding, and their vectors [B, U, E]."""
        return padded(self.words, self.offsets, documents), padded(self.vectors, self.offsets, documents)


class ContextualEncoder(PieceEncoder):
    """Vectors of words by a frozen encoder: distinct words [B, U] and their vectors [B, U, E]."""

    stored: ClassVar[type[Any] | None] = ContextualWords
    is_slow = True

    def check(self) -> None:
        """The folder must have weights, too."""
        super().check()
        self.folder.check()
        import_extra("transformers", "a pre-trained encoder")

    @cached_property
    def portable(self) -> EncoderConfig:
        """What decides the vectors: the encoder, by a hash, and how it reads documents."""
        folder = self.folder.fingerprint(weights=True)
        return EncoderConfig(folder=folder, length=self.config.length, window=self.config.window)

    def estimate(self, documents: int, words: int, tokens: int) -> str:
        """Time and memory by the sizes of the encoder; those on disk if no word occurred twice in a document."""
        hidden, inner = self.folder.size("hidden_size"), self.folder.size("intermediate_size")
        pieces = min(tokens * _PIECES_OF_A_TOKEN, documents * self.config.length)
        seconds = _operations(self.folder) * pieces / _SPEED
        weights = sum(path.stat().st_size for path in self.folder.weight_files)
        memory = weights + 4 * _PIECES_AT_ONCE * (8 * hidden + 3 * inner)
        disk = 2 * words * hidden * np.dtype(np.float16).itemsize  # once more for a run that goes on, until it is done
        return (
            f"the encoder reads {tokens:,} tokens of {documents:,} documents: about {_duration(seconds)} of one core, "
            f"{_size(memory)} of memory and at most {_size(disk)} on disk"
        )

    def encode(self, tokens: Tokens, word_ids: Ids | None = None) -> ContextualWords:
        """Read documents with the encoder."""
        pieces: Pieces = super().encode(tokens, word_ids)
        found: list[tuple[Ids, NDArray[np.float16]]] = [(np.zeros(0, np.int32), self._nothing)] * len(tokens)
        for documents in _batches(pieces.lengths):
            for document, words in zip(documents.tolist(), self._read(pieces, documents), strict=True):
                found[document] = words
        counts = np.fromiter((len(words) for words, _ in found), np.int64, len(found))
        return ContextualWords(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
            np.concatenate([np.zeros(0, np.int32), *(words for words, _ in found)]),
            np.concatenate([self._nothing, *(vectors for _, vectors in found)]),
        )

    @property
    def _nothing(self) -> NDArray[np.float16]:
        return np.zeros((0, self.folder.size("hidden_size")), np.float16)

    @cached_property
    def _reader(self) -> Any:
        import torch

        reader = load_reader(self.config).eval()
        return reader.to("cuda" if torch.cuda.is_available() else "cpu")

    def _read(self, pieces: Pieces, documents: Indices) -> Iterator[tuple[Ids, NDArray[np.float16]]]:
        """The distinct words of some documents, and their vectors."""
        import torch

        from taxocaps.nn.contextual import pool_words

        words, ids = pieces.arrays(documents)
        distinct = [np.unique(row[row > 0]) for row in words]
        places = map(np.searchsorted, distinct, words)
        slots = np.where(words > 0, np.stack([place + 1 for place in places]), 0)  # [B, P]
        device = next(self._reader.parameters()).device
        with torch.inference_mode():
            vectors = self._reader(torch.from_numpy(ids).to(device))  # [B, P, E]
            pooled = pool_words(vectors, torch.from_numpy(slots).to(device)).half().cpu().numpy()  # [B, U, E]
        for own, found in zip(distinct, pooled, strict=True):
            yield own.astype(np.int32), found[1 : len(own) + 1]


def _batches(lengths: Indices) -> Iterator[Indices]:
    """Documents of similar lengths together, those without pieces left out."""
    order = np.argsort(-lengths, kind="stable")
    order, start = order[lengths[order] > 0], 0
    while start < len(order):
        size = max(1, _PIECES_AT_ONCE // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def load_reader(config: EncoderConfig, *, pretrained: bool = True) -> "PieceReader":
    """The encoder of a folder.

    Args:
        config: Its options.
        pretrained: Whether its weights are read; without, they are random, for a state that is loaded later.

    Raises:
        ConfigError: If the folder holds no encoder that can be used.
        MissingExtraError: If the libraries are not installed.
    """
    from taxocaps.nn.contextual import PieceReader

    folder = EncoderFolder(Path(config.folder or ""))
    folder.check(weights=pretrained)
    transformer = _load_transformer(folder, pretrained=pretrained)
    special = _special(folder, config.window)
    return PieceReader(transformer, special, learning_rate=config.learning_rate, decay=config.decay)


def _load_transformer(folder: EncoderFolder, *, pretrained: bool) -> Any:
    library = import_extra("transformers", "a pre-trained encoder")
    library.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)  # weights of heads that are not used
    try:
        config = library.AutoConfig.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
        if not pretrained:
            return _without_pooler(library.AutoModel.from_config(config, trust_remote_code=False))
        found, info = library.AutoModel.from_pretrained(
            folder.path,
            config=config,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except Exception as error:  # a damaged folder can fail in a dozen ways
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"encoder.folder: {folder.path} holds no encoder that can be used: {reason}") from error
    missing = [name for name in info["missing_keys"] if not name.startswith("pooler.")]
    if missing:
        raise ConfigError(f"encoder.folder: {folder.path} has no weights for {missing[0]}; is it another model's?")
    return _without_pooler(found)


def _without_pooler(transformer: Any) -> Any:
    """What some encoders have behind their last layer is not read here, and would never get a gradient."""
    if getattr(transformer, "pooler", None) is not None:
        transformer.pooler = None
    return transformer.float().train()


def _special(folder: EncoderFolder, window: int) -> "Special":
    """What stands around pieces, found out from what the tokenizer makes of a word."""
    from taxocaps.nn.contextual import Special

    tokenizer = folder.tokenizer()
    inside, whole = (tokenizer.encode("a", add_special_tokens=special).ids for special in (False, True))
    start = next(start for start in range(len(whole)) if whole[start : start + len(inside)] == inside)
    most = folder.size("max_position_embeddings")
    limit = min(window, most - 2) if most else window  # some keep two positions for themselves
    after = tuple(whole[start + len(inside) :])
    return Special(tuple(whole[:start]), after, folder.size("pad_token_id"), limit)


def copy_encoder(config: EncoderConfig, folder: Path) -> None:
    """Copy an encoder into a new folder; without its weights if a network has tuned ones."""
    source = EncoderFolder(Path(config.folder or ""))
    folder.mkdir(exist_ok=True)
    for path in (*source.files, *(source.weight_files if config.weights == "frozen" else ())):
        if not (folder / path.name).exists() or not path.samefile(folder / path.name):
            shutil.copyfile(path, folder / path.name)


def describe_tuning(config: EncoderConfig, batch_size: int, visits: int, mean_pieces: float) -> str:
    """A line about what tuning an encoder takes.

    Args:
        config: The options of the encoder.
        batch_size: Documents of a step.
        visits: Documents times epochs.
        mean_pieces: Pieces of a document.
    """
    folder = EncoderFolder(Path(config.folder or ""))
    layers, hidden, inner = map(folder.size, ("num_hidden_layers", "hidden_size", "intermediate_size"))
    kept = layers * (12 * hidden + 3 * inner) * 4  # bytes of a piece for the backward pass
    weights = sum(path.stat().st_size for path in folder.weight_files) * 4  # gradients, and the averages of Adam
    memory = batch_size * 2 * mean_pieces * kept + weights  # the longest batch has about twice the mean
    seconds = 3 * _operations(folder) * mean_pieces * visits / _SPEED
    return f"tuning the encoder takes about {_size(memory)} more, and {_duration(seconds)} of one core"


def seconds_to_read(config: EncoderConfig, words: int, epochs: int) -> float:
    """About how long one core takes for so many words, about half as many as tokens: once, or in every epoch."""
    times = 3 * epochs if config.weights == "tuned" else 1
    operations = _operations(EncoderFolder(Path(config.folder or "")))
    return operations * 2 * words * _PIECES_OF_A_TOKEN * times / _SPEED


def _operations(folder: EncoderFolder) -> float:
    """Floating point operations for a piece: two for every weight of the layers."""
    hidden, inner = folder.size("hidden_size"), folder.size("intermediate_size")
    return 2.0 * folder.size("num_hidden_layers") * (4 * hidden * hidden + 2 * hidden * inner)


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(1, count / 1e6):.0f} MB"


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(1, seconds):.0f} seconds"
