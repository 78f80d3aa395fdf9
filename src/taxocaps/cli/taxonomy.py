"""`taxocaps taxonomy`: show, check, compare and convert label taxonomies."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from taxocaps.cli.console import console, print_json, say
from taxocaps.cli.options import AsJson, Quiet

if TYPE_CHECKING:
    from taxocaps.workflows.taxonomy import TaxonomyDifference, TaxonomyOptions, TaxonomyOutline, TreeLine

__all__ = ["app"]

app = typer.Typer(help="Show, check, compare and convert label taxonomies.", no_args_is_help=True)

Format = Literal["tsv", "csv", "hier", "json", "yaml", "skos"]
File = Annotated[
    Path, typer.Argument(help="A taxonomy: .tsv (parent<TAB>child), .csv, .hier, .json, .yaml, or SKOS (.ttl, .rdf).")
]
InputFormat = Annotated[Format | None, typer.Option("--format", help="The format, if the suffix does not tell it.")]
Encoding = Annotated[str, typer.Option("--encoding", metavar="NAME", help="The encoding of the file.")]
SkosLabel = Annotated[
    Literal["uri", "notation", "label"], typer.Option("--skos-label", help="What names the labels of a SKOS file.")
]
Language = Annotated[str, typer.Option("--language", metavar="CODE", help="The language of the names of labels.")]


@app.command("show")
def show(
    file: File,
    levels: Annotated[
        int | None, typer.Option(min=1, help="How many levels of the tree are shown. Default: all.")
    ] = None,
    format: InputFormat = None,
    encoding: Encoding = "utf-8",
    skos_label: SkosLabel = "uri",
    language: Language = "en",
    as_json: AsJson = False,
) -> None:
    """Print the tree of a taxonomy and its statistics."""
    from taxocaps.workflows.taxonomy import view_taxonomy

    view = view_taxonomy(file, _options(format, encoding, skos_label, language), levels=levels)
    if as_json:
        print_json(view)
    else:
        _show(view)


@app.command("check")
def check(
    file: File,
    format: InputFormat = None,
    encoding: Encoding = "utf-8",
    skos_label: SkosLabel = "uri",
    language: Language = "en",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Report every problem of a taxonomy file at once, each with its line; exit code 2 if there is any."""
    from taxocaps.workflows.taxonomy import check_taxonomy

    found = check_taxonomy(file, _options(format, encoding, skos_label, language))
    if as_json:
        print_json(found)
    elif not quiet:
        for problem in found.problems:
            where = f"{file}, line {problem.line}" if problem.line else str(file)
            say(f"{where}: {problem.message}")
        count = len(found.problems)
        verdict = {0: "no problems", 1: "1 problem"}.get(count, f"{count:,} problems")
        say(f"{file}: {found.labels:,} labels with the root, {found.edges:,} edges, {verdict}")
    if found.problems:
        raise typer.Exit(2)


@app.command("convert")
def convert(
    source: File,
    target: Annotated[Path, typer.Argument(help="The file to write; its suffix tells the format.")],
    format: InputFormat = None,
    to: Annotated[
        Literal["tsv", "csv", "hier", "json", "yaml", "skos", "label-studio", "label-studio-choices"] | None,
        typer.Option(
            help="The format to write, if the suffix does not tell it; label-studio is the labeling configuration of a "
            "project, as a tree or as a list of choices."
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    skos_label: SkosLabel = "uri",
    language: Language = "en",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a taxonomy in another format."""
    from taxocaps.workflows.taxonomy import convert_taxonomy

    written = convert_taxonomy(source, target, _options(format, encoding, skos_label, language), format=to)
    if as_json:
        print_json(written)
    elif not quiet:
        say(f"{written.labels:,} labels, {written.edges:,} edges written to {target}")


@app.command("diff")
def diff(
    old: File,
    new: Annotated[Path, typer.Argument(help="The taxonomy as it is now.")],
    format: InputFormat = None,
    encoding: Encoding = "utf-8",
    skos_label: SkosLabel = "uri",
    language: Language = "en",
    as_json: AsJson = False,
) -> None:
    """Tell what has changed from one taxonomy to another: labels added, removed, renamed, moved, merged or split.

    Labels are the same if their ids are; those whose ids are gone are looked for by their names.
    """
    from taxocaps.workflows.taxonomy import diff_taxonomies

    found = diff_taxonomies(old, new, _options(format, encoding, skos_label, language))
    if as_json:
        print_json(found)
    else:
        _show_difference(found)


def _show_difference(found: "TaxonomyDifference") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for heading in ("", "label", "now", "before", "after"):
        table.add_column(heading)
    for one in found.changes:
        cells = (one.kind, ", ".join(one.old), ", ".join(one.new), one.before, one.after)
        table.add_row(*map(Text, cells))
    if found.changes:
        console().print(table)
    counted = ", ".join(f"{count:,} {kind}" for kind, count in found.counts.items()) or "no changes"
    say(f"{found.labels[0]:,} labels before, {found.labels[1]:,} now: {counted}")


def _options(
    format: Format | None, encoding: str, skos_label: Literal["uri", "notation", "label"], language: str
) -> "TaxonomyOptions":
    from taxocaps.workflows.taxonomy import TaxonomyOptions

    return TaxonomyOptions(format, encoding, skos_label, language)


def _show(outline: "TaxonomyOutline") -> None:
    from rich.table import Table

    for line in outline.tree:
        _show_line(line)
    numbers = outline.statistics
    table = Table(box=None, show_header=False, title="\nStatistics", title_justify="left")
    table.add_row("labels", f"{numbers.labels:,}")
    table.add_row("edges", f"{numbers.edges:,}")
    table.add_row("labels by level", ", ".join(f"{count:,}" for count in numbers.labels_per_level))
    table.add_row("leaves", f"{numbers.leaves:,}")
    table.add_row("roots", f"{numbers.roots:,}")
    table.add_row("with several parents", f"{numbers.multiple_parents:,}")
    table.add_row("most children", f"{numbers.most_children:,} ({numbers.most_children_of})")
    console().print(table)


def _show_line(line: "TreeLine") -> None:
    """A label, indented by its level, and its name where that is another text."""
    title = f"  {line.title}" if line.title != line.label else ""
    again = "  (see above)" if line.repeated and line.children else ""
    say(f"{'  ' * line.level}{line.label}", nl=False)
    say(f"{title}{again}", dim=True)
