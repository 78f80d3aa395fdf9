"""`taxocaps evaluate`: how good a model, or a file of predictions, is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxocaps.cli.console import console, print_json, shown_progress, tell_recognised, tell_unless
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
    from taxocaps.workflows.config import CorpusConfig

__all__ = ["evaluate"]


@with_config(*CORPUS_OPTIONS)
def evaluate(
    config: "CorpusConfig",
    model: Annotated[Path | None, MODEL_FOLDER] = None,
    test: Annotated[
        list[str] | None,
        typer.Argument(
            callback=matching, help="Files of labelled documents, in any format, folders of them, or a store."
        ),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Instead of a model: predictions, as `taxocaps predict` writes them.")
    ] = None,
    truth: Annotated[Path | None, typer.Option(help="The labelled documents that --predictions belong to.")] = None,
    taxonomy: Annotated[
        Path | None, typer.Option(help="With --predictions: the taxonomy, for hierarchical metrics and levels.")
    ] = None,
    per_label: Annotated[bool, typer.Option("--per-label", help="Show a line for every label.")] = False,
    trust_code: TrustCode = False,
    jobs: Jobs = None,
    engine: Engine = "processes",
    address: Address = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Measure a model on labelled documents, or predictions against the truth.

    Shows precision, recall and F1 (micro, macro, by document, and with ancestors), ranking metrics, and metrics for
    every level; --json gives all of it and every label.
    """
    from taxocaps.report.tables import evaluation_tables
    from taxocaps.workflows.evaluate import evaluate as run
    from taxocaps.workflows.evaluate import evaluate_predictions
    from taxocaps.workflows.trained_on import read_like

    if test and not quiet and not as_json:
        tell_recognised(test, read_like(model, config))
    with shown_progress(quiet or as_json) as progress:
        if model is not None and test and predictions is None and truth is None and taxonomy is None:
            found = run(
                model,
                test,
                corpus=config,
                jobs=jobs,
                engine=engine,
                address=address,
                trust_code=trust_code,
                progress=progress,
                tell=tell_unless(quiet or as_json),
            )
        elif predictions is not None and truth is not None and model is None:
            found = evaluate_predictions(predictions, truth, config, taxonomy=taxonomy)
        else:
            raise typer.BadParameter("give MODEL and TEST, or --predictions and --truth, with --taxonomy or without")
    if as_json:
        print_json(found.as_dict())
    elif not quiet:
        for table in evaluation_tables(found, per_label=per_label):
            console().print(table)
