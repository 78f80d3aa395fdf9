"""Word vectors for a vocabulary: trained on the corpus, or read from a file."""

import io
import logging
import math
import zipfile
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from taxocaps.config import AtLeast, Between, Config
from taxocaps.errors import ConfigError, TaxoCapsError, VectorsError, nearest
from taxocaps.files import COMPRESSIONS, LARGEST_TEXT, CutLine, format_suffix, is_decodable, open_binary, read_lines
from taxocaps.registry import import_extra
from taxocaps.text.vocabulary import Vocabulary
from taxocaps.untrusted import read_some

__all__ = ["VectorsConfig", "WordVectors", "align", "load_vectors", "train_skip_gram"]


_LONGEST_SENTENCE = 10_000  # gensim passes over what is beyond, without a word
_UNTRAINED_SPREAD = 0.1


class VectorsConfig(Config):
    """Where word vectors come from.

    Attributes:
        source: `skip-gram` (trained on the corpus), `none` (random), or a file (word2vec, GloVe, fastText, `.npz`), for
            which of the other keys only `seed` matters.
        dimension: Size D of a vector.
        window: Words on either side that a word must predict.
        negative: Random words against which each prediction is weighed.
        epochs: Passes over the corpus.
        min_count: Rarer words are not trained but get random vectors.
        subsample: Frequent words are skipped at random; the smaller, the more.
        learning_rate: At the start; it falls steadily to almost nothing.
        workers: Threads. With more than one, training is faster and no longer the same from run to run.
        seed: Random seed.
    """

    section: ClassVar[str] = "vectors"
    source: str = "skip-gram"
    dimension: Annotated[int, Between(1, 10_000)] = 100
    window: Annotated[int, Between(1, 1_000)] = 5
    negative: Annotated[int, Between(1, 1_000)] = 5
    epochs: Annotated[int, Between(1, 10_000)] = 10
    min_count: Annotated[int, AtLeast(1)] = 1
    subsample: Annotated[float, Between(0, 1)] = 1e-3
    learning_rate: Annotated[float, Between(1e-6, 1)] = 0.025
    workers: Annotated[int, Between(1, 1_000)] = 1
    seed: Annotated[int, Between(0, 2**32 - 1)] = 0

    def model_post_init(self, context: object, /) -> None:
        """Check the fields, and that `source` is not one of its words mistyped."""
        words = ("none", "skip-gram")
        close = nearest(self.source.lower(), words, likeness=0.75)
        if close and self.source not in words and not Path(self.source).exists():
            raise ConfigError(
                f"vectors.source must be none, skip-gram or a file; got {self.source!r}; did you mean {close}?"
            )


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors.

    Attributes:
        words: Each once.
        vectors: float32 [words, D].
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]


