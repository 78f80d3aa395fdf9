"""Line plots (needs the extra `plot`)."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taxocaps.errors import FileError, MissingExtraError
from taxocaps.files import atomic_path

__all__ = ["Curve", "check_plot", "plot_curves"]

_FORMATS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Curve:
    """A line of a plot."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def check_plot(path: Path) -> None:
    """Say at once, not at the end of a long run, that a plot cannot be drawn."""
    if path.suffix.lower() not in _FORMATS:
        raise FileError(f"{path}: a plot is written as {', '.join(_FORMATS)}; got {path.suffix!r}")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plot", "drawing a plot")


def plot_curves(curves: Sequence[Curve], path: Path, *, x: str, y: str, title: str) -> None:
    """Draw curves into a PNG, SVG or PDF file, as its suffix says."""
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for curve in curves:
        axes.plot(curve.x, curve.y, label=curve.name)
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    with atomic_path(path) as part:
        figure.savefig(part, dpi=120, format=path.suffix.lower()[1:])
