"""How well a review finds labels that were flipped on purpose, beside the rankings of cleanlab, and what else it finds.

A flip changes one annotation. Annotations are the lowest labels of a document; where documents carry all ancestors of
their labels, these follow from them. Of all annotations, 5 % are drawn at random. Every second one is *replaced* by
another label, drawn like the labels of all documents, that lies neither above nor below one of the document's; the
others are *removed*; `emptied` are those that leave a document without any label. Then a model learns from the flipped
corpus in folds, and the review ranks its suspects.

- Precision: of the first hundred suspects, how many labels differ from the corpus as it was. Whatever is wrong in the
  corpus itself counts as an error of the review.
- Recall: of all flips, how many are in the first tenth of the documents, ordered by their most suspicious label.

    python benchmarks/review.py build/reuters build/pydocs build/arxiv --documents 8000
    python benchmarks/review.py build/reuters --share 0        # the corpus as it is: counts, and the first suspects
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cleanlab.multilabel_classification import get_label_quality_scores
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.document import Document
from taxocaps.corpus.labels import Classes, collect_classes, label_matrix, resolve_labels
from taxocaps.corpus.readers import read_documents
from taxocaps.reviewing.suspects import Suspects, confident_issues, document_quality, find_suspects
from taxocaps.scorers.base import Examples, FitContext, make_scorer
from taxocaps.scorers.fitting import fit_with_scores
from taxocaps.scorers.model import ModelName
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.workflows.config import resolve_run_config

KINDS = ("replaced", "removed", "emptied")
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Flip:
    """An annotation that was changed: its document, and how."""

    document: int
    kind: str


def flip_labels(labels: csr_array, classes: Classes, share: float, seed: int) -> tuple[csr_array, list[Flip]]:
    """Flip a share of the annotations; returns the labels after that, and what was flipped."""
    generator = np.random.default_rng(seed)
    lists = [set(row) for row in rows_of(labels)]
    above = [frozenset(row) for row in rows_of(classes.closure)]  # a label and its ancestors
    is_closed = classes.has_all_ancestors(labels)
    lowest = [{one for one in row if not any(one in above[other] - {other} for other in row)} for row in lists]
    kept = [set() if is_closed else row - low for row, low in zip(lists, lowest, strict=True)]  # ancestors, as given
    pairs = [(document, label) for document, row in enumerate(lowest) for label in sorted(row)]
    flips = []
    for number, index in enumerate(generator.permutation(len(pairs))[: round(share * len(pairs))].tolist()):
        document, label = pairs[index]
        before = {*lowest[document], label}
        lowest[document].discard(label)
        if number % 2 == 0:
            lowest[document].add(drawn(pairs, before, above, generator))
        kind = "replaced" if number % 2 == 0 else "removed" if lowest[document] else "emptied"
        flips.append(Flip(document, kind))
    for flip in flips:
        row = lowest[flip.document]
        lists[flip.document] = set().union(*(above[label] for label in row)) if is_closed else row | kept[flip.document]
    return matrix(lists, labels.shape[1]), flips


def drawn(
    pairs: list[tuple[int, int]], before: set[int], above: list[frozenset[int]], generator: np.random.Generator
) -> int:
    """A label drawn like those of all documents that is unrelated to the labels of this one."""
    while True:
        label = pairs[int(generator.integers(len(pairs)))][1]
        if not any(label in above[other] or other in above[label] for other in before):
            return label


def rows_of(matrix: csr_array) -> Iterator[list[int]]:
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        yield matrix.indices[start:end].tolist()


def matrix(lists: list[set[int]], width: int) -> csr_array:
    columns = np.concatenate([np.array(sorted(row), np.int32) for row in lists])
    ends = np.concatenate([[0], np.cumsum([len(row) for row in lists])])
    return csr_array((np.ones(len(columns), bool), columns, ends), shape=(len(lists), width))


def out_of_fold_scores(
    documents: list[Document], labels: csr_array, classes: Classes, model: str
) -> tuple[Scores, float]:
    """Calibrated scores of each document by a model that has not seen it, and the CPU seconds that took."""
    began = time.process_time()
    scorer = make_scorer(resolve_run_config(options={"model": model}).options, classes, 0)
    examples = Examples(scorer.encoder.encode(documents), labels)
    with tempfile.TemporaryDirectory() as folder:
        _, held_out = fit_with_scores(ModelName(model, "default", 0), scorer, examples, None, FitContext(Path(folder)))
    return held_out.scores, time.process_time() - began


def by_confidence(labels: csr_array, scores: Scores) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of a document and a label, those of which cleanlab's self-confidence is lowest first."""
    given = labels.toarray()
    order = np.argsort(np.where(given, scores, 1 - scores), axis=None, kind="stable")
    documents, columns = np.unravel_index(order, given.shape)
    return documents, columns


