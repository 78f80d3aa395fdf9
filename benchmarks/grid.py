"""The grid of experiments, the runs it asks for, and the results there are."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from taxocaps.catalogue.models import MODELS, find_model
from taxocaps.config import fingerprint

__all__ = ["ALONE", "RESULTS", "STATISTICS", "Experiment", "Run", "estimate", "read_grid", "read_results"]

GRID = Path(__file__).parent / "grid.toml"
RESULTS = Path(__file__).parent / "results" / "runs.jsonl"
STATISTICS = Path(__file__).parent / "results" / "data.jsonl"


@dataclass(frozen=True)
class Run:
    """One model trained once.

    Attributes:
        data: The folder of its documents, below build/.
        model: The name of the model.
        preset: The name of the preset.
        seed: The random seed.
        settings: Options apart from the preset, such as `training.epochs=3`.
        tests: The files that the model is measured on, besides its dev documents.
    """

    data: str
    model: str
    preset: str
    seed: int
    settings: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The model, and its options apart from the preset."""
        return " ".join([self.model, *self.settings])

    @property
    def key(self) -> str:
        """The same for the same run, wherever it is asked for; may be the name of a folder."""
        settings = f"-{fingerprint(list(self.settings))[:8]}" if self.settings else ""
        model = self.model.replace("(", "-").replace(")", "")
        return f"{self.data}-{model}-{self.preset}-{self.seed}{settings}"


@dataclass(frozen=True)
class Experiment:
    """Runs that belong together.

    Attributes:
        name: Its name in the grid.
        about: What the runs show.
        runs: Each model with each seed.
        tables: The tables of the paper that need them.
        note: What one must know to read the results.
    """

    name: str
    about: str
    runs: tuple[Run, ...]
    tables: tuple[int, ...] = ()
    note: str = ""


def read_grid(path: Path = GRID) -> dict[str, Experiment]:
    """All experiments by name."""
    grid = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: Experiment(name, row["about"], tuple(_runs(row)), tuple(row.get("tables", ())), row.get("note", ""))
        for name, row in grid.items()
    }


def _runs(row: Mapping[str, Any]) -> Iterator[Run]:
    asked = row["models"]
    published = [model.name for model in MODELS if model.family != "joined"]
    models = published if asked == ["*"] else [find_model(name).name for name in asked]
    folders = [row["data"]] if isinstance(row["data"], str) else row["data"]
    settings, options, tests = row.get("settings", []), row.get("options", {}), tuple(row.get("tests", ["test"]))
    for folder, seed, model, variant in product(folders, row["seeds"], models, row.get("variants", [[]])):
        alone = ALONE if row.get("alone") and find_model(model).is_variant else ()
        chosen = (*settings, *options.get(model, []), *variant, *alone)
        yield Run(folder, model, row.get("preset", "default"), seed, chosen, tests)


ALONE = ("prior.kind=none",)
"""The settings of a network of the paper without a linear prior."""


def read_results(path: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """The newest result of each run, by its key."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {result["key"]: result for result in map(json.loads, lines)}


def estimate(runs: Iterable[Run], known: Mapping[str, Mapping[str, Any]]) -> tuple[float, int]:
    """CPU seconds of some runs, and the number of those of which nothing is known.

    A run that is missing is taken to cost as much as the most expensive of the same model on the same data.
    """
    costs: dict[tuple[str, str], float] = {}
    for result in known.values():
        key = result["data"], result["model"]
        costs[key] = max(costs.get(key, 0.0), result["cpu_seconds"])
    asked = dict.fromkeys(runs)
    found = [known[run.key]["cpu_seconds"] if run.key in known else costs.get((run.data, run.model)) for run in asked]
    return sum(cost for cost in found if cost is not None), found.count(None)
