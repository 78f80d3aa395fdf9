"""How one training step of HE-AGCRCNN grows with labels, rows and documents a batch: CPU seconds and peak memory.

    python benchmarks/growth.py                                # the preset `default`
    python benchmarks/growth.py --preset paper-rcv1            # another preset
    python benchmarks/growth.py --compress 128 --sharing label # other options of the capsules
    python benchmarks/growth.py --only labels batch            # some of the tables

The step is that of `step.py`: forward, weighted margin loss, backward, fused Adam; one thread, all rows filled, each
case in a process of its own. Beside the peak stands what `WordsMatrixNetwork.estimate` says before anything is made; a
case whose estimate is above 14 GB is not run.
"""

import argparse
import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from measure import in_own_process
from step import BY_NAME, step
from tables import Rows, Table, publish
from taxocaps.catalogue.presets import PRESETS, model_config
from taxocaps.nn.network import Sizes
from taxocaps.nn.words_matrix import WordsMatrixNetwork
from taxocaps.scorers.network_config import NetworkModelConfig

MODEL = "HE-AGCRCNN"
VOCABULARY = 50_000
LABELS = 100
"""Where rows or batch grow."""
AXES = {"labels": (100, 1_000, 4_000, 16_000), "rows": (25, 50, 100, 200), "batch": (8, 16, 32, 64)}
AT_MOST = 14 * 2**30
HEADER = ("CPU time", "a doubling", "each more", "peak memory", "a doubling", "each more", "estimate", "of the peak")
NOTE = (
    "A doubling: the factor of twice as many, over the line above. Each more: what one more adds, over the line above; "
    "the same in all lines if the cost is a constant and a linear part."
)


@dataclass(frozen=True)
class Case:
    """The sizes of a step."""

    labels: int
    rows: int
    batch: int


class Point(NamedTuple):
    """A case that was measured, at one point of an axis."""

    size: int
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Growth:
    """Measures cases of one configuration, each of them once."""

    config: NetworkModelConfig
    repeats: int
    _known: dict[Case, tuple[float, float]] = field(default_factory=dict)

    def table(self, axis: str) -> Table:
        """The cases along an axis, the other sizes being the preset's."""
        base = Case(LABELS, self.config.graph.N, self.config.training.batch_size)
        rows: Rows = []
        before = None
        for size in AXES[axis]:
            case = replace(base, **{axis: size})
            estimate = WordsMatrixNetwork.estimate(self.config.network, self._sizes(case), case.batch).memory
            if estimate > AT_MOST:
                rows.append((f"{size:,}", "too large", *[""] * 5, f"{estimate / 2**20:,.0f} MB", ""))
                continue
            point = Point(size, *self._measure(case))
            rows.append((f"{size:,}", *_cells(point, before, estimate / 2**20)))
            before = point
        others = ", ".join(f"{name} {count:,}" for name, count in vars(base).items() if name != axis)
        return Table(f"One training step against {axis} ({others})", (axis, *HEADER), rows, NOTE)

    def _measure(self, case: Case) -> tuple[float, float]:
        """CPU seconds and the peak in megabytes."""
        if case not in self._known:
            arguments = (BY_NAME[MODEL.lower()], self.config.network, self._sizes(case), case.batch, self.repeats)
            cost = in_own_process(step, *arguments)
            self._known[case] = cost.result[0], cost.peak_megabytes
        return self._known[case]

    def _sizes(self, case: Case) -> Sizes:
        shape = {"N": case.rows, "T": self.config.graph.T}
        return Sizes(VOCABULARY, self.config.vectors.dimension, case.labels, **shape)


def _cells(point: Point, before: Point | None, estimate: float) -> tuple[str, ...]:
    time, memory = ["", ""], ["", ""]
    if before:
        more, doublings = point.size - before.size, math.log2(point.size / before.size)
        time = [
            f"{(point.seconds / before.seconds) ** (1 / doublings):.2f}x",
            f"{(point.seconds - before.seconds) / more * 1e3:.2f} ms",
        ]
        memory = [
            f"{(point.megabytes / before.megabytes) ** (1 / doublings):.2f}x",
            f"{(point.megabytes - before.megabytes) / more:.2f} MB",
        ]
    seconds, megabytes = f"{point.seconds:.2f} s", f"{point.megabytes:,.0f} MB"
    return seconds, *time, megabytes, *memory, f"{estimate:,.0f} MB", f"{estimate / point.megabytes:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="default", choices=list(PRESETS), help="the preset (default: default)")
    parser.add_argument("--compress", type=int, help="network.compress")
    parser.add_argument("--sharing", choices=("none", "channel", "label"), help="network.sharing")
    parser.add_argument("--only", nargs="*", choices=list(AXES), help="only these tables")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--repeats", type=int, default=5, help="steps of a case, of which the best counts (default: 5)")
    options = parser.parse_args()
    if options.repeats < 2:
        parser.error("--repeats must be at least 2: the state of Adam is made at the end of the first step")
    changes: dict[str, Any] = {
        name: value for name in ("compress", "sharing") if (value := getattr(options, name)) is not None
    }
    growth = Growth(model_config(MODEL, options.preset, {"network": changes}), options.repeats)
    settings = "".join(f", {name}={value}" for name, value in changes.items())
    print(f"# {MODEL}, preset {options.preset}{settings}\n")
    publish([growth.table(axis) for axis in options.only or AXES], "growth", write=options.write)


if __name__ == "__main__":
    main()
