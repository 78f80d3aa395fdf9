"""Word vectors for a vocabulary: trained on the corpus, or taken from a file."""

import difflib
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import AtLeast, Between, Config
from taxocaps.errors import ConfigError
from taxocaps.text.vector_files import WordVectors
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["VectorsConfig", "align", "train_skip_gram"]

_LONGEST_SENTENCE = 10_000  # gensim passes over what is beyond, without a word
_UNTRAINED_SPREAD = 0.1


class VectorsConfig(Config):
    """Where word vectors come from.

    Attributes:
        source: `none`, `skip-gram` (trained on the corpus), or a file (see `load_vectors`), for which of the other keys
            only `seed` matters.
        dimension: Numbers in a vector.
        window: Words on either side that a word must predict.
        negative: Random words against which each prediction is weighed.
        epochs: Passes over the corpus.
        min_count: Rarer words are not trained but get random vectors.
        subsample: Frequent words are skipped at random; the smaller, the more.
        learning_rate: At the start; it falls steadily to almost nothing.
        workers: Threads. With more than one, training is faster and no longer the same from run to run.
        seed: Of all randomness.
    """

    section: ClassVar[str] = "vectors"
    source: str = "none"
    dimension: Annotated[int, Between(1, 10_000)] = 50
    window: Annotated[int, Between(1, 1_000)] = 5
    negative: Annotated[int, Between(1, 1_000)] = 5
    epochs: Annotated[int, Between(1, 10_000)] = 5
    min_count: Annotated[int, AtLeast(1)] = 1
    subsample: Annotated[float, Between(0, 1)] = 1e-3
    learning_rate: Annotated[float, Between(1e-6, 1)] = 0.025
    workers: Annotated[int, Between(1, 1_000)] = 1
    seed: Annotated[int, Between(0, 2**32 - 1)] = 0

    def model_post_init(self, context: object, /) -> None:
        """Check the fields, and that `source` is not one of its words mistyped."""
        words = ("none", "skip-gram")
        nearest = difflib.get_close_matches(self.source.lower(), words, n=1, cutoff=0.75)
        if nearest and self.source not in words and not Path(self.source).exists():
            raise ConfigError(
                f"vectors.source must be none, skip-gram or a file; got {self.source!r}; did you mean {nearest[0]}?"
            )


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
    from gensim.models import Word2Vec

    logging.getLogger("gensim").addHandler(logging.NullHandler())  # its warnings would end up on the screen
    counts = dict(zip(vocabulary.words, vocabulary.counts, strict=True))
    frequent = {word: count for word, count in counts.items() if count >= config.min_count}
    generator = np.random.default_rng(config.seed)
    corpus = _Corpus(sentences, config.epochs, progress)
    if not frequent or not corpus.words:
        return align(vocabulary, WordVectors((), np.zeros((0, config.dimension), np.float32)), generator)[0]
    model = Word2Vec(
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
