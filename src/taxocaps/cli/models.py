"""`taxocaps models`: every model by name, with what sets it apart, and which to use for what."""

import typer

from taxocaps.cli.console import print_json
from taxocaps.cli.options import AsJson

__all__ = ["models"]

_FAMILIES = {
    "joined": "Joined models: several ways to read a document at once; the best labels, in minutes",
    "linear": "Linear models: a bag of words; seconds for some thousand documents",
    "graph": "Networks over graphs of words: those of the paper and relatives; minutes to hours",
    "sequence": "Networks over sequences of words: to compare with, or as members; minutes to hours",
    "other": "Models of other packages",
}


def models(as_json: AsJson = False) -> None:
    """List the models and what each is for; give a name to `taxocaps train --model`."""
    from taxocaps.catalogue import DEFAULT_MODEL
    from taxocaps.catalogue.models import all_models

    rows = all_models()
    if as_json:
        print_json(rows)
        return
    names = {row.name: f"{row.name} (default)" if row.name == DEFAULT_MODEL else row.name for row in rows}
    widths = [max(map(len, names.values())), max(len(row.use) for row in rows)]
    for family, title in _FAMILIES.items():
        members = [row for row in rows if row.family == family]
        if members:
            typer.secho(f"\n{title}", bold=True)
        for row in members:  # a line each, however narrow the screen
            columns = map(str.ljust, (names[row.name], row.use), widths)
            typer.echo("  ".join(["", *columns, f"{row.summary} ({row.citation})"]))
    typer.echo("\nSeveral can be joined: --model SVM+XML-CNN. More about each: docs/models.md")
