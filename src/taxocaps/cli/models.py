"""`taxocaps models`: every model by name, with what sets it apart."""

import typer

from taxocaps.cli.console import print_json
from taxocaps.cli.options import AsJson

__all__ = ["models"]


def models(as_json: AsJson = False) -> None:
    """List the models; give a name to `taxocaps train --model`."""
    from taxocaps.catalogue import DEFAULT_MODEL
    from taxocaps.catalogue.models import all_models

    rows = all_models()
    if as_json:
        print_json(rows)
        return
    lines = [("model", "reads a document as", "published", "what it is")]
    lines += [
        (f"{row.name} (default)" if row.name == DEFAULT_MODEL else row.name, row.input, row.citation, row.summary)
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)][:-1]
    for *columns, last in lines:  # a line each, however narrow the screen
        typer.echo("  ".join([*map(str.ljust, columns, widths), last]))
