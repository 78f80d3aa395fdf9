"""`taxocaps encode`: documents to a store on disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxocaps.cli.console import console, print_json, resumable, shown_progress, tell, tell_recognised, tell_unless
from taxocaps.cli.options import CORPUS_OPTIONS, Address, AsJson, Engine, Jobs, Quiet, matching, with_config

if TYPE_CHECKING:
    from taxocaps.workflows.config import EncodeConfig
    from taxocaps.workflows.encode import EncodeReport

__all__ = ["encode"]


@with_config(*CORPUS_OPTIONS, "language", "model", "preset", of="encode")
def encode(
    config: "EncodeConfig",
    corpus: Annotated[
        list[str],
        typer.Argument(
            callback=matching,
            help="Documents: JSONL, CSV, TSV or Parquet files, folders of these or of .txt files, or a store.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to make.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out if it exists, once done.")] = False,
    jobs: Jobs = None,
    engine: Engine = "processes",
    address: Address = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Tokenise and encode documents into a store on disk.

    train, evaluate, predict and explain take the store in place of the documents, if the model reads documents in the
    same way: give --model, --preset and options as for training. Without --model, the store is for the default model.
    Interrupted work continues where it stopped when the command is given again.
    """
    from taxocaps.workflows.encode import encode as run
    from taxocaps.workflows.folders import resume_hint

    silent = quiet or as_json
    if not silent:
        tell_recognised(corpus, config.corpus)
    with resumable(lambda: resume_hint(out)), shown_progress(silent) as progress:
        report = run(
            corpus,
            out,
            config,
            overwrite=overwrite,
            jobs=jobs,
            engine=engine,
            address=address,
            progress=progress,
            tell=tell_unless(silent),
        )
    if as_json:
        print_json(report)
    elif not quiet:
        _show(report)


def _show(report: "EncodeReport") -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False)
    words = report.words / max(report.documents, 1)
    table.add_row("documents", f"{report.documents:,}")
    table.add_row("words", f"{report.words:,} ({words:.0f} a document)")
    table.add_row("distinct words", f"{report.vocabulary:,}")
    if report.rows:
        table.add_row("rows of words-matrices", f"{report.rows:,} ({report.rows / report.documents:.0f} a document)")
    if not report.counts_are_exact:
        table.add_row("", "the rarest words were forgotten while counting: there were millions")
    if report.without_words:
        table.add_row("documents without words", f"{report.without_words:,}")
    if report.skipped:
        table.add_row("broken records skipped", f"{report.skipped:,}")
    table.add_row("written to", report.out)
    console().print(table)
    for problem in report.problems:
        tell(f"skipped: {problem}")
