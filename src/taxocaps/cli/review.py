"""`taxocaps review`: what looks wrong in labelled documents, whether more would help, and which to label next."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxocaps.cli.console import console, print_json, resumable, shown_progress, tell_unless
from taxocaps.cli.options import CORPUS_OPTIONS, MODEL_OPTIONS, AsJson, Quiet, TrustCode, existing, with_config

if TYPE_CHECKING:
    from rich.table import Table

    from taxocaps.workflows.config import RunConfig
    from taxocaps.workflows.review import Review

__all__ = ["review"]


@with_config(*CORPUS_OPTIONS, "language", "unknown_labels", "path_separator", "ancestors", *MODEL_OPTIONS, of="run")
def review(
    config: "RunConfig",
    documents: Annotated[
        Path,
        typer.Argument(metavar="FILE", callback=existing, help="Labelled documents, in any format, or a store."),
    ],
    taxonomy: Annotated[
        Path | None,
        typer.Argument(
            callback=existing,
            help="The label taxonomy. Default: that of the model's folder, if --model is one; else a flat list.",
        ),
    ] = None,
    pool: Annotated[
        Path | None, typer.Option(callback=existing, help="Unlabelled documents: which of them to label next.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="How many documents of --pool are chosen.")] = 100,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page with all findings and pictures.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all findings as JSONL, one a line.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="How many suspicious labels are shown.")] = 20,
    trust_code: TrustCode = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find what is worth a second look in labelled documents.

    Every document is scored by models that have not seen it. Shown are labels that look wrong or forgotten, copies with
    different labels, documents without words or in another language, labels with few documents or confused with a
    sibling, and a learning curve: what twice as many documents would bring. --model takes a name, or the folder of a
    trained model, whose options are then fitted anew in folds. With --report or --output, Ctrl-C loses nothing: the
    same command continues.
    """
    from taxocaps.workflows.folders import resume_hint
    from taxocaps.workflows.review import ReviewFiles
    from taxocaps.workflows.review import review as run

    silent, target = quiet or as_json, report or output
    with resumable(lambda: resume_hint(target) if target else ""), shown_progress(silent) as progress:
        found = run(
            ReviewFiles(documents, taxonomy, pool, output, report),
            config,
            batch=batch,
            trust_code=trust_code,
            progress=progress,
            tell=tell_unless(silent),
        )
    if as_json:
        print_json(found)
    elif not quiet:
        _show(found, top)
        for path in (report, output):
            if path is not None:
                console().print(f"written to {path}")


def _show(found: "Review", top: int) -> None:
    console().print(_summary(found))
    for table in _tables(found, top):
        console().print()
        console().print(table)


def _summary(found: "Review") -> "Table":
    from rich.table import Table

    table, suspects = Table(box=None, show_header=False), found.suspects
    wrong = sum(one.kind == "wrong" for one in suspects)
    table.add_row(
        "documents", f"{found.documents:,}, with {found.assignments:,} labels, {found.labels:,} of them different"
    )
    table.add_row("scored by", f"{found.model}, in {found.folds} folds")
    table.add_row("agreement", f"micro-F1 {found.micro_f1:.3f}, macro-F1 {found.macro_f1:.3f}")
    table.add_row("labels that look wrong", f"{wrong:,}")
    table.add_row("labels that look forgotten", f"{len(suspects) - wrong:,}")
    table.add_row("labels in doubt by confident learning", f"{found.doubtful:,}")
    exact = sum(one.is_exact for one in found.copies)
    table.add_row("copies with different labels", f"{exact:,} exact, {len(found.copies) - exact:,} near")
    table.add_row("documents without words", f"{len(found.wordless):,}")
    table.add_row("documents in another language", f"{len(found.foreign):,}")
    table.add_row("documents whose labels end too high", f"{len(found.missing_children):,}")
    table.add_row("labels with few documents", f"{len(found.rare):,}")
    table.add_row("labels of the taxonomy without documents", f"{len(found.unused):,}")
    return table


def _tables(found: "Review", top: int) -> "Iterator[Table]":
    if found.suspects and top:
        rows = (
            (f"{one.kind}?", _named(one.name, one.label), one.id, ", ".join(one.labels), one.score, one.suspicion)
            for one in found.suspects[:top]
        )
        yield _table("Most suspicious labels", ("", "label", "document", "given"), ("score", "suspicion"), rows)
    if found.confused:
        pairs = (
            (_named(one.name, one.label), _named(one.other_name, one.other), f"{one.documents:,}", f"{one.of:,}")
            for one in found.confused[:5]
        )
        yield _table("Confused with a sibling", ("label", "the model gives"), ("documents", "of"), pairs)
    if found.curve is not None:
        points = [(f"{one.documents:,}", one.micro_f1, one.macro_f1) for one in found.curve.points]
        micro, macro = found.curve.micro, found.curve.macro
        points.append((f"{found.documents:,}, all", micro.now, macro.now))
        points.append((f"{2 * found.documents:,}, twice as many", micro.f1, macro.f1))
        span = (f"{one.low:.3f} to {one.high:.3f}" for one in (micro, macro))
        yield _table(
            "Learning curve of a linear model; the last two are foretold",
            ("documents",),
            ("micro-F1", "macro-F1"),
            [*points, ("90 % interval", *span)],
        )
    if found.next:
        chosen = (
            (one.id, _named(one.name or "", one.label or ""), f"{one.label_documents:,}", one.score, f"{one.doubt:.1f}")
            for one in found.next[:top]
        )
        columns = ("documents with it", "score", "doubt, bits")
        yield _table("What to label next", ("document", "chosen for"), columns, chosen)


def _table(title: str, texts: tuple[str, ...], numbers: tuple[str, ...], rows: Any) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, title=title, title_justify="left")
    for name in texts:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(Text(value if isinstance(value, str) else f"{value:.3f}") for value in row))
    return table


def _named(name: str, label: str) -> str:
    """A label by its name, with the id where it differs."""
    return name if name == label else f"{name} ({label})"
