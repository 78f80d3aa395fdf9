"""Every network beside the limit of the processor: a training step and prediction, and the arithmetic in both.

    python benchmarks/networks.py                    # all networks, default sizes, on one thread
    python benchmarks/networks.py --only XML-CNN LSTM
    python benchmarks/networks.py --preset paper-rcv1 --only AGCRCNN
    python benchmarks/networks.py --render           # measure nothing
    python benchmarks/networks.py --write            # put all results so far into docs/performance.md

The limit is what the product of two large matrices or a large convolution reaches in the same process, right before
and after, whichever is faster: they come from different libraries, and either may use a processor better. A network
that did nothing else would reach all of it. Only such products and convolutions are counted as arithmetic; gathering
word vectors, gates, softmax and the optimizer are not, but take time. A network that computes
each distinct word once does less arithmetic, and has a smaller share of the limit for the same speed. Documents are
some of the embedded corpus, in two batches of 32: long documents, and short ones. All times are CPU times.
Models that differ in their loss only have the same network, and only one of them is measured. Results are in
benchmarks/results/networks.jsonl; the last one of a network counts.
"""

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from measure import cpu_seconds
from tables import Table, publish
from taxocaps.catalogue.models import MODELS, find_model

RESULTS = Path(__file__).parent / "results" / "networks.jsonl"
DOCUMENTS, BATCH, STEPS, TRIES = 320, 32, 2, 2
SIDE, CHANNELS, IMAGE = 1_024, 256, 64
"""Of the matrices and of the convolution that set the limit."""
OTHER_LOSSES = ("HE-", "HR-")
"""Models whose names begin so have the networks of those without, and another loss."""


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
        found[f"{stage} flop"] = _operations(work) / documents  # and a first time, which may take longer
        found[f"{stage} seconds"] = cpu_seconds(work, TRIES) / documents
        limits.append(_limit())
    return {**found, "limit": max(limits)}


