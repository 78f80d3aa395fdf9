"""Options that several commands share, declared once, and how they become one configuration."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from taxocaps.errors import ConfigError

__all__ = [
    "CORPUS_OPTIONS",
    "MODEL_FOLDER",
    "MODEL_OPTIONS",
    "Address",
    "AsJson",
    "Engine",
    "Jobs",
    "Quiet",
    "TrustCode",
    "check_model",
    "existing",
    "matching",
    "with_config",
]


def check_model(folder: Path | None) -> Path | None:
    """Refuse a wrong path before libraries are loaded, which takes longer than all else."""
    from taxocaps.workflows.folders import read_versions

    if folder is not None:
        read_versions(folder)
    return folder


def existing(given: Any) -> Any:
    """Refuse a path where nothing is, as `MODEL_FOLDER` does; for options and arguments of one path or several."""
    from taxocaps.files import check_exists

    for path in given if isinstance(given, list) else [given]:
        if path is not None:
            check_exists(path)
    return given


def matching(given: list[str] | None) -> list[Path | str] | None:
    """The same for inputs, which may be patterns or URLs, too."""
    from taxocaps.files import matching_paths

    found = [one if "://" in one else Path(one) for one in given or ()]
    matching_paths(one for one in found if isinstance(one, Path))
    return found or None


MODEL_FOLDER: Any = typer.Argument(help="The folder of a model.", callback=check_model)
"""The argument of commands that use a model."""

Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, max=1024, help="Processes of one thread each. Default: one per core."),
]
Engine = Annotated[
    Literal["processes", "ray"],
    typer.Option(help="Processes of this machine, or actors of a Ray cluster (extra `ray`)."),
]
Address = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The Ray cluster: auto, or ray://host:port. Default: one is started here."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
TrustCode = Annotated[
    bool, typer.Option("--trust-code", help="Let the model run code of its own, such as a tokenizer.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

_DOCUMENTS = "Reading documents"
_CONFIGURATION = "Configuration"
_MODEL = "The model"


@dataclass(frozen=True)
class _ConfigOption:
    """An option of the command line that sets one key of the configuration."""

    key: str
    kind: Any
    help: str
    metavar: str | None = None
    panel: str = _DOCUMENTS

    def annotation(self, name: str) -> Any:
        flag = f"--{name.replace('_', '-')}"
        option = typer.Option(flag, help=self.help, metavar=self.metavar, rich_help_panel=self.panel)
        return Annotated[self.kind | None, option]


_OPTIONS = {
    "format": _ConfigOption("corpus.format", str, "The format of the files. Default: as their suffixes say.", "NAME"),
    "text_field": _ConfigOption(
        "corpus.text_field",
        str,
        "The field with the text; title*3,body joins two, the first thrice. Default: recognised.",
        "NAME",
    ),
    "labels_field": _ConfigOption("corpus.labels_field", str, "The field with labels. Default: recognised.", "NAME"),
    "id_field": _ConfigOption("corpus.id_field", str, "The field with ids. Default: recognised.", "NAME"),
    "label_separator": _ConfigOption(
        "corpus.label_separator",
        str,
        "What stands between labels in one field, such as ';', or json for lists. Default: recognised.",
        "TEXT",
    ),
    "delimiter": _ConfigOption(
        "corpus.delimiter", str, "What stands between the cells of a table, such as ';'. Default: recognised.", "TEXT"
    ),
    "quotes": _ConfigOption(
        "corpus.quotes",
        Literal["auto", "standard", "none"],
        'Whether " quotes cells of a table, or is part of the text (none). Default: recognised.',
    ),
    "folder_labels": _ConfigOption(
        "corpus.directory_labels",
        Literal["auto", "sidecar", "folder"],
        "Labels of texts in a folder: from name.labels beside them, or the folders' names. Default: recognised.",
    ),
    "split": _ConfigOption("corpus.split", str, "Take only documents whose field 'split' has this value.", "NAME"),
    "encoding": _ConfigOption("corpus.encoding", str, "The encoding of the files. Default: recognised.", "NAME"),
    "on_error": _ConfigOption(
        "corpus.on_error",
        Literal["raise", "skip"],
        "Whether a broken record stops the work, or is skipped, counted and reported. Default: raise.",
    ),
    "language": _ConfigOption("text.language", str, "The language of the texts, such as de. Default: en.", "CODE"),
    "vectors": _ConfigOption(
        "vectors.source",
        str,
        "Word vectors: skip-gram trains them on these documents; or a file (word2vec, GloVe, fastText, .npz).",
        "SOURCE",
    ),
}

_OPTIONS |= {
    "model": _ConfigOption(
        "model", str, "The name of a model; `taxocaps models` lists them and marks the default.", "NAME", _MODEL
    ),
    "preset": _ConfigOption(
        "preset",
        str,
        "Named settings of a network: default, fast, paper-rcv1, paper-eurlex or paper-reuters.",
        "NAME",
        _MODEL,
    ),
    "time": _ConfigOption(
        "time",
        str,
        "How long a joined model may train, such as 10m or 2h: more members take part in more time. Default: 10m.",
        "TIME",
        _MODEL,
    ),
    "seed": _ConfigOption("seed", int, "Random seed. Default: 0.", None, _MODEL),
    "epochs": _ConfigOption(
        "training.epochs", int, "The largest number of epochs of a network; more for few documents.", None, _MODEL
    ),
    "devices": _ConfigOption("training.devices", int, "Processes or GPUs that share the work.", None, _MODEL),
    "unknown_labels": _ConfigOption(
        "labels.unknown",
        Literal["error", "add", "drop"],
        "A label outside the taxonomy is an error, is added under the root, or is dropped. Default: error.",
    ),
    "path_separator": _ConfigOption(
        "labels.path_separator",
        str,
        "Without a taxonomy, labels are paths with this between their parts, such as '/' in animals/dogs.",
        "TEXT",
    ),
    "ancestors": _ConfigOption(
        "labels.ancestors",
        Literal["as-given", "add"],
        "Take the labels of documents as given, or add all their ancestors. Default: as-given.",
    ),
}


def _as_options(message: str, names: Iterable[str]) -> str:
    """A message with the options of a command, which a user types, in place of the configuration keys that they set.

    >>> _as_options("training.epochs must be from 1 to 1000; got 0", ["epochs"])
    '--epochs must be from 1 to 1000; got 0'
    >>> _as_options("training.epochs must be from 1 to 1000; got 0", ["devices"])
    'training.epochs must be from 1 to 1000; got 0'
    >>> _as_options("unknown configuration key network.unit; did you mean network.units?", _OPTIONS)
    'unknown configuration key network.unit; did you mean network.units?'
    """
    for name in names:
        flag, option = f"--{name.replace('_', '-')}", _OPTIONS[name]
        word = re.escape(option.key)
        pattern = rf"(?<![\w.-]){word}(?![\w.])" if "." in option.key else rf"(?:^|(?<=option )){word}(?= must|;)"
        message = re.sub(pattern, flag, message)
    return message


CORPUS_OPTIONS = tuple(name for name, option in _OPTIONS.items() if option.key.startswith("corpus."))
"""The options of a command that reads documents."""

MODEL_OPTIONS = tuple(name for name, option in _OPTIONS.items() if option.panel == _MODEL)
"""The options of a command that makes a model."""

_CONFIG_FILE = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A YAML or TOML file with options of any stage; `taxocaps config` shows them all.",
        rich_help_panel=_CONFIGURATION,
    ),
]


def _settings(example: str) -> Any:
    option = typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=f"Set one option, such as {example}; may be repeated.",
        rich_help_panel=_CONFIGURATION,
    )
    return Annotated[list[str] | None, option]


def with_config(
    *names: str, of: Literal["corpus", "encode", "graph", "run"] = "corpus"
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command `--config`, `--set` and the options in `names`, which reach it as one argument `config`.

    The command is declared with a parameter `config`, a `CorpusConfig`, an `EncodeConfig` (for `encode` and `graph`) or
    a `RunConfig` as `of` says; on the command line the options stand in its place. Files are read first, `--set` wins
    over them, and named options win over both. If the command has a parameter `start`, the folder of a model, the name
    of that model is the default.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        annotations = {name: _OPTIONS[name].annotation(name) for name in names}
        example = "corpus.encoding=latin-1" if of == "corpus" else "text.language=de"
        annotations |= {"config_file": _CONFIG_FILE, "settings": _settings(example)}

        @functools.wraps(command)
        def run(**arguments: Any) -> None:
            given = {name: arguments.pop(name) for name in annotations}
            starting = {"start": arguments["start"]} if "start" in arguments else {}
            try:
                command(config=_resolve(given, of, **starting), **arguments)
            except ConfigError as error:
                error.args = (_as_options(str(error), names), *error.args[1:])
                raise

        own = [p for p in inspect.signature(command).parameters.values() if p.name != "config"]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in annotations.items()
        ]
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *added)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _resolve(given: dict[str, Any], of: str, **starting: Path | None) -> Any:
    from taxocaps.workflows.config import (
        resolve_corpus_config,
        resolve_encode_config,
        resolve_graph_config,
        resolve_run_config,
    )

    file, settings = given.pop("config_file"), given.pop("settings")
    options = {_OPTIONS[name].key: value for name, value in given.items() if value is not None}
    resolvers: dict[str, Callable[..., Any]] = {
        "corpus": resolve_corpus_config,
        "encode": resolve_encode_config,
        "graph": resolve_graph_config,
        "run": resolve_run_config,
    }
    return resolvers[of](file, settings or (), options, **starting)
