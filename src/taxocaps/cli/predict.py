"""`taxocaps predict`: documents in, labels out."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from taxocaps.cli.console import print_json, shown_progress, tell
from taxocaps.cli.options import (
    CORPUS_OPTIONS,
    MODEL_FOLDER,
    Address,
    AsJson,
    Engine,
    Jobs,
    Quiet,
    matching,
    with_config,
)

if TYPE_CHECKING:
    from taxocaps.workflows.config import CorpusConfig
    from taxocaps.workflows.predict import PredictReport

__all__ = ["predict"]


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
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let the model run code of its own, such as a tokenizer.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Give documents labels.

    Each document becomes one line: {"id": ..., "labels": [{"label": ..., "name": ..., "score": ..., "paths": [...]}]}.
    Thresholds and the rule about ancestors are the model's own unless given. Labels on standard output appear as they
    are found; a file appears when it is complete, and shards in a folder as they are finished. Interrupted work
    continues where it stopped when the command is given again.
    """
    from taxocaps.workflows.predict import DecisionOptions, predict_file
    from taxocaps.workflows.predict import predict as run

    wanted: dict[str, Any] = {"top_k": top_k, "threshold": threshold, "at_least": at_least, "hierarchy": hierarchy}
    options = DecisionOptions.model_validate(wanted)
    if (not source) == (text is None) or (text is not None and output != "-"):
        raise typer.BadParameter("give either a file of documents, or several, and --output if you like, or --text")
    if not source:
        for prediction in run(model, text or (), trust_code=trust_code, **wanted):
            typer.echo(json.dumps(prediction.as_dict(), ensure_ascii=False))
        return
    is_stream = output == "-"
    if is_stream and (jobs or output_format or overwrite or engine != "processes"):
        raise typer.BadParameter("--jobs, --engine, --output-format and --overwrite are for files; give --output")
    bulk: dict[str, Any] = {
        "jobs": jobs,
        "engine": engine,
        "address": address,
        "format": output_format,
        "overwrite": overwrite,
        "trust_code": trust_code,
    }
    corpus = config.replace(keep=keep) if keep is not None else config
    with _resumable(is_stream), shown_progress(quiet or as_json or is_stream) as progress:
        report = predict_file(model, source, output, options, corpus=corpus, progress=progress, **bulk)
    _show(report, "stream" if is_stream else "json" if as_json else "quiet" if quiet else "text")


@contextmanager
def _resumable(is_stream: bool) -> Iterator[None]:
    """Say what becomes of interrupted work."""
    try:
        yield
    except KeyboardInterrupt:
        tell("interrupted" if is_stream else "interrupted; the same command continues from there")
        raise typer.Exit(130) from None


def _show(report: "PredictReport", how: str) -> None:
    for problem in report.problems:
        tell(f"skipped: {problem}")
    if how == "json":
        print_json(report)
    if how != "text":
        return
    speed = f" ({report.documents / report.seconds:,.0f} documents/s)" if report.seconds else ""
    skipped = f", {report.skipped:,} invalid records skipped" if report.skipped else ""
    tell(
        f"{report.documents:,} documents labelled with {report.labels:,} labels, {report.without_labels:,} of them "
        f"with nothing{skipped}, in {report.seconds:,.1f} s{speed}: {report.output}"
    )
