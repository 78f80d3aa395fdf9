"""Documents and their labels: reading, writing, checking, and label matrices."""

from taxocaps.corpus.dataset import Dataset
from taxocaps.corpus.document import Document
from taxocaps.corpus.fields import CorpusConfig
from taxocaps.corpus.labels import LabelConfig, collect_classes, count_unseen, label_matrix, resolve_labels
from taxocaps.corpus.readers import ReadReport, read_documents
from taxocaps.corpus.statistics import CorpusReport, check_corpus
from taxocaps.corpus.writers import write_documents

__all__ = [
    "CorpusConfig",
    "CorpusReport",
    "Dataset",
    "Document",
    "LabelConfig",
    "ReadReport",
    "check_corpus",
    "collect_classes",
    "count_unseen",
    "label_matrix",
    "read_documents",
    "resolve_labels",
    "write_documents",
]
