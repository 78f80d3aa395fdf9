"""`taxocaps predict`: documents in, labels out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from taxocaps.cli.console import print_json, shown_progress, tell
from taxocaps.cli.options import CORPUS_OPTIONS, MODEL_FOLDER, AsJson, Quiet, existing, with_config

if TYPE_CHECKING:
    from taxocaps.workflows.config import CorpusConfig

__all__ = ["predict"]


@with_config(*CORPUS_OPTIONS)
def predict(
    config: "CorpusConfig",
    model: Annotated[Path, MODEL_FOLDER],
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="INPUT", callback=existing, help="Documents in any format, or a store; - for JSONL on stdin."
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", help="A text to label; may be repeated.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The JSONL file to write; - for standard output.")
    ] = Path("-"),
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
    are found; a file appears when it is complete.
    """
    from taxocaps.workflows.predict import DecisionOptions, predict_file
    from taxocaps.workflows.predict import predict as run

    wanted: dict[str, Any] = {"top_k": top_k, "threshold": threshold, "at_least": at_least, "hierarchy": hierarchy}
    options = DecisionOptions.model_validate(wanted)
    if (source is None) == (text is None) or (text is not None and str(output) != "-"):
        raise typer.BadParameter("give either a file of documents, and --output if you like, or --text")
    if source is None:
        for prediction in run(model, text or (), trust_code=trust_code, **wanted):
            typer.echo(json.dumps(prediction.as_dict(), ensure_ascii=False))
        return
    with shown_progress(quiet or as_json or str(output) == "-") as progress:
        report = predict_file(model, source, output, options, corpus=config, trust_code=trust_code, progress=progress)
    for problem in report.problems:
        tell(f"skipped: {problem}")
    if str(output) == "-":
        return
    if as_json:
        print_json(report)
    elif not quiet:
        tell(
            f"{report.documents:,} documents labelled, {report.without_labels:,} of them with nothing: {report.output}"
        )
