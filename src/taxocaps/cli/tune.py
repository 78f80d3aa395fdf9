"""`taxocaps tune`: a model and labelled documents in, better options out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from taxocaps.cli.console import console, print_json, resumable, shown_progress, tell_unless
from taxocaps.cli.options import CORPUS_OPTIONS, MODEL_OPTIONS, Address, AsJson, Engine, Quiet, existing, with_config

if TYPE_CHECKING:
    from rich.table import Table

    from taxocaps.results import Tuning
    from taxocaps.workflows.config import RunConfig

__all__ = ["tune"]

_SHOWN = 10
_OPTIONS = tuple(name for name in MODEL_OPTIONS if name not in ("time", "devices"))


@with_config(
    *CORPUS_OPTIONS, "language", "vectors", "unknown_labels", "path_separator", "ancestors", *_OPTIONS, of="run"
)
def tune(
    config: "RunConfig",
    train: Annotated[
        Path,
        typer.Argument(metavar="FILE", callback=existing, help="Labelled documents, in any format, or a store."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the search.")],
    taxonomy: Annotated[
        Path | None, typer.Argument(callback=existing, help="The label taxonomy. Default: a flat list of the labels.")
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(callback=existing, help="Validation documents. Default: training documents, out of fold."),
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            help="Search this option: linear.C=0.1..10, bag.features=words,pairs, or a key alone for its usual range; "
            "may be repeated. Default: what the model declares.",
        ),
    ] = None,
    metric: Annotated[Literal["micro-f1", "macro-f1"], typer.Option(help="The metric to maximize.")] = "micro-f1",
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Trials in all, earlier runs included. Default: 30, or no limit with --time."),
    ] = None,
    time: Annotated[str | None, typer.Option(metavar="TIME", help="How long to search, such as 90s or 2h.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, max=1024, help="Trials at the same time. Default: 1, or all cores of a Ray cluster."
        ),
    ] = None,
    engine: Engine = "processes",
    address: Address = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin anew where another search has been.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Search for better options of a model.

    The first trial has the options as given. Trials that are worse than most after the same epoch or fold are given up.
    OUT/best.yaml has the best options, for train --config; OUT/report.html has all trials. Ctrl-C loses nothing: the
    same command continues, and on other machines that see the same folder it takes part.
    """
    from taxocaps.workflows.tune import tune as run

    silent = quiet or as_json
    with resumable(lambda: "; the same command continues from there"), shown_progress(silent) as progress:
        found = run(
            train,
            out,
            config,
            taxonomy=taxonomy,
            dev=dev,
            space=space or (),
            metric=metric,
            trials=trials,
            time=time,
            jobs=jobs,
            engine=engine,
            address=address,
            overwrite=overwrite,
            progress=progress,
            tell=tell_unless(silent),
        )
    if as_json:
        print_json(found)
    elif not quiet:
        _show(found)


def _show(found: "Tuning") -> None:
    for table in (_best_trials(found), _options(found)):
        console().print(table)
        console().print()
    given = f", {found.given.score:.4f} with the options as given" if found.given and found.given.score else ""
    console().print(f"best {found.metric}: {found.best.score:.4f} on {found.measured_on}{given}")
    console().print(f"taxocaps train --config {found.out}/best.yaml trains with the best options; report.html has all")


def _best_trials(found: "Tuning") -> "Table":
    from rich.table import Table

    complete = sorted((one for one in found.trials if one.state == "complete"), key=lambda one: -(one.score or 0))
    pruned = sum(one.state == "pruned" for one in found.trials)
    failed = sum(one.state == "failed" for one in found.trials)
    title = f"{len(found.trials)} trials, {pruned} of them given up early, {failed} failed; the best:"
    table = Table(box=None, title=title, title_justify="left")
    for name in ("trial", found.metric, "seconds", *found.space):
        table.add_column(name, justify="right")
    for one in complete[:_SHOWN]:
        values = (_shown(one.options.get(key)) for key in found.space)
        table.add_row(str(one.number), f"{one.score:.4f}", f"{one.seconds:.1f}", *values)
    return table


def _options(found: "Tuning") -> "Table":
    from rich.table import Table

    table = Table(box=None, title="What matters", title_justify="left")
    for name in ("option", "searched", "best"):
        table.add_column(name)
    table.add_column("importance", justify="right")
    for key in found.importance or found.space:
        share = f"{found.importance[key]:.2f}" if key in found.importance else "?"
        table.add_row(key, found.space[key], _shown(found.best.options.get(key)), share)
    return table


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
