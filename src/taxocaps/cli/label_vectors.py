"""`taxocaps taxonomy embed` and `reconstruct`: label vectors, and what they remember of the taxonomy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from taxocaps.cli.console import console, print_json, say, shown_progress
from taxocaps.cli.options import AsJson, Quiet

if TYPE_CHECKING:
    from taxocaps.workflows.label_vectors import EmbedConfig, ReconstructReport

__all__ = ["embed", "reconstruct"]

Kind = Literal["meta-path", "steps", "plain"]
File = Annotated[Path, typer.Argument(help="A taxonomy, in any format that `taxonomy show` reads.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set an option, such as walks.length=100 or label_vectors.window=3; may be repeated.",
    ),
]


def embed(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write: .npz (words, vectors) or .tsv.")],
    walks: Annotated[Kind | None, typer.Option(help="The kind of walk.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same vectors.")] = 0,
    settings: Set = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Learn a vector for every label from random walks on the taxonomy."""
    from taxocaps.workflows.label_vectors import embed_taxonomy

    with shown_progress(quiet or as_json) as progress:
        report = embed_taxonomy(file, out, _config(settings, walks), seed=seed, progress=progress)
    if as_json:
        print_json(report)
    elif not quiet:
        say(f"{report.labels:,} vectors of {report.dimension} numbers written to {report.out}")


def reconstruct(
    file: File,
    walks: Annotated[Kind | None, typer.Option(help="One kind of walk only. Default: all.")] = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How often each kind is learned anew.")] = 5,
    plot: Annotated[Path | None, typer.Option(help="Draw F1 over thresholds to this .png, .svg or .pdf file.")] = None,
    settings: Set = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Read the edges of a taxonomy back from its label vectors (the paper's Figure 5).

    Two labels count as joined when the cosine of their vectors exceeds a threshold. Shown is the best F1 over all
    thresholds, over all pairs (micro) and as the mean over labels (macro).
    """
    from taxocaps.workflows.label_vectors import KINDS, reconstruct_taxonomy

    with shown_progress(quiet or as_json) as progress:
        report = reconstruct_taxonomy(
            file, _config(settings), kinds=(walks,) if walks else KINDS, seeds=seeds, plot=plot, progress=progress
        )
    if as_json:
        print_json(report)
    elif not quiet:
        _show(report)


def _config(settings: list[str] | None, walks: Kind | None = None) -> "EmbedConfig":
    from taxocaps.workflows.config import resolve_sections
    from taxocaps.workflows.label_vectors import EmbedConfig

    return resolve_sections(EmbedConfig, overrides=settings or (), options={"walks.kind": walks} if walks else {})


def _show(report: "ReconstructReport") -> None:
    from rich.table import Table

    table = Table(box=None, title=f"Edges of {report.labels:,} labels read back", title_justify="left")
    table.add_column("walks")
    for column in ("micro-F1", "at", "macro-F1", "at"):
        table.add_column(column, justify="right")
    for result in report.results:
        table.add_row(
            result.kind,
            f"{result.best_micro[0]:.3f} ± {result.micro_deviation:.3f}",
            f"{result.best_micro[1]:.2f}",
            f"{result.best_macro[0]:.3f} ± {result.macro_deviation:.3f}",
            f"{result.best_macro[1]:.2f}",
        )
    console().print(table)
    say(f"mean and standard deviation over {report.seeds} seeds")
    if report.plot:
        say(f"drawn to {report.plot}")
