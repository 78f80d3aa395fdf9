"""The paper's Figure 5: how much of a taxonomy its label vectors remember, for each kind of walk.

    python benchmarks/figure5.py rcv1/taxonomy.tsv [--seeds 5]
    python benchmarks/figure5.py eurlex/taxonomy.tsv --seeds 2 --set walks.length=50

A taxonomy goes by the name of its folder. Each finished kind of walk adds a line to
benchmarks/results/reconstruction.jsonl, and is not run again. `python benchmarks/render.py` draws the curves.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from measure import in_own_process
from taxocaps.config import parse_override, resolve
from taxocaps.taxonomy.walks import WalkKind
from taxocaps.workflows.label_vectors import KINDS, EmbedConfig, reconstruct_taxonomy

RESULTS = Path(__file__).parent / "results" / "reconstruction.jsonl"


def read_reconstructions() -> dict[tuple[str, str], dict[str, Any]]:
    """The newest result for each taxonomy and kind of walk."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return {(result["taxonomy"], result["kind"]): result for result in map(json.loads, lines)}


def reconstruct(file: Path, kind: WalkKind, seeds: int, settings: list[str]) -> dict[str, Any]:
    """Learn label vectors from one kind of walk and read the taxonomy back from them."""
    config = resolve(EmbedConfig, *map(parse_override, settings))
    report = reconstruct_taxonomy(file, config, kinds=(kind,), seeds=seeds)
    found = dataclasses.asdict(report.results[0])
    return {"labels": report.labels, "edges": report.edges, "thresholds": report.thresholds, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    name = options.taxonomy.resolve().parent.name
    for kind in KINDS:
        asked = {"taxonomy": name, "kind": kind, "seeds": options.seeds, "settings": options.settings}
        if asked.items() <= read_reconstructions().get((name, kind), {}).items():
            continue
        cost = in_own_process(reconstruct, options.taxonomy, kind, options.seeds, options.settings)
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**asked, **cost.result, "cpu_seconds": cost.cpu_seconds}) + "\n")
        print(f"{name}, {kind}: micro {cost.result['best_micro'][0]:.3f}, macro {cost.result['best_macro'][0]:.3f}")


if __name__ == "__main__":
    main()
