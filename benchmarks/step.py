"""One training step of every variant at the paper's sizes: CPU seconds, peak memory, parameters.

    python benchmarks/step.py            # all variants, RCV1 shape (N=100, T=20, D=50, 103 labels, batch 32)
    python benchmarks/step.py --eurlex   # EUR-Lex shape (N=200, 3,956 labels of 64 dims, batch 8)

One thread, all rows filled, Adam state included, each measurement in a process of its own. The stored form of routing,
which keeps every prediction vector, stands beside the factored one for the ratio.
"""

import argparse

from measure import Cost, cpu_seconds, in_own_process
from tables import Table, publish
from taxocaps.catalogue.models import VARIANTS, Variant
from taxocaps.catalogue.presets import model_config
from taxocaps.nn.network import Sizes
from taxocaps.nn.words_matrix import WordsMatrixConfig

PRESET = "paper-rcv1"
BY_NAME = {variant.name.lower(): variant for variant in VARIANTS}
RCV1 = Sizes(vocabulary=50_000, D=50, N=100, T=20, labels=103)
EURLEX = Sizes(vocabulary=50_000, D=50, N=200, T=20, labels=3_956)
EURLEX_NETWORKS = {
    "uncompressed": {"compress": None},
    "compress = 128": {"compress": 128},
    "compress = 128, sharing = label": {"compress": 128, "sharing": "label"},
}
DISTINCT_WORDS = 150
"""Of a document; an RCV1 document of full size has about as many, and they stand in many of its rows."""


def step(variant: Variant, config: WordsMatrixConfig, sizes: Sizes, batch: int, repeats: int) -> tuple[float, int]:
    """CPU seconds of a training step, and the number of parameters."""
    import torch

    from taxocaps.nn.losses import margin_loss
    from taxocaps.nn.words_matrix import WordsMatrixNetwork

    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = WordsMatrixNetwork(config, sizes)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)
    known = torch.randint(2, sizes.vocabulary, (batch, DISTINCT_WORDS))
    words = known.gather(1, torch.randint(DISTINCT_WORDS, (batch, sizes.N * sizes.T))).view(batch, sizes.N, sizes.T)
    blocks = (torch.arange(sizes.T) // 7 + 1).expand_as(words)
    counts = torch.full((batch, sizes.N), int(blocks.max()))
    targets = (torch.rand(batch, sizes.labels) < 0.03).float()
    weights = torch.rand(batch, sizes.labels) if variant.label_weights == "taxonomy" else None

    def run() -> None:
        scores = network(words, blocks, counts)
        loss = margin_loss(scores if variant.head == "capsule" else scores.sigmoid(), targets, weights, p=0.01)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    seconds = cpu_seconds(run, repeats)
    return seconds, sum(parameter.numel() for parameter in network.parameters())


def routing(form: str) -> float:
    """CPU seconds of routing forwards and backwards, RCV1 shape, batch 32."""
    import torch

    from taxocaps.nn.capsules import route, squash

    torch.set_num_threads(1)
    u = torch.randn(32, 64, 100, 16, requires_grad=True)
    weight = torch.randn(103, 32, 64, 16, requires_grad=True)

    def stored() -> torch.Tensor:
        predictions = torch.einsum("lngm,bgrm->bgrln", weight, u)
        logits = torch.zeros(predictions.shape[:-1])
        for iteration in range(3):
            with torch.no_grad():
                coupling = logits.softmax(dim=-1)
            if iteration < 2:
                with torch.no_grad():
                    v = squash(torch.einsum("bgrl,bgrln->bln", coupling, predictions))
                    logits = logits + torch.einsum("bgrln,bln->bgrl", predictions, v)
        return squash(torch.einsum("bgrl,bgrln->bln", coupling, predictions))

    forms = {"factored": lambda: route(u, weight, 3), "stored": stored}
    return cpu_seconds(lambda: forms[form]().sum().backward(), 2)


def _row(name: str, cost: Cost) -> tuple[str, ...]:
    seconds, parameters = cost.result
    return name, f"{seconds:.2f} s", f"{cost.peak_megabytes:,.0f} MB", f"{parameters / 1e6:.1f} M"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eurlex", action="store_true", help="the EUR-Lex shape instead of all variants")
    parser.add_argument("--only", help="one variant")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    options = parser.parse_args()
    header = ("", "CPU time", "peak memory", "parameters")
    if options.eurlex:
        best = BY_NAME["he-agcrcnn"]
        networks = {
            name: model_config(best.name, "paper-eurlex").network.replace(**changes)
            for name, changes in EURLEX_NETWORKS.items()
        }
        rows = [_row(name, in_own_process(step, best, network, EURLEX, 8, 1)) for name, network in networks.items()]
        table = Table("One training step, EUR-Lex shape, batch 8, one thread", header, rows)
        publish([table], "step-eurlex", write=options.write)
        return
    chosen = [BY_NAME[options.only.lower()]] if options.only else VARIANTS
    rows = [
        _row(variant.name, in_own_process(step, variant, model_config(variant.name, PRESET).network, RCV1, 32, 3))
        for variant in chosen
    ]
    steps = Table("One training step, RCV1 shape, batch 32, one thread", header, rows)
    costs = {form: in_own_process(routing, form) for form in ("factored", "stored")}
    rows = [(form, f"{cost.result:.2f} s", f"{cost.peak_megabytes:,.0f} MB") for form, cost in costs.items()]
    alone = Table("Routing alone, forwards and backwards", ("form", "CPU time", "peak memory"), rows)
    publish([steps, alone], "step", write=options.write)


if __name__ == "__main__":
    main()
