"""Annif: a lexical matcher (MLLM), omikuji, and the mean of both, with their own defaults and English stems.

    run_annif.py FOLDER OUT [mllm | omikuji | ensemble]

The vocabulary is SKOS: a label has its name as prefLabel, in words; what it adds to the name of its parent as altLabel,
so that texts can call `scipy.sparse.linalg` "linalg"; and its parent as broader concept. MLLM can also give labels that
no training document carries.
"""

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import nltk.data
import nltk.tokenize
import numpy as np
from annif.corpus.types import Document, DocumentCorpus, SubjectSet
from annif.project import AnnifProject
from annif.registry import AnnifRegistry
from annif.vocab import VocabFileSKOS
from exchange import Corpus, Predict, compete
from rdflib import RDF, SKOS, Graph, Literal, URIRef

PROJECTS = """
[mllm]
language=en
vocab=labels
analyzer=snowball(english)
backend=mllm

[omikuji]
language=en
vocab=labels
analyzer=snowball(english)
backend=omikuji

[ensemble]
language=en
vocab=labels
backend=ensemble
sources=mllm,omikuji
"""

FOLDER = tempfile.TemporaryDirectory()  # for its models

# NLTK's tokenizer of sentences needs a file that cannot be downloaded everywhere, so sentences end with a full stop, a
# question mark or an exclamation mark before white space. Words are those of NLTK.
nltk.data.find = lambda *_, **__: None
nltk.tokenize.sent_tokenize = lambda text, *_, **__: re.split(r"(?<=[.!?])\s+", text.strip())


class Documents(DocumentCorpus):
    """Documents that are in memory."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents

    @property
    def documents(self) -> Iterator[Document]:
        """All of them, as often as they are asked for."""
        return iter(self._documents)


def fit(corpus: Corpus) -> Predict:
    names = [*corpus.names, *corpus.others]
    uris = {name: URIRef(f"http://example.org/{number}") for number, name in enumerate(names)}
    home = Path(tempfile.mkdtemp(dir=FOLDER.name))
    (home / "projects.cfg").write_text(PROJECTS, encoding="utf-8")
    registry = AnnifRegistry(str(home / "projects.cfg"), str(home), init_projects=False)
    _vocabulary(corpus, uris).serialize(home / "labels.ttl", format="turtle")
    vocabulary = registry.get_vocab("labels")
    vocabulary.load_vocabulary(VocabFileSKOS(str(home / "labels.ttl")))
    subjects = {name: vocabulary.subjects.by_uri(str(uris[name])) for name in names}
    documents = [
        Document(text, SubjectSet([subjects[label] for label in labels]))
        for text, labels in zip(corpus.texts, corpus.labels, strict=True)
    ]
    wanted = sys.argv[3]
    for name in ("mllm", "omikuji") if wanted == "ensemble" else (wanted,):
        registry.get_project(name).train(Documents(documents), jobs=1)
    order = [subjects[name] for name in names]
    return lambda texts: _suggest(registry.get_project(wanted), texts)[:, order]


def _suggest(project: AnnifProject, texts: Sequence[str]) -> np.ndarray:
    documents = Documents([Document(text) for text in texts])
    return np.concatenate([project.suggest(batch).array.toarray() for batch in documents.doc_batches])


def _vocabulary(corpus: Corpus, uris: dict[str, URIRef]) -> Graph:
    graph = Graph()
    for name, label in corpus.taxonomy.items():
        concept = uris[name]
        graph.add((concept, RDF.type, SKOS.Concept))
        graph.add((concept, SKOS.prefLabel, Literal(_words(label.title), "en")))
        if label.parent in corpus.taxonomy:
            above = corpus.taxonomy[label.parent].title
            graph.add((concept, SKOS.broader, uris[label.parent]))
            if label.title.startswith(above):
                graph.add((concept, SKOS.altLabel, Literal(_words(label.title.removeprefix(above)), "en")))
    return graph


def _words(title: str) -> str:
    return " ".join(re.split(r"[\s._:/-]+", title)).strip()


if __name__ == "__main__":
    compete(fit, "scores", "annif", "omikuji")
