"""Documents and their labels: reading, writing, checking, and label matrices."""

from taxocaps.corpus.document import Dataset, Document
from taxocaps.corpus.labels import Classes, LabelConfig, collect_classes, label_matrix, resolve_labels
from taxocaps.corpus.readers import READERS, CorpusConfig, Reader, ReadReport, Record, read_documents
from taxocaps.corpus.statistics import CorpusReport, check_corpus
from taxocaps.corpus.writers import write_documents

__all__ = [
    "READERS",
    "Classes",
    "CorpusConfig",
    "CorpusReport",
    "Dataset",
    "Document",
    "LabelConfig",
    "ReadReport",
    "Reader",
    "Record",
    "check_corpus",
    "collect_classes",
    "label_matrix",
    "read_documents",
    "resolve_labels",
    "write_documents",
]
