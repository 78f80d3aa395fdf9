"""Learn label vectors from a taxonomy, and see how much of the taxonomy they remember."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import Config
from taxocaps.errors import ConfigError, FileError
from taxocaps.files import atomic_path, refuse_same_file
from taxocaps.progress import Progress, silent
from taxocaps.registry import import_extra
from taxocaps.taxonomy.embedding import THRESHOLDS, LabelVectorsConfig, Reconstruction, reconstruct, train_label_vectors
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.walks import WalkConfig, WalkKind

__all__ = ["EmbedConfig", "EmbedReport", "ReconstructReport", "WalkResult", "embed_taxonomy", "reconstruct_taxonomy"]

KINDS: tuple[WalkKind, ...] = ("meta-path", "steps", "plain")

_PLOTS = (".png", ".svg", ".pdf")


class EmbedConfig(Config):
    """How label vectors are made."""

    walks: WalkConfig = WalkConfig()
    label_vectors: LabelVectorsConfig = LabelVectorsConfig()


@dataclass(frozen=True)
class EmbedReport:
    """What was written, and where."""

    out: str
    labels: int
    dimension: int


@dataclass(frozen=True)
class WalkResult:
    """How well the vectors of one kind of walk give the taxonomy back: means over the seeds, and spreads of the best.

    Attributes:
        kind: The kind of walk.
        micro: Micro-F1 at each threshold.
        macro: Macro-F1 at each threshold.
        best_micro: The highest micro-F1, and the threshold it is reached at.
        best_macro: The highest macro-F1, and the threshold it is reached at.
        micro_deviation: Standard deviation, over the seeds, of micro-F1 at that threshold.
        macro_deviation: The same for macro-F1.
    """

    kind: WalkKind
    micro: tuple[float, ...]
    macro: tuple[float, ...]
    best_micro: tuple[float, float]
    best_macro: tuple[float, float]
    micro_deviation: float
    macro_deviation: float


@dataclass(frozen=True)
class ReconstructReport:
    """The paper's Figure 5 for one taxonomy: F1 over thresholds, for every kind of walk."""

    labels: int
    edges: int
    seeds: int
    thresholds: tuple[float, ...]
    results: tuple[WalkResult, ...]
    plot: str | None


def embed_taxonomy(
    file: Path,
    out: Path,
    config: EmbedConfig | None = None,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> EmbedReport:
    """Learn label vectors and write them as `.npz` with `words` (the labels) and `vectors`, or as `.tsv`."""
    if out.suffix not in (".npz", ".tsv"):
        raise ConfigError(f"{out}: label vectors are written as .npz or .tsv; got {out.suffix!r}")
    refuse_same_file(file, out)
    taxonomy = read_taxonomy(file)
    vectors = _train(taxonomy, config or EmbedConfig(), seed, "learning label vectors", progress)
    with atomic_path(out) as part:
        if out.suffix == ".npz":
            with part.open("wb") as binary:
                np.savez(binary, words=np.array(taxonomy.names), vectors=vectors)
        else:
            rows = zip(taxonomy.names, vectors.tolist(), strict=True)
            lines = ("\t".join([name, *(f"{value:.6g}" for value in vector)]) for name, vector in rows)
            part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return EmbedReport(str(out), *vectors.shape)


def reconstruct_taxonomy(
    file: Path,
    config: EmbedConfig | None = None,
    *,
    kinds: Sequence[WalkKind] = KINDS,
    seeds: int = 5,
    plot: Path | None = None,
    progress: Progress = silent,
) -> ReconstructReport:
    """Learn vectors from each kind of walk, with several seeds, and read the edges of the taxonomy back from them."""
    if plot is not None:
        _check_plot(plot)
    taxonomy = read_taxonomy(file)
    config, results = config or EmbedConfig(), []
    for kind in kinds:
        chosen = config.replace(walks=config.walks.replace(kind=kind))
        found = []
        for seed in range(seeds):
            stage = f"{kind} walks, seed {seed + 1} of {seeds}"
            found.append(reconstruct(taxonomy, _train(taxonomy, chosen, seed, stage, progress)))
        results.append(_result(kind, found))
    if plot is not None:
        _plot(results, plot, title=f"Edges of {file.name} read back")
    numbers = taxonomy.statistics()
    return ReconstructReport(
        numbers.labels, numbers.edges, seeds, THRESHOLDS, tuple(results), str(plot) if plot is not None else None
    )


def _train(taxonomy: Taxonomy, config: EmbedConfig, seed: int, stage: str, progress: Progress) -> NDArray[np.float32]:
    return train_label_vectors(
        taxonomy,
        config.walks,
        config.label_vectors,
        seed=seed,
        threads=os.cpu_count() or 1,
        progress=lambda done, total: progress(stage, done, total),
    )


def _result(kind: WalkKind, found: Sequence[Reconstruction]) -> WalkResult:
    micro = np.array([one.micro for one in found])
    macro = np.array([one.macro for one in found])
    at_micro, at_macro = int(micro.mean(axis=0).argmax()), int(macro.mean(axis=0).argmax())
    return WalkResult(
        kind=kind,
        micro=tuple(micro.mean(axis=0).tolist()),
        macro=tuple(macro.mean(axis=0).tolist()),
        best_micro=(float(micro.mean(axis=0)[at_micro]), THRESHOLDS[at_micro]),
        best_macro=(float(macro.mean(axis=0)[at_macro]), THRESHOLDS[at_macro]),
        micro_deviation=float(micro[:, at_micro].std()),
        macro_deviation=float(macro[:, at_macro].std()),
    )


def _check_plot(path: Path) -> None:
    """Say at once, not at the end of a long run, that a plot cannot be drawn."""
    if path.suffix.lower() not in _PLOTS:
        raise FileError(f"{path}: a plot is written as {', '.join(_PLOTS)}; got {path.suffix!r}")
    import_extra("matplotlib", "drawing a plot")


def _plot(results: Sequence[WalkResult], path: Path, title: str) -> None:
    """Draw F1 over thresholds."""
    figure = import_extra("matplotlib.figure", "drawing a plot").Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for name in ("micro", "macro"):
        for result in results:
            axes.plot(THRESHOLDS, getattr(result, name), label=f"{result.kind} {name}")
    axes.set(xlabel="cosine threshold", ylabel="F1", title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    with atomic_path(path) as part:
        figure.savefig(part, dpi=120, format=path.suffix.lower()[1:])
