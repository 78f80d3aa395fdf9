"""`taxocaps train`: labelled documents and a taxonomy in, a model out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxocaps.cli.console import console, print_json, shown_progress, tell
from taxocaps.cli.options import CORPUS_OPTIONS, MODEL_OPTIONS, AsJson, Quiet, with_config

if TYPE_CHECKING:
    from taxocaps.workflows.run_config import RunConfig
    from taxocaps.workflows.train import TrainReport

__all__ = ["train"]


@with_config(*CORPUS_OPTIONS, "language", "vectors", "unknown_labels", "ancestors", *MODEL_OPTIONS, of="run")
def train(
    config: "RunConfig",
    train: Annotated[Path, typer.Option("--train", help="Labelled documents: JSONL, CSV, TSV, Parquet, or a folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the model to make.")],
    taxonomy: Annotated[
        Path | None,
        typer.Option(help="The labels there are: TSV, JSON, YAML, SKOS ... Default: those of the documents."),
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(help="Documents that decide when to stop and where to cut. Default: some training documents."),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Documents that the finished model is measured on.")] = None,
    start: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help="Go on from this model, with new documents and labels."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a model or an interrupted run.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep checkpoints and TensorBoard's files.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a model.

    Words, word vectors and graphs are made from the training documents; the network learns from them until the labels
    of the validation documents get no better. Ctrl-C loses nothing: --resume goes on from the last epoch.
    """
    from taxocaps.workflows.train import TrainFiles
    from taxocaps.workflows.train import train as run

    if resume and overwrite:
        raise typer.BadParameter("--resume goes on with what --overwrite would throw away; give one of them")
    silent = quiet or as_json
    try:
        with shown_progress(silent) as progress:
            report = run(
                TrainFiles(train, taxonomy, dev, test, start),
                out,
                config,
                existing="resume" if resume else "overwrite" if overwrite else "refuse",
                keep=keep,
                progress=progress,
                tell=(lambda message: None) if silent else tell,
            )
    except KeyboardInterrupt:
        instead = " in place of --overwrite" if overwrite else ""
        tell(f"interrupted; the same command with --resume{instead} goes on from the last epoch in {out}")
        raise typer.Exit(130) from None
    if report is None:  # another process speaks
        return
    if as_json:
        print_json(report)
    elif not quiet:
        _show(report)


def _show(report: "TrainReport") -> None:
    from rich.table import Table

    from taxocaps.report.evaluation import evaluation_tables

    table = Table(box=None, show_header=False)
    table.add_row("model", f"{report.model}, preset {report.preset}, seed {report.seed}")
    table.add_row("documents", ", ".join(f"{count:,} {name}" for name, count in report.documents.items()))
    table.add_row("labels", f"{report.labels:,}")
    table.add_row("weights", f"{report.parameters:,}")
    if report.epochs:  # linear models have none
        table.add_row("epochs", f"{report.epochs}, the best is {report.best_epoch}")
    table.add_row("time", f"{report.seconds:.0f} s")
    if report.unknown:
        table.add_row("labels outside the taxonomy", f"{len(report.unknown):,}, such as {next(iter(report.unknown))}")
    table.add_row("written to", report.out)
    console().print(table)
    measured = report.test or report.validation
    console().print(f"\nOn the {'test' if report.test else 'validation'} documents ({measured.documents:,}):")
    for part in evaluation_tables(measured):
        console().print(part)