def by_quality(labels: csr_array, scores: Scores) -> NDArray[np.int64]:
    """All documents, the one with the lowest label quality by cleanlab first."""
    return np.argsort(get_label_quality_scores(list(rows_of(labels)), scores.astype(np.float64)), kind="stable")


def show_found(
    name: str,
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    order: NDArray[np.int64],
    flips: list[Flip],
    wrong: csr_array,
) -> None:
    """Print precision and recall of a ranking; `wrong` marks labels that differ from the corpus as it was."""
    rows, columns = (one[:500] for one in pairs)
    hits = np.asarray(wrong[rows, columns]).ravel()
    first = frozenset(order[: wrong.shape[0] // 10].tolist())
    recalls = []
    for kind in (*KINDS, None):
        found = [flip.document in first for flip in flips if kind in (None, flip.kind)]
        recalls.append(f"{kind or 'all'} {np.mean(found):.3f} of {len(found)}" if found else f"{kind}: none")
    precisions = ", ".join(f"{hits[:count].mean():.2f} of {count}" for count in (100, 200, 500))
    print(f"  {name:<28} precision {precisions}; recall {', '.join(recalls)}")


def show_suspects(suspects: Suspects, documents: list[Document], classes: Classes, count: int) -> None:
    for index in range(count):
        document = documents[suspects.documents[index]]
        kind = "wrong?" if suspects.is_given[index] else "forgotten?"
        print(
            f"  {suspects.suspicion[index]:.3f} {kind:<10} {classes.names[suspects.labels[index]]:<24} "
            f"given {', '.join(document.labels or ()) or 'none'}: {' '.join(document.text.split())[:90]}"
        )


def review_corpus(folder: Path, share: float, limit: int, model: str, seed: int) -> None:
    taxonomy = read_taxonomy(folder / "taxonomy.tsv")
    documents = list(read_documents(folder / "train.jsonl"))
    if len(documents) > limit:
        kept = np.sort(np.random.default_rng(0).permutation(len(documents))[:limit])
        documents = [documents[index] for index in kept]
    resolved = resolve_labels([document.labels for document in documents], taxonomy)
    classes = Classes(collect_classes(resolved.labels, resolved.taxonomy), resolved.taxonomy)
    truth = label_matrix(resolved.labels, classes.names)
    given, flips = flip_labels(truth, classes, share, seed)
    scores, seconds = out_of_fold_scores(documents, given, classes, model)
    suspects = find_suspects(given, scores, classes.closure)
    listed = int((suspects.suspicion >= 0.2).sum())
    print(
        f"{folder.name}: {len(documents):,} documents, {len(classes)} labels, {len(flips)} flips; {model}, "
        f"{seconds:.0f} CPU s; {listed:,} suspects, {confident_issues(given, scores).nnz:,} labels in doubt"
    )
    if not flips:
        show_suspects(suspects, documents, classes, 15)
        return
    wrong = csr_array(truth != given)
    order = suspects.first_documents(len(documents))
    show_found("review", (suspects.documents, suspects.labels), order, flips, wrong)
    show_found("self-confidence (cleanlab)", by_confidence(given, scores), by_quality(given, scores), flips, wrong)
    largest = np.abs(np.sort(document_quality(given, scores)) - np.sort(quality_of_cleanlab(given, scores))).max()
    print(f"  document quality differs from cleanlab's by at most {largest:.1e}")


def quality_of_cleanlab(labels: csr_array, scores: Scores) -> NDArray[np.float64]:
    return np.asarray(get_label_quality_scores(list(rows_of(labels)), scores.astype(np.float64)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="folders with train.jsonl and taxonomy.tsv")
    parser.add_argument("--share", type=float, default=0.05, help="the share of annotations that are flipped")
    parser.add_argument("--documents", type=int, default=8_000, help="at most so many training documents, at random")
    parser.add_argument("--model", default="auto")
    parser.add_argument("--seed", type=int, default=1, help="of the flips")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        review_corpus(folder, arguments.share, arguments.documents, arguments.model, arguments.seed)


if __name__ == "__main__":
    main()
