"""`taxocaps graph`: draw the graph-of-words of one document and print its words-matrix."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxocaps.cli.console import console, print_json, shown_progress
from taxocaps.cli.options import CORPUS_OPTIONS, AsJson, Quiet, with_config

if TYPE_CHECKING:
    from rich.text import Text

    from taxocaps.workflows.config import EncodeConfig
    from taxocaps.workflows.graph import GraphReport

__all__ = ["graph"]

_BLOCK_STYLES = ("on blue", "on dark_green", "on purple4", "on grey35", "on dark_cyan")


@with_config(*CORPUS_OPTIONS, "language", "model", "preset", of="graph")
def graph(
    config: "EncodeConfig",
    text_or_file: Annotated[
        str, typer.Argument(help="A text, a text file, - for standard input, or with --id a file of documents.")
    ],
    id: Annotated[str | None, typer.Option("--id", help="Take this document out of a file of documents.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Draw the graph to this HTML page.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows of the words-matrix are printed.")] = 20,
    words: Annotated[int, typer.Option(min=1, help="How many words are drawn, the most central ones.")] = 60,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show a document as a graph of words and as a words-matrix.

    It is read as by the network of the paper, or by another model that reads graphs (--model).
    Each row of the matrix belongs to a central word (underlined): the contexts in which it occurs, each a
    block of words in the order of the text, long blocks first.
    """
    from taxocaps.workflows.graph import inspect_document

    with shown_progress(quiet or as_json) as progress:
        report = inspect_document(text_or_file, config, id=id, out=out, most_words=words, progress=progress)
    if as_json:
        print_json(report)
    elif not quiet:
        _show(report, rows)


def _show(report: "GraphReport", rows: int) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Arranged words-matrix", title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    table.add_column("central word")
    table.add_column("closeness", justify="right")
    table.add_column("blocks")
    for number, (central, row) in enumerate(zip(report.central_words, report.matrix, strict=True), 1):
        if number <= rows:
            table.add_row(str(number), Text(row.central_word), f"{central.closeness:.4f}", _coloured(row))
    console().print(table)
    if len(report.matrix) > rows:
        console().print(f"... {len(report.matrix) - rows} more rows (--rows)", style="dim")
    console().print(f"{report.tokens:,} words kept, {report.words:,} distinct, {report.edges:,} edges")
    if report.page:
        console().print(f"drawn to {report.page}")


def _coloured(row: Any) -> "Text":
    """The blocks of a row, each on its own colour, the central word underlined; plain terminals see the bars."""
    from rich.text import Text

    line = Text()
    for number, block in enumerate(row.blocks):
        if number:
            line.append(" | ", style="dim")
        style = _BLOCK_STYLES[number % len(_BLOCK_STYLES)]
        for index, word in enumerate(block):
            line.append(" " if index else "", style=style)
            line.append(word, style=f"{style} bold underline" if word == row.central_word else style)
    return line
