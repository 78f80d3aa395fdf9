"""`taxocaps predict`: documents in, labels out."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from taxocaps.cli.console import console, print_json, resumable, shown_progress, tell, tell_recognised, to_json
from taxocaps.cli.options import (
    CORPUS_OPTIONS,
    MODEL_FOLDER,
    Address,
    AsJson,
    Engine,
    Jobs,
    Quiet,
    TrustCode,
    matching,
    with_config,
)

if TYPE_CHECKING:
    from taxocaps.results import Prediction, ScoredLabel
    from taxocaps.workflows.config import CorpusConfig
    from taxocaps.workflows.predict import PredictReport

__all__ = ["predict", "show_prediction"]


@with_config(*CORPUS_OPTIONS)
def predict(
    config: "CorpusConfig",
    model: Annotated[Path, MODEL_FOLDER],
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            callback=matching,
            help="Files of documents in any format, folders of them, or a store; - for JSONL on stdin.",
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", help="A text to label; may be repeated.")] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="A .jsonl or .parquet file, .csv for spreadsheets, .json for Label Studio; a folder of such files "
            "(OUT/, or no suffix); - for standard output.",
        ),
    ] = "-",
    output_format: Annotated[
        Literal["jsonl", "parquet", "csv", "label-studio", "label-studio-choices"] | None,
        typer.Option(help="The format, where the suffix does not tell it. Default: jsonl."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Fields to write with the labels, such as title,date.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew where another run has left labels at --output.")
    ] = False,
    jobs: Jobs = None,
    engine: Engine = "processes",
    address: Address = None,
    top_k: Annotated[int | None, typer.Option(help="The k best labels, and what --hierarchy adds.")] = None,
    threshold: Annotated[float | None, typer.Option(help="One threshold for all labels.")] = None,
    at_least: Annotated[int | None, typer.Option(help="Labels that every document with words gets.")] = None,
    hierarchy: Annotated[
        Literal["as-is", "add-ancestors", "drop-orphans"] | None, typer.Option(help="What is done about ancestors.")
    ] = None,
    trust_code: TrustCode = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Give documents labels.

    On a terminal, labels are shown for people. In a pipe, in a file and with --json each document becomes one line:
    {"id": ..., "labels": [{"label": ..., "name": ..., "score": ..., "paths": [...]}]}. Thresholds and the rule about
    ancestors are the model's own unless given. Labels on standard output appear as they are found; a file appears when
    it is complete, and shards in a folder as they are finished. Interrupted work continues where it stopped when the
    command is given again.
    """
    from taxocaps.workflows.predict import DecisionOptions, predict_file
    from taxocaps.workflows.predict import predict as run
    from taxocaps.workflows.trained_on import read_like

    wanted: dict[str, Any] = {"top_k": top_k, "threshold": threshold, "at_least": at_least, "hierarchy": hierarchy}
    options = DecisionOptions.model_validate(wanted)
    if (not source) == (text is None) or (text is not None and output != "-"):
        raise typer.BadParameter("give either a file of documents, or several, and --output if you like, or --text")
    if text is not None and keep is not None:
        raise typer.BadParameter("--keep is for files of documents; a --text has no fields")
    is_stream = output == "-"
    if is_stream and (jobs or output_format or overwrite or engine != "processes"):
        raise typer.BadParameter("--jobs, --engine, --output-format and --overwrite are for files; give --output")
    show = None if as_json or not sys.stdout.isatty() else show_prediction
    if not source:
        for prediction in run(model, text or (), trust_code=trust_code, **wanted):
            (show or _print_line)(prediction)
        return
    bulk: dict[str, Any] = {
        "jobs": jobs,
        "engine": engine,
        "address": address,
        "format": output_format,
        "overwrite": overwrite,
        "trust_code": trust_code,
    }
    corpus = config.replace(keep=keep) if keep is not None else config
    if not quiet and not as_json:
        tell_recognised(source, read_like(model, corpus))
    hint = "" if is_stream else "; the same command continues from there"
    with resumable(lambda: hint), shown_progress(quiet or as_json or is_stream) as progress:
        report = predict_file(model, source, output, options, corpus=corpus, progress=progress, show=show, **bulk)
    _show(report, "stream" if is_stream else "json" if as_json else "quiet" if quiet else "text")


def _print_line(prediction: "Prediction") -> None:
    typer.echo(to_json(prediction.as_dict()))


def show_prediction(prediction: "Prediction") -> None:
    """Print the labels of a document for people: a bar, the score, the name, and where in the taxonomy it is."""
    from rich.table import Table
    from rich.text import Text

    console().print(Text(prediction.id, style="bold"))
    if not prediction.labels:
        console().print(f"  {prediction.warning or 'no labels: no score reaches its threshold; see --at-least 1'}")
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    names = {one.label: one.name for one in prediction.labels}
    for one in prediction.labels:
        is_plain = one.name == one.label or "://" in one.label  # URIs fill the line, and say nothing to people
        name = one.name if is_plain else f"{one.name} ({one.label})"
        place = Text(_place(one, names))
        table.add_row(Text(f"  {_bar(one.score)}", style="blue"), f"{one.score:.2f}", Text(name), place)
    console().print(table)


_BAR = 12


def _bar(score: float) -> str:
    """A score as a bar of eighths of a block."""
    eighths = round(score * _BAR * 8)
    return f"{'█' * (eighths // 8)}{' ▏▎▍▌▋▊▉'[eighths % 8]}"[:_BAR].ljust(_BAR)


def _place(label: "ScoredLabel", names: Mapping[str, str]) -> str:
    """The labels above one by their names, as far as these are known; of several ways to it the first."""
    above = [names.get(one, one) for one in (label.paths[0][:-1] if label.paths else ())]
    more = f" and {len(label.paths) - 1} more" if len(label.paths) > 1 else ""
    return f"in {' › '.join(above)}{more}" if above else ""


def _show(report: "PredictReport", how: str) -> None:
    for problem in report.problems if how != "quiet" else ():
        tell(f"skipped: {problem}")
    if how == "json":
        print_json(report)
    if how != "text":
        return
    speed = f" ({report.documents / report.seconds:,.0f} documents/s)" if report.seconds else ""
    skipped = f", {report.skipped:,} invalid records skipped" if report.skipped else ""
    tell(
        f"{report.documents:,} documents: {report.labels:,} labels in all, {report.without_labels:,} documents without "
        f"any{skipped}, in {report.seconds:,.1f} s{speed}: {report.output}"
    )
