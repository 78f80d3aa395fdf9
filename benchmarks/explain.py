"""Whether the words that an explanation names are those that count: scores with and without them.

    python benchmarks/explain.py MODEL DOCUMENTS                    # a model's folder, and documents in any format
    python benchmarks/explain.py MODEL DOCUMENTS --documents 500 --words 10

From each document the top words of the label with the highest score are removed, and the document is scored again as if
they had never stood there: graph, rows and all. What counts is how far the raw score drops, beside the same number of
random words of the document that weigh anything. Networks are also asked for gradient times input over word vectors,
the other way to weigh words; `taxocaps explain` uses what does better here.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from tables import Table
from taxocaps import Document, read_documents
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.explanations.explainers import EXPLAINERS
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.network import NetworkScorer
from taxocaps.scorers.persistence import load_model

Weights = dict[str, float]


def explained(model: FittedModel, document: EncodedDocuments, column: int) -> Weights:
    """The weights that `taxocaps explain` shows."""
    (found,) = EXPLAINERS[_explainer(model)](model.scorer, document, [column]).words
    return {one.word: one.weight for one in found}


def _explainer(model: FittedModel) -> str:
    """The explainer of the scorer; of that of words-matrices only the part that weighs words."""
    return "occlusion" if model.scorer.explainer == "words-matrix" else model.scorer.explainer


def gradient_times_input(model: FittedModel, document: EncodedDocuments, column: int) -> Weights:
    """Of a network: the gradient of the score in each word vector, times that vector."""
    scorer = model.scorer
    network = scorer.network.eval()
    inputs = map(torch.from_numpy, scorer.inputs(document).arrays(np.zeros(1, np.int64)))
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    embedding = network.get_submodule(network.word_vectors_name.rpartition(".")[0])
    handle = embedding.register_forward_hook(lambda _, ids, vectors: seen.append((ids[0], vectors)))
    score = network(*inputs)[0, column]
    handle.remove()
    ((ids, vectors),) = seen
    (slope,) = torch.autograd.grad(score, vectors)
    vocabulary, weights = scorer.vocabulary, defaultdict(float)
    for id, weight in zip(ids.flatten().tolist(), (slope * vectors).sum(dim=-1).flatten().tolist(), strict=True):
        if id >= vocabulary.FIRST:
            weights[vocabulary.word(id)] += weight
    return dict(weights)


def measure(
    model: FittedModel, documents: list[EncodedDocuments], method: Callable[..., Weights] | None, count: int
) -> tuple[float, float]:
    """The mean drop without the top words of a method, or without random ones, and the seconds a document takes."""
    generator, drops, seconds = np.random.default_rng(0), [], 0.0
    for document in documents:
        words, scores = document.tokens.document(0), model.raw_scores(document)[0]
        column = int(scores.argmax())
        began = time.perf_counter()
        weights = (method or explained)(model, document, column)
        seconds += time.perf_counter() - began
        ranked = sorted(weights, key=weights.__getitem__, reverse=True)
        if method is None:
            ranked = [str(word) for word in generator.permutation(ranked)]
        gone = set(ranked[:count])
        rest = model.raw_scores(_encoded(model, [word for word in words if word not in gone]))[0]
        drops.append(scores[column] - rest[column])
    return float(np.mean(drops)), seconds / len(documents)


def _encoded(model: FittedModel, words: list[str]) -> EncodedDocuments:
    return model.scorer.encoder.encode([Document(tokens=tuple(words))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("documents_file", type=Path, metavar="DOCUMENTS")
    parser.add_argument("--documents", type=int, default=100, help="how many documents, the first that are long enough")
    parser.add_argument("--words", type=int, default=5, help="how many words are removed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(arguments.model)
    encoded = (model.scorer.encoder.encode([document]) for document in read_documents(arguments.documents_file))
    long_enough = (document for document in encoded if len(document.tokens.words) >= 3 * arguments.words)
    documents = list(islice(long_enough, arguments.documents))
    methods = {"explained": explained, "gradient x input": gradient_times_input, "random words": None}
    if not isinstance(model.scorer, NetworkScorer):
        methods.pop("gradient x input")
    rows = []
    for name, method in methods.items():
        drop, seconds = measure(model, documents, method, arguments.words)
        rows.append((name, f"{drop:.4f}", f"{1000 * seconds:.0f}" if method else ""))
    title = f"{model.name.model}, {len(documents)} documents, {arguments.words} words removed"
    print(Table(title, ("words", "mean drop of the score", "ms a document"), rows).markdown())


if __name__ == "__main__":
    main()
