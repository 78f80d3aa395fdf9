"""`taxocaps data`: write a known data set as a corpus with its taxonomy."""

from pathlib import Path
from typing import Annotated

import typer

from taxocaps.cli.console import console, print_json, shown_progress
from taxocaps.cli.options import AsJson, Quiet

__all__ = ["app"]

app = typer.Typer(help="Write a known data set as corpus files with its taxonomy.", no_args_is_help=True)


@app.callback()
def _data() -> None:
    pass


@app.command("pydocs")
def pydocs(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write train, dev and test documents to.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Docstrings of Python and of the installed libraries, labelled with their place in the module tree.

    Nothing is downloaded: the texts are read from the source files on this machine.
    """
    from taxocaps.workflows.data import write_dataset

    with shown_progress(quiet or as_json) as progress:
        report = write_dataset("pydocs", out, progress=progress)
    if as_json:
        print_json(report)
    elif not quiet:
        from rich.table import Table

        table = Table(box=None, show_header=False)
        for name, count in report.documents.items():
            table.add_row(f"{name} documents", f"{count:,}")
        table.add_row("labels", f"{report.labels:,} in {report.levels} levels")
        table.add_row("written to", report.out)
        console().print(table)
        console().print(report.description, style="dim")