def train_skip_gram(
    sentences: Iterable[list[str]],
    vocabulary: Vocabulary,
    config: VectorsConfig,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Train vectors by skip-gram with negative sampling.

    With one worker the result depends on nothing but the arguments.

    Args:
        sentences: Lists of words, such as those of whole documents; read `epochs` + 1 times.
        vocabulary: The words to train, with their counts.
        config: The options of training.
        progress: Told the words done and the words in all, all epochs counted.

    Returns:
        float32 [vocabulary, D]: row 0 is zero, the row of unknown words and those of words too rare are random.
    """
    word2vec = import_extra("gensim.models", "training word vectors").Word2Vec

    logging.getLogger("gensim").addHandler(logging.NullHandler())  # its warnings would end up on the screen
    counts = dict(zip(vocabulary.words, vocabulary.counts, strict=True))
    frequent = {word: count for word, count in counts.items() if count >= config.min_count}
    generator = np.random.default_rng(config.seed)
    corpus = _Corpus(sentences, config.epochs, progress)
    if not frequent or not corpus.words:
        return align(vocabulary, WordVectors((), np.zeros((0, config.dimension), np.float32)), generator)[0]
    model = word2vec(
        sg=1,
        hs=0,
        vector_size=config.dimension,
        window=config.window,
        negative=config.negative,
        min_count=1,
        sample=config.subsample,
        alpha=config.learning_rate,
        workers=config.workers,
        seed=config.seed,
        hashfxn=_stable_hash,
    )
    model.build_vocab_from_freq(frequent)
    model.train(corpus, total_words=corpus.words, epochs=config.epochs)
    corpus.raise_error()
    return align(vocabulary, WordVectors(tuple(model.wv.index_to_key), model.wv.vectors), generator)[0]


def align(
    vocabulary: Vocabulary, vectors: WordVectors, generator: np.random.Generator
) -> tuple[NDArray[np.float32], float]:
    """Put vectors in the order of a vocabulary.

    Args:
        vocabulary: Its words are looked up as they are.
        vectors: The vectors at hand.
        generator: For words without a vector, which get a random one with the mean and the spread, in each of the D
            directions, of those at hand.

    Returns:
        float32 [vocabulary, D], row 0 zero; and the share of the vocabulary's words that had a vector.
    """
    dimension = vectors.vectors.shape[1]
    mean, spread = np.zeros(dimension), np.full(dimension, _UNTRAINED_SPREAD)
    if len(vectors.words) > 1:
        mean, spread = vectors.vectors.mean(axis=0), vectors.vectors.std(axis=0)
    aligned = generator.standard_normal((len(vocabulary), dimension), dtype=np.float32)
    aligned *= spread.astype(np.float32)
    aligned += mean.astype(np.float32)
    aligned[Vocabulary.PADDING] = 0
    numbers = vocabulary.ids(vectors.words)
    known = numbers != Vocabulary.UNKNOWN
    aligned[numbers[known]] = vectors.vectors[known]
    share = np.count_nonzero(known) / max(len(vocabulary.words), 1)
    return aligned, float(share)


class _Corpus:
    """Sentences as gensim needs them: none too long, and no error inside, since it waits for ever after one."""

    def __init__(
        self, sentences: Iterable[list[str]], epochs: int, progress: Callable[[int, int], None] | None
    ) -> None:
        if isinstance(sentences, Iterator):
            raise TypeError("sentences are read several times: give a list or another iterable that starts anew")
        self._sentences = sentences
        self._progress = progress
        self._error: Exception | None = None
        self._done = 0
        self.words = sum(map(len, sentences))
        self._total = self.words * epochs

    def __iter__(self) -> Iterator[list[str]]:
        try:
            for sentence in () if self._error else self._sentences:
                for start in range(0, len(sentence), _LONGEST_SENTENCE):
                    yield sentence[start : start + _LONGEST_SENTENCE]
                self._done += len(sentence)
                if self._progress:
                    self._progress(self._done, self._total)
        except Exception as error:
            self._error = error

    def raise_error(self) -> None:
        """Raise what went wrong while gensim was reading."""
        if self._error:
            raise self._error


def _stable_hash(word: str) -> int:
    """Stands in for `hash`, which differs from one Python process to the next."""
    return crc32(word.encode("utf-8", "surrogatepass"))


_BLOCK = 2**20
_LONGEST_LINE = 2**22
_LONGEST_WORD = 2**12
_LARGEST_DIMENSION = 2**16
_LONGEST_HEADER = 1_000
_FLOAT32 = np.dtype("<f4")
_FASTTEXT_MODEL = (793_712_314).to_bytes(4, "little")


def load_vectors(path: Path, words: Container[str] | None = None) -> WordVectors:
    """Read word vectors; the format is told by the name (`.npz`, `.bin`, all else is text) and by the first line.

    Text and binary files are streamed, and only the vectors that are wanted take memory. Of a word that comes twice the
    first vector is taken; words that are not valid UTF-8, which old word2vec files have, are passed over.

    Args:
        path: The file, compressed or not.
        words: The words that are wanted, such as a `Vocabulary`; None for all.

    Raises:
        FileError: When the file cannot be read.
        VectorsError: When it is damaged or in another format; the line or the word is named.
    """
    table = _Table(path, words)
    readers: dict[str, Callable[[_Table], None]] = {".npz": _read_npz, ".bin": _read_binary}
    readers.get(format_suffix(path), _read_text)(table)
    return table.finished()


class _Table:
    """The wanted words and vectors of a file, as they are read."""

    def __init__(self, path: Path, wanted: Container[str] | None) -> None:
        self.path = path
        self.dimension = 0
        self._wanted = wanted
        self._words: dict[str, None] = {}
        self._values = bytearray()

    def begin(self, dimension: int) -> None:
        if not 0 <= dimension <= _LARGEST_DIMENSION:
            raise self.error(f"vectors of {dimension:,} numbers; at most {_LARGEST_DIMENSION:,} are read")
        self.dimension = dimension

    def wants(self, word: str) -> bool:
        return word not in self._words and (self._wanted is None or word in self._wanted) and is_decodable(word)

    def add(self, word: str, vector: ArrayLike) -> None:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused in the end
            self._values += np.asarray(vector, _FLOAT32).tobytes()
        self._words[word] = None

    def error(self, problem: str, line: int | None = None) -> VectorsError:
        where = f"{self.path}, line {line}" if line else str(self.path)
        return VectorsError(f"{where}: {problem}")

    def finished(self) -> WordVectors:
        words = tuple(self._words)
        vectors = np.frombuffer(self._values, _FLOAT32).reshape(len(words), self.dimension)
        broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(broken):
            raise self.error(f"the vector of {words[broken[0]]!r} has a value that is not a finite number")
        return WordVectors(words, vectors.astype(np.float32, copy=False))


def _read_text(table: _Table) -> None:
    lines = read_lines(table.path, strict=False, longest=_LONGEST_LINE)
    number, first = next(lines, (0, ""))
    size = _header(first.encode("utf-8", "surrogateescape"))
    if size is None:
        lines = chain([(number, first)], lines)
    dimension = size[1] if size else first.rstrip(" ").count(" ")
    if not dimension:
        raise table.error("not a file of word vectors: a line is a word and its numbers, separated by spaces", 1)
    table.begin(dimension)
    rows = 0
    for number, line in lines:
        if line:
            rows += 1
            _read_line(table, number, line)
    if size and rows != size[0]:
        raise table.error(f"the first line promises {size[0]} words, the file has {rows}; is it complete?")


def _header(line: bytes) -> tuple[int, int] | None:
    """The number of words and the dimension, if the line is such a header."""
    fields = line.split() if len(line) <= 100 else []
    if len(fields) != 2 or not all(map(bytes.isdigit, fields)):
        return None
    return int(fields[0]), int(fields[1])


def _read_line(table: _Table, number: int, line: str) -> None:
    if isinstance(line, CutLine):
        raise table.error(f"more than {_LONGEST_LINE:,} characters; is it a file of word vectors?", number)
    line = line.rstrip(" ")
    spaces = line.count(" ")
    word = line.partition(" ")[0]
    if spaces == table.dimension and not table.wants(word):
        return
    word, *values = line.rsplit(" ", table.dimension)
    # A word may hold spaces, as some of GloVe's do; a word that ends in a number is a line that is too long.
    if len(values) != table.dimension or (spaces > table.dimension and _is_number(word.rpartition(" ")[2])):
        raise table.error(f"expected a word and {table.dimension} numbers, found {spaces} after the word", number)
    if not table.wants(word):
        return
    try:
        table.add(word, [float(value) for value in values])
    except ValueError:
        strange = next(value for value in values if not _is_number(value))
        raise table.error(f"{strange!r} is not a number", number) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_binary(table: _Table) -> None:
    with open_binary(table.path) as file:
        start = file.readline(100)
        size = _header(start)
        if start.startswith(_FASTTEXT_MODEL):
            raise table.error("a fastText model, which holds more than vectors; give its .vec file")
        if size is None or not size[1]:
            raise table.error(
                "not a binary word2vec file: its first line must be the number of words and the dimension"
            )
        table.begin(size[1])
        for name, vector in _binary_rows(table, file, size[0]):
            word = name.decode("utf-8", "surrogateescape")
            if table.wants(word):
                table.add(word, np.frombuffer(vector, _FLOAT32))


def _binary_rows(table: _Table, file: IO[bytes], rows: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield words and the bytes of their vectors; some programs write a newline after each vector, others do not."""
    size = table.dimension * _FLOAT32.itemsize
    data, start = b"", 0
    for row in range(rows):
        while (space := data.find(b" ", start)) < 0 or len(data) <= space + size:
            block = file.read(_BLOCK)
            if not block or (space < 0 and len(data) - start > _BLOCK):
                raise table.error(f"the first line promises {rows} words, the file ends after {row}; is it complete?")
            data, start = data[start:] + block, 0
        end = space + 1 + size
        yield data[start:space].lstrip(b"\n"), data[space + 1 : end]
        start = end
    if (data[start:] + file.read(_BLOCK)).strip(b"\n"):
        raise table.error(f"the first line promises {rows} words, but more follow; is it a binary word2vec file?")


def _read_npz(table: _Table) -> None:
    with open_binary(table.path) as file:
        try:
            # A zip archive is read from its end, which a compressed stream cannot offer.
            packed = table.path.suffix.lower() in COMPRESSIONS
            archive = zipfile.ZipFile(io.BytesIO(read_some(file, LARGEST_TEXT, table.path)) if packed else file)
            with archive, archive.open("words.npy") as words, archive.open("vectors.npy") as vectors:
                _read_arrays(table, words, vectors)
        except KeyError:
            raise table.error("has no arrays named words and vectors") from None
        except TaxoCapsError:
            raise
        except Exception as error:  # a damaged archive can fail in a dozen ways
            raise table.error(f"not an .npz file of plain arrays (words must be text, not objects): {error}") from error


def _read_arrays(table: _Table, words: IO[bytes], vectors: IO[bytes]) -> None:
    """Read words and vectors side by side, a block of rows at a time: an archive can unpack to any size."""
    (names, word), (shape, number) = _array_header(words), _array_header(vectors)
    fits = len(names) == 1 and len(shape) == 2 and names[0] == shape[0] >= 0
    if not (fits and word.kind == "U" and number.kind == "f"):
        raise table.error("words must be text, not objects, [n], and vectors floating-point numbers [n, D]")
    if word.itemsize // 4 > _LONGEST_WORD:
        raise table.error(f"words of {word.itemsize // 4:,} characters; at most {_LONGEST_WORD:,} are read")
    table.begin(shape[1])
    rows = max(1, _BLOCK // max(word.itemsize, number.itemsize * shape[1], 1))
    for start in range(0, shape[0], rows):
        count = min(rows, shape[0] - start)
        found = _array(words, word, (count,)).tolist()
        for one, vector in zip(found, _array(vectors, number, (count, shape[1])), strict=True):
            if table.wants(one):
                table.add(one, vector)


def _array_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the type of an array in a file, which is read up to its numbers."""
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
    shape, is_by_columns, dtype = read(file, max_header_size=_LONGEST_HEADER)
    if is_by_columns and len(shape) > 1:
        raise ValueError("its numbers are in the order of Fortran; save a contiguous array")
    return shape, dtype


def _array(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    size = math.prod(shape) * dtype.itemsize
    content = file.read(size)
    if len(content) < size:
        raise ValueError("it is cut off")
    return np.frombuffer(content, dtype).reshape(shape) if size else np.zeros(shape, dtype)
