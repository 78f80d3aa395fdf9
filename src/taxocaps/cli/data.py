"""`taxocaps data`: write a known data set as a corpus with its taxonomy."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from taxocaps.cli.console import console, print_json, shown_progress
from taxocaps.cli.options import AsJson, Quiet
from taxocaps.workflows.data import DATASETS, DataOption, DataReport, DataSource, write_dataset

__all__ = ["app"]

app = typer.Typer(help="Write a known data set as corpus files with its taxonomy.", no_args_is_help=True)

_Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to write train, dev and test documents to.")]
_AnyCounts = Annotated[
    bool,
    typer.Option("--any-counts", help="Take a changed or partial copy, too: do not compare with the official counts."),
]


@app.callback()
def _data() -> None:
    pass


def _command(name: str, entry: DataSource) -> Callable[..., None]:
    """The command for one line of the table of data sets."""

    def run(
        out: Path, quiet: bool, as_json: bool, source: Path | None = None, any_counts: bool = False, **options: Any
    ) -> None:
        with shown_progress(quiet or as_json) as progress:
            report = write_dataset(name, out, source=source, options=options, check=not any_counts, progress=progress)
        if as_json:
            print_json(report)
        elif not quiet:
            _show(report)

    parameters = _parameters(entry)
    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters.values()}
    return run


def _parameters(entry: DataSource) -> Mapping[str, inspect.Parameter]:
    """What the command takes; only a data set that is read from files has a source, whose counts can be checked."""
    source = Annotated[Path, typer.Option("--source", "-s", help=f"The folder, of any depth, with {entry.files}.")]
    wanted: dict[str, tuple[Any, Any]] = {"source": (source, ...)} if entry.files else {}
    wanted["out"] = (_Out, ...)
    wanted |= {name: (_annotation(name, option), option.default) for name, option in entry.options.items()}
    wanted |= {"any_counts": (_AnyCounts, False)} if entry.files else {}
    wanted |= {"quiet": (Quiet, False), "as_json": (AsJson, False)}
    return {
        name: inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=annotation,
            default=inspect.Parameter.empty if default is ... else default,
        )
        for name, (annotation, default) in wanted.items()
    }


def _annotation(name: str, option: DataOption) -> Any:
    kind: Any = Literal[option.choices] if option.choices else str
    parsing = {} if option.choices else _PARSING[option.kind]
    return Annotated[kind | None, typer.Option(f"--{name.replace('_', '-')}", help=option.help, **parsing)]


_PARSING: Mapping[str, Mapping[str, Any]] = {
    "path": {"parser": Path, "metavar": "PATH"},
    "names": {"parser": lambda text: text.split(","), "metavar": "NAME,NAME"},
}
"""What becomes of the text of an option."""


def _show(report: DataReport) -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False)
    for name, count in report.documents.items():
        table.add_row(f"{name} documents", f"{count:,}")
    table.add_row("labels", f"{report.labels:,} in {report.levels} levels")
    table.add_row("written to", report.out)
    console().print(table)
    console().print(report.description, style="dim")


for _name, _entry in DATASETS.items():
    if _name != "toy":  # for tests, and too small to learn from
        app.command(_name, help=_entry.help)(_command(_name, _entry))
