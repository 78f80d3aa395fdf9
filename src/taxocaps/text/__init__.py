"""Texts to words, words to numbers and vectors."""

from taxocaps.text.pipeline import TextConfig, TextPipeline, TokenizedText
from taxocaps.text.stopwords import load_stop_words
from taxocaps.text.token_chunk import TokenChunk
from taxocaps.text.vector_files import WordVectors, load_vectors
from taxocaps.text.vectors import VectorsConfig, align, train_skip_gram
from taxocaps.text.vocabulary import Vocabulary, VocabularyConfig, WordCounter

__all__ = [
    "TextConfig",
    "TextPipeline",
    "TokenChunk",
    "TokenizedText",
    "VectorsConfig",
    "Vocabulary",
    "VocabularyConfig",
    "WordCounter",
    "WordVectors",
    "align",
    "load_stop_words",
    "load_vectors",
    "train_skip_gram",
]
