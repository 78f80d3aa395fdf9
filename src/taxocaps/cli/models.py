"""`taxocaps models`: every model by name, with what sets it apart."""

from taxocaps.cli.console import console, print_json
from taxocaps.cli.options import AsJson

__all__ = ["models"]


def models(as_json: AsJson = False) -> None:
    """List the models; give a name to `taxocaps train --model`."""
    from rich.table import Table

    from taxocaps.workflows.models import list_models

    rows = list_models()
    if as_json:
        print_json(rows)
        return
    table = Table(box=None)
    for heading in ("model", "rows", "recurrence", "attention", "head", "label weights"):
        table.add_column(heading)
    for row in rows:
        table.add_row(row.name, row.row_order, row.recurrent, row.attention, row.head, row.label_weights)
    console().print(table)
