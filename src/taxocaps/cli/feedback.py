"""`taxocaps feedback`: corrections of reviewers, out of a store and into it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxocaps.cli.console import print_json, say, tell_unless
from taxocaps.cli.options import CORPUS_OPTIONS, AsJson, Quiet, existing, with_config

if TYPE_CHECKING:
    from taxocaps.workflows.config import CorpusConfig

__all__ = ["app"]

app = typer.Typer(help="Write corrections of reviewers as documents, and read them.", no_args_is_help=True)


@app.command("export")
def export(
    source: Annotated[
        Path, typer.Argument(metavar="MODEL|DB", callback=existing, help="The folder of a model, or its .sqlite file.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .jsonl, .csv, .tsv or .parquet file.")
    ],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write reviewed documents with their final labels, as `train` reads them.

    A document is written when a reviewer was done with it. Its labels are those that the model suggested and nobody
    rejected, and those that were accepted or added; what was undone does not count.
    """
    from taxocaps.workflows.feedback import export_feedback

    count = export_feedback(source, output)
    if as_json:
        print_json({"documents": count})
    elif not quiet:
        say(f"{count:,} document{'s' if count != 1 else ''} written to {output}")


@app.command("import")
@with_config(*CORPUS_OPTIONS)
def import_(
    config: "CorpusConfig",
    target: Annotated[
        Path,
        typer.Argument(metavar="MODEL|DB", help="The folder of a model, or a .sqlite file, made if it is not there."),
    ],
    documents: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", callback=existing, help="Documents with labels, in any format, or a .sqlite file."
        ),
    ],
    reviewer: Annotated[str, typer.Option(metavar="NAME", help="Who labelled them.")] = "import",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Add documents that were labelled elsewhere, as reviewed; the same file again changes nothing."""
    from taxocaps.workflows.feedback import import_feedback

    count = import_feedback(target, documents, reviewer, config, tell=tell_unless(quiet or as_json))
    if as_json:
        print_json({"documents": count})
    elif not quiet:
        say(f"{count:,} document{'s' if count != 1 else ''} in {target}")
