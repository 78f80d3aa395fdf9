"""What the label weights of a taxonomy look like: which labels are near each other, and whether they come together.

    python benchmarks/label_weights.py build/reuters [--pairs 12] [--picture docs/images/label-weights.png]

For the pairs of labels with the smallest alpha, of those that training documents carry most often: alpha over three
seeds, the documents of each label, those that carry both, and as many as there would be by chance. The picture shows
alpha between the most frequent labels.
"""

import argparse
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taxocaps import read_documents, read_taxonomy
from taxocaps.taxonomy.embedding import train_label_vectors, unit_vectors
from taxocaps.taxonomy.tree import Taxonomy

MOST_FREQUENT = 30
SEEDS = (0, 1, 2)


def alphas(taxonomy: Taxonomy, labels: list[str]) -> NDArray[np.float32]:
    """The weight of a label as a negative of a document that carries another: [seeds, labels, labels]."""
    positions = [taxonomy.position(label) for label in labels]
    found = []
    for seed in SEEDS:
        unit = unit_vectors(train_label_vectors(taxonomy, seed=seed)[positions])
        found.append(np.clip(1 - unit @ unit.T, 0, 1))
    return np.stack(found)


def draw(alpha: NDArray[np.float32], labels: list[str], path: Path) -> None:
    """A picture of the mean alpha."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 7), layout="constrained")
    image = axes.imshow(alpha.mean(axis=0), cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(labels)), labels, rotation=90)
    axes.set_yticks(range(len(labels)), labels)
    figure.colorbar(image, label="alpha: the weight of one label where a document carries the other")
    figure.savefig(path, dpi=120, bbox_inches="tight", metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="FOLDER")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--picture", type=Path, metavar="FILE")
    options = parser.parse_args()
    documents = [set(document.labels or ()) for document in read_documents(options.data / "train.jsonl")]
    counts = Counter(label for carried in documents for label in carried)
    labels = [label for label, _ in counts.most_common(MOST_FREQUENT)]
    alpha = alphas(read_taxonomy(options.data / "taxonomy.tsv"), labels)
    pairs = sorted(combinations(range(len(labels)), 2), key=lambda pair: alpha[:, *pair].mean())
    print("| labels | alpha | documents of each | of both | by chance |\n|---|---:|---:|---:|---:|")
    for first, second in pairs[: options.pairs]:
        one, other = labels[first], labels[second]
        both = sum({one, other} <= carried for carried in documents)
        chance = counts[one] * counts[other] / len(documents)
        mean, deviation = alpha[:, first, second].mean(), alpha[:, first, second].std()
        each = f"{counts[one]:,}, {counts[other]:,}"
        print(f"| {one}, {other} | {mean:.2f} ± {deviation:.2f} | {each} | {both:,} | {chance:.1f} |")
    if options.picture:
        draw(alpha, labels, options.picture)


if __name__ == "__main__":
    main()
