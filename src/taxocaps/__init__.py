"""taxocaps: labels out of a taxonomy for documents.

The names below are loaded when they are first used, so that `import taxocaps` stays light.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from taxocaps._version import __version__

# Threads of OpenMP (torch, scikit-learn) wait for each other busily, unless told otherwise before these are loaded:
# beside another busy process, training would lose half of its speed (benchmarks/neighbour.py).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from taxocaps.classifier import TaxoCapsClassifier, load
    from taxocaps.corpus.document import Document
    from taxocaps.corpus.readers import read_documents
    from taxocaps.corpus.writers import write_documents
    from taxocaps.encoding.store import open_store
    from taxocaps.errors import TaxoCapsError
    from taxocaps.explanations.explanation import Explanation
    from taxocaps.graph.config import GraphConfig
    from taxocaps.graph.document_graph import GraphOfWords
    from taxocaps.results import Prediction
    from taxocaps.taxonomy.readers import read_taxonomy
    from taxocaps.taxonomy.terms import Term
    from taxocaps.taxonomy.tree import Taxonomy
    from taxocaps.taxonomy.writers import write_taxonomy
    from taxocaps.text.pipeline import TextPipeline
    from taxocaps.workflows.batch_labeller import BatchLabeller
    from taxocaps.workflows.encode import encode
    from taxocaps.workflows.evaluate import evaluate
    from taxocaps.workflows.explain import explain
    from taxocaps.workflows.graph import graph_of_words
    from taxocaps.workflows.learn import LearnFiles, learn
    from taxocaps.workflows.predict import predict
    from taxocaps.workflows.review import ReviewFiles, review
    from taxocaps.workflows.train import train
    from taxocaps.workflows.training_data import TrainFiles
    from taxocaps.workflows.tune import tune

__all__ = [
    "BatchLabeller",
    "Document",
    "Explanation",
    "GraphConfig",
    "GraphOfWords",
    "LearnFiles",
    "Prediction",
    "ReviewFiles",
    "TaxoCapsClassifier",
    "TaxoCapsError",
    "Taxonomy",
    "Term",
    "TextPipeline",
    "TrainFiles",
    "__version__",
    "encode",
    "evaluate",
    "explain",
    "graph_of_words",
    "learn",
    "load",
    "open_store",
    "predict",
    "read_documents",
    "read_taxonomy",
    "review",
    "train",
    "tune",
    "write_documents",
    "write_taxonomy",
]

_HOMES = {
    "BatchLabeller": "workflows.batch_labeller",
    "Document": "corpus.document",
    "Explanation": "explanations.explanation",
    "GraphConfig": "graph.config",
    "GraphOfWords": "graph.document_graph",
    "LearnFiles": "workflows.learn",
    "Prediction": "results",
    "ReviewFiles": "workflows.review",
    "TaxoCapsClassifier": "classifier",
    "TaxoCapsError": "errors",
    "Taxonomy": "taxonomy.tree",
    "Term": "taxonomy.terms",
    "TextPipeline": "text.pipeline",
    "TrainFiles": "workflows.training_data",
    "encode": "workflows.encode",
    "evaluate": "workflows.evaluate",
    "explain": "workflows.explain",
    "graph_of_words": "workflows.graph",
    "learn": "workflows.learn",
    "load": "classifier",
    "open_store": "encoding.store",
    "predict": "workflows.predict",
    "read_documents": "corpus.readers",
    "read_taxonomy": "taxonomy.readers",
    "review": "workflows.review",
    "train": "workflows.train",
    "tune": "workflows.tune",
    "write_documents": "corpus.writers",
    "write_taxonomy": "taxonomy.writers",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module 'taxocaps' has no attribute {name!r}")
    return getattr(import_module(f"taxocaps.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
