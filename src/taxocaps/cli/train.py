"""`taxocaps train`: labelled documents and a taxonomy in, a model out."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxocaps.cli.console import console, print_json, resumable, shown_progress, tell_unless
from taxocaps.cli.options import (
    CORPUS_OPTIONS,
    MODEL_OPTIONS,
    AsJson,
    Quiet,
    TrustCode,
    check_model,
    existing,
    with_config,
)

if TYPE_CHECKING:
    from taxocaps.workflows.config import RunConfig
    from taxocaps.workflows.train import TrainReport

__all__ = ["train"]


@with_config(
    *CORPUS_OPTIONS, "language", "vectors", "unknown_labels", "path_separator", "ancestors", *MODEL_OPTIONS, of="run"
)
def train(
    config: "RunConfig",
    documents: Annotated[
        Path,
        typer.Argument(metavar="FILE", callback=existing, help="Labelled documents, in any format, or a store."),
    ],
    taxonomy: Annotated[
        Path | None,
        typer.Argument(
            callback=existing,
            help="The label taxonomy: CSV, TSV, JSON, YAML, SKOS ... Default: a flat list of the labels.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder of the model to make. Default: FILE-model, without the suffix."),
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(
            callback=existing,
            help="Validation documents, for early stopping and thresholds; joined models learn from them, too. "
            "Default: some training documents, or all, each out of fold.",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(callback=existing, help="Test documents, for the final metrics. Default: as --split-by says."),
    ] = None,
    split_by: Annotated[
        str,
        typer.Option(
            metavar="FIELD",
            help="auto: by the field 'split' or, if there is none, one document in ten is for the test; a field with "
            "dates or numbers: the latest are; none: all documents are learned from.",
        ),
    ] = "auto",
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="MODEL",
            callback=check_model,
            help="Start from the weights of this model; labels may be new.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a model or an interrupted run.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep checkpoints and TensorBoard's files.")] = False,
    trust_code: TrustCode = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a model from a file of labelled documents.

    Without --model, linear models and the names of labels are joined, each training document being scored by models
    that did not see it. Networks train until the micro-F1 of the validation documents stops improving. Ctrl-C loses
    nothing: --resume continues from the last fold or epoch.
    """
    from taxocaps.workflows.train import TrainFiles
    from taxocaps.workflows.train import train as run

    if resume and overwrite:
        raise typer.BadParameter("--resume continues what --overwrite would delete; give one of them")
    silent, out = quiet or as_json, out or _folder_for(documents)
    instead = " in place of --overwrite" if overwrite else ""
    hint = f"; the same command with --resume{instead} continues from the last fold or epoch in {out}"
    with resumable(lambda: hint), shown_progress(silent) as progress:
        report = run(
            TrainFiles(documents, taxonomy, dev, test, start, split_by),
            out,
            config,
            existing="resume" if resume else "overwrite" if overwrite else "refuse",
            keep=keep,
            trust_code=trust_code,
            progress=progress,
            tell=tell_unless(silent),
        )
    if report is None:  # another process speaks
        return
    if as_json:
        print_json(report)
    elif not quiet:
        _show(report)


def _folder_for(documents: Path) -> Path:
    """The folder of a model that nobody has named: beside other files of this place, named like the documents."""
    from taxocaps.files import format_stem

    name = "documents" if str(documents) == "-" else documents.name if documents.is_dir() else format_stem(documents)
    return Path(f"{name or 'documents'}-model")


def _show(report: "TrainReport") -> None:
    from rich.table import Table

    from taxocaps.report.tables import quality_table, standings_table, validated_on

    card, table = report.card, Table(box=None, show_header=False)
    table.add_row("model", f"{card.model}, preset {card.preset}, seed {card.seed}")
    table.add_row("documents", ", ".join(f"{count:,} {name}" for name, count in card.documents.items()))
    table.add_row("labels", f"{card.labels:,}")
    table.add_row("weights", f"{card.parameters:,}")
    if card.epochs:  # linear models have none
        table.add_row("epochs", f"{card.epochs}, the best is {card.best_epoch}")
    table.add_row("time", f"{report.seconds:.0f} s")
    if report.unknown:
        table.add_row("labels outside the taxonomy", f"{len(report.unknown):,}, such as {next(iter(report.unknown))}")
    table.add_row("written to", report.out)
    console().print(table)
    if card.standings:
        console().print()
        console().print(standings_table(card))
    measured = report.test or report.validation
    where = "test documents" if report.test else validated_on(card)
    console().print(f"\nOn the {where} ({measured.documents:,}):")
    console().print(quality_table(measured))
    _show_next(report.out)


def _show_next(out: str) -> None:
    folder = shlex.quote(out)
    console().print(f"\nMore of this, label by label: {Path(out) / 'report.html'}")
    console().print("Next:")
    for command in (
        f'predict {folder} --text "..."',
        f'explain {folder} --text "..." --out why.html',
        f"serve {folder}",
    ):
        console().print(f"  taxocaps {command}", soft_wrap=True)
