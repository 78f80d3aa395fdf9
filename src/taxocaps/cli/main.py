"""The `taxocaps` command: its parts, its version, and how errors end."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from taxocaps._version import __version__
from taxocaps.cli import (
    config,
    corpus,
    data,
    encode,
    evaluate,
    explain,
    feedback,
    graph,
    label_vectors,
    learn,
    models,
    predict,
    review,
    serve,
    taxonomy,
    train,
    tune,
)
from taxocaps.errors import TaxoCapsError, one_line

__all__ = ["app", "main"]

app = typer.Typer(
    name="taxocaps",
    help="Assign labels out of a taxonomy to documents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(taxonomy.app, name="taxonomy")
taxonomy.app.command("embed")(label_vectors.embed)
taxonomy.app.command("reconstruct")(label_vectors.reconstruct)
app.add_typer(corpus.app, name="corpus")
app.add_typer(data.app, name="data")
app.command("graph")(graph.graph)
app.command("encode")(encode.encode)
app.command("train")(train.train)
app.command("tune")(tune.tune)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.command("explain")(explain.explain)
app.command("review")(review.review)
app.command("learn")(learn.learn)
app.add_typer(feedback.app, name="feedback")
app.command("serve")(serve.serve)
app.command("models")(models.models)
app.command("config")(config.config)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"taxocaps {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; works after any command.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors that a user can correct end as one line on standard error and exit code 2."""
    _prepare_streams()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    try:
        words = [word for word in arguments if word != "--debug"]
        sys.exit(app(words, prog_name="taxocaps", standalone_mode=False) or 0)
    except KeyboardInterrupt:
        sys.exit(130)
    except _USAGE_ERROR as error:
        if not error.format_message():  # no command was given, and the help has been shown
            sys.exit(2)
        _fail(f"{error.format_message().rstrip('.')}; see {_command_path(error)} --help", error, debug)
    except (TaxoCapsError, OSError) as error:
        _fail(_message(error), error, debug)
    except MemoryError as error:
        _fail("there is not enough memory for this; give smaller files, or a smaller model", error, debug)


def _prepare_streams() -> None:
    """Whatever the terminal can show or the caller has closed, printing does not fail."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


# The usage errors of typer have no public name of their own; this one is their common base.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


def _command_path(error: Any) -> str:
    return str(error.ctx.command_path) if getattr(error, "ctx", None) else "taxocaps"


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _fail(message: str, error: Exception, debug: bool) -> None:
    if debug:
        raise error
    typer.secho("error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
    typer.echo(one_line(" ".join(message.split())), err=True)
    sys.exit(2)
