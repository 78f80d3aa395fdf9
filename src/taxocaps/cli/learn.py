"""`taxocaps learn`: corrected documents in, a better model out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxocaps.cli.console import console, print_json, resumable, say, shown_progress, tell_unless
from taxocaps.cli.options import CORPUS_OPTIONS, MODEL_FOLDER, AsJson, Quiet, TrustCode, existing, with_config

if TYPE_CHECKING:
    from taxocaps.workflows.config import RunConfig
    from taxocaps.workflows.learn import LearnReport

__all__ = ["learn"]


@with_config(*CORPUS_OPTIONS, "unknown_labels", of="run")
def learn(
    config: "RunConfig",
    start: Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_FOLDER.help, callback=MODEL_FOLDER.callback)],
    feedback: Annotated[
        Path | None,
        typer.Option(
            "--feedback",
            callback=existing,
            help="Corrected documents with id, text and labels, in any format, or a store of corrections. Default: the "
            "store beside the model.",
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            callback=existing, help="The training documents, if the model's own have moved or changed. Default: those."
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            callback=existing,
            help="Documents on which both models are compared. Default: the test documents of the model, if it had "
            "some; else corrections of documents that it does not know, out of fold.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for the new model. Default: it replaces the old one.")
    ] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Replace the model even by a worse one.")] = False,
    back: Annotated[bool, typer.Option("--back", help="Go back to the model before the last one.")] = False,
    trust_code: TrustCode = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model again with corrected documents.

    They take the place of the documents with the same id or text that the model was trained on, or are added to them.
    Both models are measured on the same documents, from which neither has learned. The new one replaces the old one,
    which stays as MODEL.before, unless it is worse (exit code 1). Ctrl-C loses nothing: the same command continues.
    """
    from taxocaps.workflows.learn import LearnFiles, go_back
    from taxocaps.workflows.learn import learn as run

    if back:
        _refuse_with_back(feedback, train, test, out, anyway, as_json)
        go_back(start)
        if not quiet:
            say(f"{start}: the earlier model is back; the other one is {start}.before now")
        return
    silent = quiet or as_json
    hint = "; the model is as it was, and the same command continues"
    with resumable(lambda: hint), shown_progress(silent) as progress:
        report = run(
            start,
            LearnFiles(feedback, train, test, out),
            config,
            anyway=anyway,
            trust_code=trust_code,
            progress=progress,
            tell=tell_unless(silent),
        )
    if as_json:
        print_json(report)
    elif not quiet:
        _show(report)
    if not report.is_replaced:
        raise typer.Exit(1)


def _refuse_with_back(*given: Path | bool | None) -> None:
    if any(given):
        raise typer.BadParameter("--back learns nothing; leave out the other options")


def _show(report: "LearnReport") -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False)
    known = report.corrections - report.added
    table.add_row("corrections", f"{report.corrections:,}: {report.added:,} new documents, {known:,} known ones")
    kept = {"kept": "kept, as few documents are new; weights were fitted again", "anew": "fitted anew"}[report.way]
    table.add_row("thresholds", kept)
    table.add_row("time", f"{report.seconds:.0f} s")
    console().print(table)
    found = report.comparison
    if found is not None:
        console().print(f"\nOn the same {found.documents:,} {found.on}:")
        measured = Table(box=None)
        for heading in ("", "micro-F1", "macro-F1"):
            measured.add_column(heading, justify="right" if heading else "left")
        measured.add_row("before", f"{found.before.micro_f1:.3f}", f"{found.before.macro_f1:.3f}")
        measured.add_row("after", f"{found.after.micro_f1:.3f}", f"{found.after.macro_f1:.3f}")
        console().print(measured)
        console().print(f"standard error of the difference in micro-F1: {found.standard_error:.3f}")
    if report.is_replaced:
        console().print(f"written to {report.out}")
    else:
        console().print(f"{report.out} stays as it is, for the new model is worse; --anyway replaces it all the same")
