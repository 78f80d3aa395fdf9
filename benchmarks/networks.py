"""Every network beside the limit of the processor: a training step and prediction, and the arithmetic in both.

    python benchmarks/networks.py                    # all networks, default sizes, on one thread
    python benchmarks/networks.py --only XML-CNN LSTM
    python benchmarks/networks.py --preset paper-rcv1 --only HE-AGCRCNN
    python benchmarks/networks.py --write            # into docs/performance.md, too

The limit is what the product of two large matrices reaches in the same process, right before and after: a network that
did nothing but products of matrices would reach all of it. Only such products and convolutions are counted as
arithmetic; gathering word vectors, gates, softmax and the optimizer are not, but take time. Documents are some of the
embedded corpus, in batches of 32 of like length, as in training. All times are CPU times.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from measure import Cost, cpu_seconds, in_own_process
from tables import Table, publish
from taxocaps.catalogue.models import MODELS, find_model

DOCUMENTS, BATCH, STEPS = 640, 32, 10
SIDE = 1_024
"""Of the matrices that set the limit."""


def measure(name: str, preset: str) -> dict[str, float]:
    """CPU seconds and floating-point operations of one document, in training and in prediction, and the limit."""
    import torch

    torch.set_num_threads(1)
    scorer, batches = _prepare(name, preset)
    objective = scorer.objective
    optimizer = torch.optim.Adam(objective.parameters(), lr=1e-3, fused=True)

    def train() -> None:
        objective.train()
        for batch in batches:
            optimizer.zero_grad()
            objective.loss(batch).backward()
            optimizer.step()

    def predict() -> None:
        objective.eval()
        with torch.inference_mode():
            for batch in batches:
                objective.scores(batch)

    documents = sum(len(batch.targets) for batch in batches)
    found = {}
    limits = [_limit()]
    for stage, work in (("train", train), ("predict", predict)):
        work()
        found[f"{stage} flop"] = _operations(work) / documents
        found[f"{stage} seconds"] = cpu_seconds(work, 3) / documents
        limits.append(_limit())
    return {**found, "limit": max(limits)}


def _prepare(name: str, preset: str) -> tuple[Any, Sequence[Any]]:
    """A network that has seen a few documents, and batches of documents of all lengths."""
    from taxocaps import TaxoCapsClassifier
    from taxocaps.corpus.labels import label_matrix
    from taxocaps.datasets import pydocs
    from taxocaps.training.batches import loader

    corpus = pydocs.load(packages=["networkx", "scipy", "sklearn"])
    documents = [document for part, document in corpus.documents() if part == "train"][:DOCUMENTS]
    options = {"training__epochs": 1, "training__min_steps": 0, "vectors__source": "none"}
    if find_model(name).is_variant:
        options["prior__kind"] = "none"
    classifier = TaxoCapsClassifier(name, corpus.taxonomy, preset=preset, **options)
    few = documents[:: DOCUMENTS // 64]
    classifier.fit([document.text for document in few], [document.labels for document in few])
    scorer = classifier.model_.scorer
    labels = label_matrix([document.labels for document in documents], scorer.classes.names)
    batches = list(loader(scorer.inputs(scorer.encoder.encode(documents)), labels, BATCH))
    chosen = np.linspace(0, len(batches) - 1, STEPS).astype(int)
    return scorer, [batches[index] for index in chosen]


def _limit() -> float:
    """Floating-point operations a CPU second, in the product of two large matrices."""
    import torch

    left, right = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
    return 2 * SIDE**3 / cpu_seconds(lambda: left @ right, 10)


def _operations(work: Any) -> float:
    """Floating-point operations of products and convolutions."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    def product(out: Any, left: Any, right: Any, *_: Any, **__: Any) -> int:
        return 2 * left[0] * left[1] * right[1]

    def recurrence(inputs: Any, weight: Any, *_: Any, **__: Any) -> int:
        steps = int(np.prod(inputs[:-1]))
        return 2 * steps * weight[0] * (weight[1] + weight[0] // 4)  # four gates, of the input and of the state

    mapping = {
        torch.ops.aten.addmm_: product,
        torch.ops.aten.mkldnn_rnn_layer: recurrence,
        torch.ops.aten.mkldnn_rnn_layer_backward: lambda *shapes, **named: 2 * recurrence(*shapes),
    }
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        work()
    return counter.get_total_flops()


def _row(name: str, cost: Cost) -> tuple[str, ...]:
    found = cost.result
    cells = []
    for stage in ("train", "predict"):
        flop, seconds = found[f"{stage} flop"], found[f"{stage} seconds"]
        cells += [f"{1 / seconds:,.0f}", f"{flop / 1e6:,.1f}", f"{flop / seconds / found['limit']:.0%}"]
    return name, *cells, f"{found['limit'] / 1e9:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="MODEL", help="only these networks")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    networks = [model.name for model in MODELS if model.family not in ("linear", "joined")]
    names = [find_model(name).name for name in options.only] if options.only else networks
    began = time.perf_counter()
    rows = [_row(name, in_own_process(measure, name, options.preset)) for name in names]
    header = (
        *("network", "training: documents/CPU s", "MFLOP each", "of the limit"),
        *("prediction: documents/CPU s", "MFLOP each", "of the limit", "limit, GFLOP/s"),
    )
    note = f"One thread, batches of {BATCH}, preset `{options.preset}`, {time.perf_counter() - began:.0f} s in all."
    publish([Table("Networks beside the limit", header, rows, note)], "networks", write=options.write)


if __name__ == "__main__":
    main()
