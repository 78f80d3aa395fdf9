"""Which members of a joined model there is time for: a rule of thumb, so that the same time gives the same members."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from taxocaps.scorers.base import ModelConfig, Workload

__all__ = ["Plan", "expected_time", "folds_of", "plan_members"]

_CORES = 2
"""Cores that are taken to share the work, whatever the machine has."""
_FEW_FOLDS = 3
_JOINING, _JOINING_DOCUMENT = 5.0, 4e-3
"""Seconds of one core for names, choice and trees: at least, and for each document."""
_MINUTES = 120
"""From so many seconds on, times are shown in minutes."""


@dataclass(frozen=True)
class Plan:
    """What takes part, and about how long it takes on two cores.

    Attributes:
        kept: The names of the members that take part.
        late: The names of those for which there is no time.
        seconds: How long fitting and joining those that take part takes.
        wanted: How long it would take with all of them.
    """

    kept: tuple[str, ...]
    late: tuple[str, ...]
    seconds: float
    wanted: float

    def __str__(self) -> str:
        """One line for a person; a second one, if some are late, names the option to type."""
        lines = [f"joining {', '.join(self.kept)}: about {_shown(self.seconds)} on two cores"]
        if self.late:
            lines.append(f"no time for {' and '.join(self.late)}: --time {_shown(self.wanted)} would do")
        return "\n".join(lines)


def plan_members(members: Mapping[str, ModelConfig], workload: Workload, folds: int, time: float) -> Plan:
    """Take members in their order as long as there is time; the first one always takes part.

    Args:
        members: Their options, by name.
        workload: What they learn from.
        folds: The number of folds.
        time: Seconds on two cores.
    """
    costs = {name: _cost(config, workload, folds) for name, config in members.items()}
    kept: list[str] = []
    joining = (_JOINING + _JOINING_DOCUMENT * workload.documents) / _CORES
    taken = joining
    for name, cost in costs.items():
        if not kept or taken + cost <= time:
            kept.append(name)
            taken += cost
    late = tuple(name for name in costs if name not in kept)
    return Plan(tuple(kept), late, taken, joining + sum(costs.values()))


def expected_time(config: ModelConfig, workload: Workload, folds: int) -> str | None:
    """About how long it takes to fit a model that is not joined, for people; None where nobody knows.

    Args:
        config: Its options.
        workload: What it learns from.
        folds: The number of folds that it is fitted without, one after the other, beside the fit to all documents.
    """
    seconds = _cost(config, workload, folds)
    return f"training takes about {_shown(seconds)} on two cores" if seconds else None


def folds_of(member: ModelConfig, folds: int) -> int:
    """The number of folds of a member: few, if each costs as much as a fit to all documents."""
    return folds if member.fold_cost < 1 else min(folds, _FEW_FOLDS)


def _cost(member: ModelConfig, workload: Workload, folds: int) -> float:
    fits = 1 + member.fold_cost * folds_of(member, folds)
    return member.seconds(workload) * fits / _CORES


def _shown(seconds: float) -> str:
    """A time as `--time` reads it."""
    return f"{math.ceil(seconds / 60)}m" if seconds > _MINUTES else f"{math.ceil(seconds)}s"