def _prepare(name: str, preset: str) -> tuple[Any, Sequence[Any]]:
    """A network that has seen a few documents, and batches of documents of all lengths."""
    from taxocaps import TaxoCapsClassifier
    from taxocaps.corpus.labels import label_matrix
    from taxocaps.training.batches import loader

    taxonomy, documents = _corpus()
    options = {"training__epochs": 1, "training__min_steps": 0, "vectors__source": "none"}
    if find_model(name).is_variant:
        options["prior__kind"] = "none"
    classifier = TaxoCapsClassifier(name, taxonomy, preset=preset, **options)
    few = documents[:: DOCUMENTS // 64]
    classifier.fit([document.text for document in few], [document.labels for document in few])
    scorer = classifier.model_.scorer
    labels = label_matrix([document.labels for document in documents], scorer.classes.names)
    batches = list(loader(scorer.inputs(scorer.encoder.encode(documents)), labels, BATCH))
    chosen = np.linspace(0, len(batches) - 1, STEPS).astype(int)
    return scorer, [batches[index] for index in chosen]


@cache
def _corpus() -> tuple[Any, Sequence[Any]]:
    from taxocaps.datasets import pydocs

    corpus = pydocs.load(packages=["networkx", "scipy", "sklearn"])
    return corpus.taxonomy, [document for part, document in corpus.documents() if part == "train"][:DOCUMENTS]


def _limit() -> float:
    """Floating-point operations a CPU second, in the product of two large matrices or in a large convolution."""
    import torch
    from torch.nn.functional import conv2d

    left, right = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
    image, kernels = torch.rand(1, CHANNELS, IMAGE, IMAGE), torch.rand(CHANNELS, CHANNELS, 3, 3)
    product = 2 * SIDE**3 / cpu_seconds(lambda: left @ right, 10)
    convolution = 2 * 9 * (CHANNELS * IMAGE) ** 2 / cpu_seconds(lambda: conv2d(image, kernels, padding=1), 10)
    return max(product, convolution)


def _operations(work: Any) -> float:
    """Floating-point operations of products and convolutions."""
    import torch
    from torch.utils.flop_counter import flop_registry, shape_wrapper

    def product(out: Any, left: Any, right: Any, *_: Any, **__: Any) -> int:
        return 2 * left[0] * left[1] * right[1]

    def recurrence(inputs: Any, weight: Any, *_: Any, **__: Any) -> int:
        steps = int(np.prod(inputs[:-1]))
        return 2 * steps * weight[0] * (weight[1] + weight[0] // 4)  # four gates, of the input and of the state

    further = {
        torch.ops.aten.addmm_: product,
        torch.ops.aten.mkldnn_rnn_layer: recurrence,
        torch.ops.aten.mkldnn_rnn_layer_backward: lambda *shapes, **named: 2 * recurrence(*shapes),
    }
    counter = _counter({**flop_registry, **{packet: shape_wrapper(cost) for packet, cost in further.items()}})
    with counter:
        work()
    return counter.total


def _counter(costs: Mapping[Any, Any]) -> Any:
    """Adds up what operations cost; torch's own counter also tracks modules, and fails where there are no gradients."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counter(TorchDispatchMode):
        total = 0

        def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs, packet = kwargs or {}, operation._overloadpacket
            if packet not in costs:  # without gradients, an operation made of others comes as a whole
                with self:
                    result = operation.decompose(*args, **kwargs)
                if result is not NotImplemented:
                    return result
            result = operation(*args, **kwargs)
            if packet in costs:
                self.total += costs[packet](*args, **kwargs, out_val=result)
            return result

    return Counter()


def _keep(name: str, preset: str) -> None:
    """Measure a network, and add a line to the results."""
    began = time.process_time()
    found = measure(name, preset)
    line = {"name": name, "preset": preset, **found, "cpu": time.process_time() - began, "load": os.getloadavg()[0]}
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{name}: {line['cpu']:.1f} CPU s", flush=True)


def _table(preset: str) -> Table:
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    results = {line["name"]: line for line in map(json.loads, lines) if line["preset"] == preset}
    header = (
        *("network", "training: documents/CPU s", "MFLOP each", "of the limit"),
        *("prediction: documents/CPU s", "MFLOP each", "of the limit", "limit, GFLOP/s"),
    )
    rows = [_row(name, results[name]) for name in _names() if name in results]
    note = (
        "Rendered by `python benchmarks/networks.py --write`. "
        f"One thread, batches of {BATCH} documents, preset `{preset}`, without a prior. Arithmetic is products of "
        "matrices and convolutions; the limit is what the product of two large matrices or a large convolution "
        "reaches in the same process; products of other shapes can pass it. Models called HE- or HR- have the network "
        "of the one without that, and another loss."
    )
    loads = [line["load"] for line in results.values()] or [0.0]
    note += f" The load average was {min(loads):.1f} to {max(loads):.1f}, other work included."
    return Table("Networks beside the limit", header, rows, note)


def _row(name: str, found: dict[str, float]) -> tuple[str, ...]:
    cells = []
    for stage in ("train", "predict"):
        flop, seconds = found[f"{stage} flop"], found[f"{stage} seconds"]
        cells += [f"{1 / seconds:,.0f}", f"{flop / 1e6:,.1f}", f"{flop / seconds / found['limit']:.0%}"]
    return name, *cells, f"{found['limit'] / 1e9:.0f}"


def _names() -> list[str]:
    models = (model for model in MODELS if model.family not in ("linear", "joined"))
    return [model.name for model in models if not model.name.startswith(OTHER_LOSSES)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="MODEL", help="only these networks")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--write", action="store_true", help="put all results so far into docs/performance.md")
    options = parser.parse_args()
    names = [find_model(name).name for name in options.only] if options.only else _names()
    for name in () if options.render else names:
        _keep(name, options.preset)
    publish([_table(options.preset)], "networks", write=options.write)


if __name__ == "__main__":
    main()
