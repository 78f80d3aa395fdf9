"""The names of labels as evidence: what documents have in common with them, so that new labels can be given, too.

A label has one or several names, its terms. Four things are measured: which of a name's words occur in the document
(coverage), where and how often they stand there as a phrase, and how much the spelling of document and name are alike.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.arrays import ModelArrays
from taxocaps.corpus.document import Document
from taxocaps.encoding.bag import IDF_BOUNDS, BagConfig, BagOfWords
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.linear.model import SparseFactor
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["LabelNames", "Phrases", "label_terms"]

Dense = NDArray[np.float32]

_ASIDE = re.compile(r"\(.*?\)")
_ALTERNATIVES = re.compile(r"/|,|;| and ")
_WORDS = BagConfig(min_documents=1)
_CHARACTERS = BagConfig(features="characters", min_documents=1, max_features=150_000)
_NEAR = 20.0
"""A phrase so many words into a document counts half as much as at its beginning."""


def label_terms(taxonomy: Taxonomy, label: str, language: str = "en") -> list[str]:
    """The names by which a text may call a label, in one language or in none; all others only if there are none.

    The first is the name that is shown; if it is a path, without that of the parent, such as `tag` of `facet::tag`.

    Args:
        taxonomy: The taxonomy.
        label: The label.
        language: The language of the texts.

    >>> label_terms(Taxonomy.from_edges([("networkx", "networkx.drawing")]), "networkx.drawing")
    ['.drawing']
    """
    title = taxonomy.title(label, language)
    for parent in taxonomy.parents(label):
        above = taxonomy.title(parent, language)
        if re.match(rf"{re.escape(above)}[^\w\s]", title):
            title = title[len(above) :]
            break
    terms = [term for term in taxonomy.terms(label) if term.kind in ("alternative", "hidden")]
    fitting = [term for term in terms if term.language is None or term.language.partition("-")[0] == language] or terms
    found = (_ASIDE.sub(" ", text).strip() or text for text in (title, *(term.text for term in fitting)))
    return list(dict.fromkeys(found))


class LabelNames:
    """What documents have in common with the names of labels.

    Attributes:
        rising: The measurements that never speak against a label when they are larger.
        features: All measurements.
    """

    rising = ("coverage", "full coverage", "phrases", "first phrase", "likeness")
    features = (*rising, "words of the name", "rarity of the name")

    def __init__(self, terms: Sequence[Sequence[str]], titles: Sequence[str], text: TextConfig) -> None:
        """Prepare the names of labels.

        Args:
            terms: The names of each label; at least one each.
            titles: The full name of each label.
            text: How texts become words; names are read the same way, stop words and lemmas included.
        """
        self._pipeline = TextPipeline(text.replace(tokenizer="words") if text.tokenizer == "raw" else text)
        self._characters_encoder = DocumentEncoder(TextConfig(tokenizer="plain", language=text.language), {})
        self._starts = np.cumsum([0, *map(len, terms)])[:-1]  # the first term of each label
        self._terms = [term for names in terms for term in names]
        self._words = [self._pipeline.parts(term) for term in self._terms]
        self._titles = [self._pipeline.parts(title) for title in titles]

    def fit(self, documents: EncodedDocuments) -> None:
        """Learn how rare words and their parts are, from documents with raw tokens."""
        words = BagOfWords.learn(self._as_documents(self._parts(documents)), _WORDS)
        known = {word for term in (*self._words, *self._titles) for word in term}
        kept = [index for index, word in enumerate(words.vocabulary.words) if word in known]
        self._take(
            BagOfWords(_subset(words.vocabulary, kept), words.idf[kept], _WORDS),
            BagOfWords.learn(self._plain(documents), _CHARACTERS),
        )

    def evidence(self, documents: EncodedDocuments) -> dict[str, Dense]:
        """All measurements of some documents with raw tokens.

        Returns:
            float32 [documents, labels] for each of `rising`, [labels] for others: these are the same in all documents.
        """
        parts = self._parts(documents)
        counts, first = self._phrases.find(parts)
        words = self.words.counts(parts).astype(np.float32)
        words.data[:] = 1
        found = {
            # The share of a name's words that the document has, rare words counting more; [documents, names].
            "coverage": self._by_label(self._weights.product(words)),
            "full coverage": self._title_weights.product(words),
            "phrases": np.log1p(self._by_label(counts)),
            "first phrase": self._by_label(first),
            "likeness": self._likeness(documents),
            "words of the name": self._best_of_label(self._lengths),
            "rarity of the name": self._best_of_label(self._rarity),
        }
        return {name: values.astype(np.float32, copy=False) for name, values in found.items()}

    def save(self, folder: Path) -> dict[str, NDArray[Any]]:
        """Write the vocabularies into a folder; returns the arrays to be saved with others."""
        self.words.vocabulary.save(folder / "name_words.tsv")
        self.characters.vocabulary.save(folder / "name_characters.tsv")
        return {"names.words": self.words.idf, "names.characters": self.characters.idf}

    def load(self, folder: Path, arrays: ModelArrays) -> None:
        """Read what `save` wrote."""
        bags = []
        for name, config in (("words", _WORDS), ("characters", _CHARACTERS)):
            vocabulary = Vocabulary.load(folder / f"name_{name}.tsv")
            idf = arrays.dense(f"names.{name}", np.float64, (len(vocabulary.words),), *IDF_BOUNDS)
            bags.append(BagOfWords(vocabulary, idf, config))
        self._take(*bags)

    def _take(self, words: BagOfWords, characters: BagOfWords) -> None:
        self.words, self.characters = words, characters

    def _parts(self, documents: EncodedDocuments) -> Tokens:
        """The words inside the words of documents."""
        raw = documents.selected_tokens
        return self._pipeline.reread_parts(raw)

    def _plain(self, documents: EncodedDocuments) -> EncodedDocuments:
        return self._characters_encoder.reread(documents)

    @staticmethod
    def _as_documents(tokens: Tokens) -> EncodedDocuments:
        return EncodedDocuments((), tokens, {})

    @cached_property
    def _weights(self) -> SparseFactor:
        return self._term_weights(self._words)

    @cached_property
    def _title_weights(self) -> SparseFactor:
        return self._term_weights(self._titles)

    def _term_weights(self, terms: Sequence[tuple[str, ...]]) -> SparseFactor:
        """[V, terms]: the words of each term, by how rare they are; a word no document has is the rarest."""
        columns = [self.words.vocabulary.ids(term) - Vocabulary.FIRST for term in terms]
        rows = np.repeat(np.arange(len(columns)), [len(found) for found in columns])
        flat = np.concatenate([np.zeros(0, np.int64), *columns]).astype(np.int64)
        idf, known = self._idf(flat), flat >= 0
        total = np.maximum(np.bincount(rows, weights=idf, minlength=len(columns)), 1e-9)
        entries = ((idf / total[rows])[known], (flat[known], rows[known]))
        return SparseFactor(csr_array(entries, shape=(len(self.words.idf), len(columns)), dtype=np.float32))

    def _idf(self, columns: NDArray[np.integer]) -> NDArray[np.float64]:
        """How rare words are; those that no document has are the rarest."""
        padded = np.append(self.words.idf, self._rarest)  # the last entry stands for column -1
        found: NDArray[np.float64] = padded[columns]
        return found

    @property
    def _rarest(self) -> float:
        return float(self.words.idf.max(initial=1.0))

    @cached_property
    def _lengths(self) -> Dense:
        return np.array([len(term) for term in self._words], np.float32)

    @cached_property
    def _rarity(self) -> Dense:
        """How rare the words of each term are, added up; [terms]."""
        ids = [self.words.vocabulary.ids(term) - Vocabulary.FIRST for term in self._words]
        return np.array([self._idf(one).sum() for one in ids], np.float32)

    @cached_property
    def _phrases(self) -> "Phrases":
        alternatives = [
            {tuple(self._pipeline.parts(part)) for part in (term, *_ALTERNATIVES.split(term))} - {()}
            for term in self._terms
        ]
        return Phrases([sorted(found) for found in alternatives])

    @cached_property
    def _spellings(self) -> SparseFactor:
        """[V, terms]: the character n-grams of each term, a vector of length 1."""
        documents = self._characters_encoder.encode([Document(" ".join(term)) for term in self._words])
        return SparseFactor(csr_array(self.characters.transform(documents).T))

    def _likeness(self, documents: EncodedDocuments) -> Dense:
        """The cosine of the character n-grams of document and name; [documents, labels]."""
        bags = self.characters.transform(self._plain(documents))
        return self._by_label(self._spellings.product(bags))

    def _by_label(self, values: Dense) -> Dense:
        """From [documents, terms] to [documents, labels]: the best term of each label."""
        if not values.size:
            return np.zeros((len(values), len(self._starts)), np.float32)
        best: Dense = np.maximum.reduceat(values, self._starts, axis=1)
        return best

    def _best_of_label(self, values: Dense) -> Dense:
        best: Dense = self._by_label(values[None])[0]
        return best


def _subset(vocabulary: Vocabulary, indices: Sequence[int]) -> Vocabulary:
    return Vocabulary([vocabulary.words[i] for i in indices], [vocabulary.counts[i] for i in indices])


@dataclass(frozen=True)
class Phrases:
    """Finds phrases in documents by walking down a trie of all of them, from all words at once.

    Attributes:
        phrases: For each term, the phrases that stand for it, as tuples of words.
    """

    phrases: Sequence[Sequence[tuple[str, ...]]]

    def find(self, tokens: Tokens) -> tuple[Dense, Dense]:
        """How often each term occurs, and how early: 1 for the first word, half of it 20 words on; [documents, terms].

        Args:
            tokens: The documents.
        """
        words, edges, children, terms_of = self._trie
        numbers = np.fromiter(map(words.get, tokens.words, repeat(-1)), np.int64, len(tokens.words))
        ids = numbers[tokens.ids]  # as the trie numbers words
        ends = np.repeat(tokens.offsets[1:], tokens.lengths)  # of the document of each word
        document = np.repeat(np.arange(len(tokens)), tokens.lengths)
        counts = np.zeros((len(tokens), len(self.phrases)), np.float32)
        first = np.zeros_like(counts)
        starts, nodes = np.arange(len(ids)), np.zeros(len(ids), np.int64)
        for depth in range(self._longest):
            inside = starts + depth < ends[starts]
            starts, nodes = starts[inside], nodes[inside]
            codes = np.where(ids[starts + depth] < 0, -1, nodes * len(words) + ids[starts + depth])
            places = np.searchsorted(edges, codes)
            found = edges[np.minimum(places, len(edges) - 1)] == codes if len(edges) else np.zeros(len(codes), bool)
            starts, nodes = starts[found], children[places[found]]
            self._add(counts, first, document[starts], starts - tokens.offsets[document[starts]], nodes, terms_of)
        return counts, first

    @staticmethod
    def _add(counts: Dense, first: Dense, documents: Any, positions: Any, nodes: Any, terms_of: Any) -> None:
        """Count the phrases that end at these nodes."""
        starts, terms = terms_of
        repeats = starts[nodes + 1] - starts[nodes]
        which = np.repeat(starts[nodes] - (np.cumsum(repeats) - repeats), repeats) + np.arange(repeats.sum())
        rows = np.repeat(documents, repeats)
        np.add.at(counts, (rows, terms[which]), 1)
        np.maximum.at(first, (rows, terms[which]), np.repeat(1 / (1 + positions / _NEAR), repeats))

    @cached_property
    def _longest(self) -> int:
        return max((len(phrase) for phrases in self.phrases for phrase in phrases), default=0)

    @cached_property
    def _trie(self) -> tuple[dict[str, int], NDArray[np.int64], NDArray[np.int64], tuple[Any, Any]]:
        """Words by number; edges as node times words plus word, sorted, with their children; the terms of nodes."""
        words: dict[str, int] = {}
        for phrases in self.phrases:
            for phrase in phrases:
                for word in phrase:
                    words.setdefault(word, len(words))
        edges: dict[int, int] = {}
        ending: dict[int, list[int]] = {}
        for term, phrases in enumerate(self.phrases):
            for phrase in phrases:
                node = 0
                for word in phrase:
                    node = edges.setdefault(node * len(words) + words[word], len(edges) + 1)
                ending.setdefault(node, []).append(term)
        codes = np.array(sorted(edges), np.int64)
        children = np.array([edges[code] for code in codes.tolist()], np.int64)
        lists = [ending.get(node, []) for node in range(len(edges) + 1)]
        starts = np.cumsum([0, *map(len, lists)])
        terms = np.array([term for found in lists for term in found], np.int64)
        return words, codes, children, (starts, terms)
