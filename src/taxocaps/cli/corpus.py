"""`taxocaps corpus`: check and convert files of documents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from taxocaps.cli.console import console, print_json, say, shown_progress, tell, tell_recognised
from taxocaps.cli.options import CORPUS_OPTIONS, AsJson, Quiet, with_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from taxocaps.workflows.config import CorpusConfig
    from taxocaps.workflows.corpus import CheckedCorpus

__all__ = ["app"]

app = typer.Typer(help="Check and convert files of documents.", no_args_is_help=True)


@app.command("check")
@with_config(*CORPUS_OPTIONS)
def check(
    config: "CorpusConfig",
    files: Annotated[
        list[Path],
        typer.Argument(help="Documents: JSONL, CSV, TSV, Parquet or folders of .txt files; several are splits."),
    ],
    taxonomy: Annotated[Path | None, typer.Option(help="The taxonomy to check the labels against.")] = None,
    labels: Annotated[int, typer.Option(min=0, help="How many of the most frequent labels are listed.")] = 10,
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Count the words that the text pipeline of this language keeps, such as en."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Count documents and labels, and find what may be wrong with them.

    Documents and labels per document, lengths and languages, the long tail of labels, counts per label and level,
    documents without labels, labels that are not in the taxonomy, and the same or nearly the same text twice, within a
    split or in two of them.
    """
    from taxocaps.workflows.corpus import check_corpus

    if not quiet and not as_json:
        tell_recognised(files, config)
    with shown_progress(quiet or as_json) as progress:
        checked = check_corpus(files, taxonomy, config, language=language, progress=progress)
    if as_json:
        print_json(checked)
    elif not quiet:
        _show(checked, labels)


@app.command("convert")
@with_config(*CORPUS_OPTIONS)
def convert(
    config: "CorpusConfig",
    source: Annotated[Path, typer.Argument(help="The documents to read.")],
    target: Annotated[Path, typer.Argument(help="The file or folder to write; its suffix tells the format.")],
    to: Annotated[
        Literal["jsonl", "csv", "tsv", "parquet", "text"] | None,
        typer.Option(help="The format to write, if the suffix does not tell it."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write documents in another format."""
    from taxocaps.workflows.corpus import convert_corpus

    if not quiet and not as_json:
        tell_recognised(source, config)
    with shown_progress(quiet or as_json) as progress:
        reading = convert_corpus(source, target, config, format=to, progress=progress)
    if as_json:
        print_json(reading)
    elif not quiet:
        skipped = f", {reading.skipped:,} broken records skipped" if reading.skipped else ""
        say(f"{reading.documents:,} documents written to {target}{skipped}")


def _show(checked: "CheckedCorpus", most_labels: int) -> None:
    _show_splits(checked)
    _show_labels(checked, most_labels)
    for finding in checked.findings:
        say(finding, fg=typer.colors.YELLOW)
    for problem in checked.problems:
        tell(f"skipped: {problem}")


def _show_splits(checked: "CheckedCorpus") -> None:
    from rich.table import Table

    table = Table(box=None, title="Documents", title_justify="left")
    table.add_column("split")
    columns = ("documents", "words (median)", "(90 %)", "(max)", "labels (mean)", "(max)", "labels used")
    for column in columns:
        table.add_column(column, justify="right")
    for name, split in checked.corpus.splits.items():
        table.add_row(
            name,
            f"{split.documents:,}",
            f"{split.words.median:,.0f}",
            f"{split.words.most:,}",
            f"{split.words.max:,}",
            f"{split.labels.mean:.2f}",
            f"{split.labels.max:,}",
            f"{len(split.label_counts):,}",
        )
    console().print(table)


def _show_labels(checked: "CheckedCorpus", most: int) -> None:
    from rich.table import Table
    from rich.text import Text

    from taxocaps.workflows.corpus import describe_counts

    corpus = checked.corpus
    say(f"\nLanguages of documents: {_shares(checked.languages)}")
    if corpus.label_counts:
        say(f"Documents of labels: {', '.join(_tail(checked.long_tail))}")
    if set(corpus.named_by) > {"id"}:
        say(f"\nLabels of documents: {describe_counts(corpus.named_by)}")
    if corpus.levels:
        table = Table(box=None, title="\nLevels of the taxonomy", title_justify="left")
        for column in ("level", "labels", "used", "assignments"):
            table.add_column(column, justify="right")
        for level in corpus.levels:
            table.add_row(*(f"{number:,}" for number in (level.level, level.labels, level.used, level.assignments)))
        console().print(table)
    if most and corpus.label_counts:
        table = Table(box=None, title=f"\nMost frequent of {len(corpus.label_counts):,} labels", title_justify="left")
        table.add_column("label")
        table.add_column("documents", justify="right")
        frequent = sorted(corpus.label_counts.items(), key=lambda entry: -entry[1])
        for label, count in frequent[:most]:
            table.add_row(Text(label), f"{count:,}")
        console().print(table)


def _shares(languages: "Mapping[str, int]") -> str:
    """The languages of documents, each with its share; single ones of many are left to --json."""
    total = sum(languages.values())
    return ", ".join(f"{code} {count / total:.0%}" for code, count in list(languages.items())[:5])


def _tail(long_tail: "Mapping[str, int]") -> "Iterator[str]":
    for size, labels in long_tail.items():
        if labels:
            yield f"{size} for {labels:,} label{'s' * (labels != 1)}"
