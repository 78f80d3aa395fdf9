"""The configuration of a command: defaults, preset, file, `--set` and options, resolved once, in this order."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from taxocaps.catalogue import DEFAULT_MODEL, DEFAULT_NETWORK
from taxocaps.config import Between, Config, json_schema, merge, nested, parse_override, read_mapping, resolve
from taxocaps.corpus.frames import is_frame
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.errors import ConfigError

if TYPE_CHECKING:  # a command that only reads documents need not load the models
    from taxocaps.encoding.documents import DocumentEncoder
    from taxocaps.scorers.base import ModelConfig
    from taxocaps.text.pipeline import TextConfig

__all__ = [
    "RUN_KEYS",
    "CorpusConfig",
    "EncodeConfig",
    "RunConfig",
    "check_same",
    "config_schema",
    "files_and_options",
    "refuse_both",
    "resolve_corpus_config",
    "resolve_encode_config",
    "resolve_graph_config",
    "resolve_run_config",
    "resolve_sections",
]

C = TypeVar("C", bound=Config)
Files = TypeVar("Files")
Layers = Sequence[Mapping[str, Any]]


class _RunKeys(Config):
    """The keys of a run that are no options of the model.

    Attributes:
        model: The name of a model; `taxocaps models` lists them.
        preset: Named settings that the other keys change.
        seed: Random seed.
        corpus: How documents are read.
    """

    model: str = DEFAULT_MODEL
    preset: str = "default"
    seed: Annotated[int, Between(0, 2**31 - 1)] = 0
    corpus: CorpusConfig = CorpusConfig()


RUN_KEYS = tuple(_RunKeys.model_fields)
"""What stands beside the options of a model in its configuration."""


class _CorpusSections(Config):
    corpus: CorpusConfig = CorpusConfig()


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a training run.

    Attributes:
        model: The name of a model, as the catalogue writes it.
        preset: The name of a preset.
        seed: Random seed.
        corpus: How documents are read.
        options: The options of the model.
        start: The folder of a trained model, if one was named as the model: its options are meant.
        given: What differs from the preset because it was given: the keys of the file, of `--set` and of options.
        overrides: The part of `given` that is not out of the file.
    """

    model: str
    preset: str
    seed: int
    corpus: CorpusConfig
    options: "ModelConfig"
    start: Path | None = None
    given: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    overrides: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def as_mapping(self) -> dict[str, Any]:
        """All keys as nested plain values."""
        named = {"model": self.model, "preset": self.preset, "seed": self.seed, "corpus": self.corpus.as_mapping()}
        return {**named, **self.options.as_mapping()}

    def changed(self, options: Mapping[str, Any]) -> "RunConfig":
        """The same with other values of some options, by their full keys.

        Raises:
            ConfigError: For an unknown key or a value that is not allowed.
        """
        changes = [nested(key, value) for key, value in options.items()]
        found = _run_config([self.as_mapping(), *changes])
        return replace(found, start=self.start, given=merge(self.given, *changes), overrides=self.overrides)

    def given_as_yaml(self) -> str:
        """What was given, with model, preset and seed, as the text of a YAML file; all else are defaults."""
        import yaml

        whole = self.as_mapping()
        named = {key: whole[key] for key in ("model", "preset", "seed")}
        return str(yaml.safe_dump({**named, **_picked(whole, self.given)}, sort_keys=False, allow_unicode=True))

    def as_yaml(self) -> str:
        """All keys as the text of a YAML file."""
        import yaml

        return str(yaml.safe_dump(self.as_mapping(), sort_keys=False, allow_unicode=True))


@dataclass(frozen=True)
class EncodeConfig:
    """How a model reads documents.

    Attributes:
        corpus: How documents are read.
        text: How texts become words.
        encodings: What is made of the words, by name, each with its options.
    """

    corpus: CorpusConfig
    text: "TextConfig"
    encodings: Mapping[str, Config]

    def encoder(self, threads: int = 1) -> "DocumentEncoder":
        """What tokenises and encodes documents by these options."""
        from taxocaps.encoding.documents import DocumentEncoder

        return DocumentEncoder(self.text, self.encodings, threads)


def resolve_run_config(
    file: Path | None = None,
    overrides: Iterable[str] = (),
    options: Mapping[str, object] | None = None,
    *,
    start: Path | None = None,
    beside: Sequence[str] = (),
) -> RunConfig:
    """The configuration of training.

    Args:
        file: A YAML or TOML file; the section `serve` in it is passed over.
        overrides: Texts such as `graph.window=4`.
        options: Values by their full key, such as `{"corpus.text_field": "body"}`; a model may also be a trained
            model's folder.
        start: The folder of a model to start from, whose model and preset are meant where none are named.
        beside: What else the caller takes by name; an unknown key may be one of these misspelt.

    Raises:
        ConfigError: For an unknown key or a value that is not allowed; a file is named if it alone is at fault.
    """
    folder = _model_folder(options or {})
    if folder is not None:
        options = {key: value for key, value in (options or {}).items() if key != "model"}
    layers = _without_server(file, _layers(file, overrides, options))
    known = start or folder
    usual = _keys_of(known) if known else {}
    _check_file(file, layers, lambda parts: _run_config([usual, *parts, *_named(layers)]))
    found = _run_config([usual, *layers], beside)
    return replace(found, start=folder, given=merge(*layers), overrides=merge(*(layers[1:] if file else layers)))


def resolve_encode_config(
    file: Path | None = None, overrides: Iterable[str] = (), options: Mapping[str, object] | None = None
) -> EncodeConfig:
    """How the model that is named, or the default model, reads documents; arguments as in `resolve_run_config`.

    One file may serve all commands: what only training reads is passed over in it, but not in overrides.
    """
    from taxocaps.catalogue.models import find_model

    layers = _without_server(file, _layers(file, overrides, options))
    _check_file(file, layers, lambda parts: _encode_config([*parts, *_named(layers)]))
    found = _encode_config(layers)
    model = find_model(_run_keys(layers).model)
    if model.reads is not None:  # else all options of the model may matter
        sections = ("text", *(config.section for config in found.encodings.values()))
        _refuse_others(layers[1:] if file else layers, (*_RunKeys.model_fields, *sections), f"for {model.name} ")
    return found


def resolve_graph_config(
    file: Path | None = None, overrides: Iterable[str] = (), options: Mapping[str, object] | None = None
) -> EncodeConfig:
    """How the model that is named, or the default network, reads a document as a graph of words.

    Arguments as in `resolve_encode_config`. A file may be for a model that reads no graphs: its name is passed over and
    raw tokens become words.

    Raises:
        ConfigError: Also for a model that reads no graphs, if it is named elsewhere.
    """
    layers = _layers(file, overrides, options)
    model = _run_keys(layers).model
    is_asked_for = any("model" in layer for layer in (layers[1:] if file else layers))
    if not is_asked_for and not _reads_graphs(model):
        options = {**(options or {}), "model": DEFAULT_NETWORK}
    found = resolve_encode_config(file, overrides, options)
    if "words-matrix" not in found.encodings:
        raise ConfigError(f"{model} reads no graph of words; name a model that does, such as --model {DEFAULT_NETWORK}")
    is_raw = found.text.tokenizer == "raw"
    return replace(found, text=found.text.replace(tokenizer="words")) if is_raw else found


def resolve_corpus_config(
    file: Path | None = None, overrides: Iterable[str] = (), options: Mapping[str, object] | None = None
) -> CorpusConfig:
    """How documents are read, for commands that need no more; arguments as in `resolve_run_config`."""
    return resolve_sections(_CorpusSections, file, overrides, options).corpus


def resolve_sections(
    cls: type[C], file: Path | None = None, overrides: Iterable[str] = (), options: Mapping[str, object] | None = None
) -> C:
    """The sections of a command that needs no model, as fields of `cls`; arguments as in `resolve_run_config`.

    Other sections are passed over in a file, which may serve all commands, but not in overrides.
    """
    layers = _layers(file, overrides, options)
    known = tuple(cls.model_fields)
    _refuse_others(layers[1:] if file else layers, known)
    if file:
        layers[0] = {key: value for key, value in layers[0].items() if key in known}
    _check_file(file, layers, lambda parts: resolve(cls, *parts))
    return resolve(cls, *layers)


def check_same(theirs: "ModelConfig", ours: "ModelConfig", but: Collection[str]) -> None:
    """Weights fit only a model of the same shape over words of the same kind.

    Args:
        theirs: The options of the model to start from.
        ours: The options of the model that starts from it.
        but: Sections that may differ.

    Raises:
        ConfigError: For the first option that differs.
    """
    old, new = theirs.as_mapping(), ours.as_mapping()
    if old["scorer"] != new["scorer"]:
        raise ConfigError(f"the model to start from is {old['scorer']}, not {new['scorer']}")
    for section in (name for name in new if isinstance(new[name], dict) and name not in but):
        for key, value in new[section].items():
            found = old.get(section, {}).get(key)
            if found != value:
                raise ConfigError(
                    f"the model to start from has {section}.{key}={found}, not {value}; use the same options"
                )


def files_and_options(kind: type[Files], files: Any, options: Mapping[str, Any]) -> tuple[Files, dict[str, Any]]:
    """Separate what a workflow reads and writes from the options of its model, for calls with flat arguments.

    Args:
        kind: The dataclass of the files, such as `TrainFiles`.
        files: An instance of it, or the value of its first field: a path or a data frame.
        options: Its other fields by name, such as `taxonomy="labels.tsv"`, and options of the model.

    Raises:
        ConfigError: If a field is given beside a whole instance.
    """
    make: Any = kind
    names = [one.name for one in fields(make)[1:]]
    given = {name: _file(name, options[name]) for name in names if options.get(name) is not None}
    others = {key: value for key, value in options.items() if key not in names}
    if not isinstance(files, kind):
        return make(None if files is None else _file("", files), **given), others
    if given:
        name = kind.__name__
        raise ConfigError(f"{next(iter(given))} is part of {name}; give it there, or a path in place of {name}")
    return files, others


def _file(name: str, value: Any) -> Any:
    """A path; data frames, taxonomies and the way to divide documents stay as they are given."""
    return value if name in ("taxonomy", "split_by") or is_frame(value) else Path(value)


def refuse_both(config: object | None, options: Mapping[str, object]) -> None:
    """Refuse options beside a whole configuration, which would be passed over.

    Raises:
        ConfigError: If both are given.
    """
    if config is not None and options:
        raise ConfigError(f"{next(iter(options))} is given beside config; give all options in one of them")


def config_schema(model: str = DEFAULT_MODEL, preset: str = "default") -> dict[str, Any]:
    """The JSON schema of the configuration of a model."""
    from taxocaps.catalogue.presets import model_config

    options = json_schema(type(model_config(model, preset)))
    named = json_schema(_RunKeys)
    return {
        **options,
        "title": f"taxocaps configuration of {model}",
        "properties": {**named["properties"], **options["properties"]},
        "$defs": {**named.get("$defs", {}), **options.get("$defs", {})},
    }


def _picked(whole: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the keys that are given, as validation has converted them."""
    return {
        key: _picked(whole[key], value)
        if isinstance(value, Mapping) and isinstance(whole[key], Mapping)
        else whole[key]
        for key, value in given.items()
    }


def _run_config(layers: Layers, beside: Sequence[str] = ()) -> RunConfig:
    from taxocaps.catalogue.models import find_model
    from taxocaps.catalogue.presets import model_config

    named = _run_keys(layers)
    keys = (*_RunKeys.model_fields, *beside)
    options = model_config(named.model, named.preset, *_model_layers(layers), beside=keys)
    return RunConfig(find_model(named.model).name, named.preset, named.seed, named.corpus, options)


def _encode_config(layers: Layers) -> EncodeConfig:
    from taxocaps.catalogue.presets import encoding_config

    named = _run_keys(layers)
    return EncodeConfig(named.corpus, *encoding_config(named.model, named.preset, *_model_layers(layers)))


def _reads_graphs(model: str) -> bool:
    from taxocaps.catalogue.models import find_model

    return "words-matrix" in (find_model(model).reads or ())


def _model_folder(options: Mapping[str, object]) -> Path | None:
    """The folder of a trained model, if one is given in place of the name of a model."""
    from taxocaps.scorers.model_folder import is_model

    folder = Path(str(options.get("model", "")))
    return folder if "model" in options and is_model(folder) else None


def _keys_of(folder: Path) -> dict[str, Any]:
    """The model and the preset of a model's folder."""
    found = read_mapping(folder / "config.yaml")
    return {key: found[key] for key in ("model", "preset") if key in found}


def _run_keys(layers: Layers) -> _RunKeys:
    return resolve(_RunKeys, *({k: v for k, v in layer.items() if k in _RunKeys.model_fields} for layer in layers))


def _model_layers(layers: Layers) -> list[dict[str, Any]]:
    return [{key: value for key, value in layer.items() if key not in _RunKeys.model_fields} for layer in layers]


def _named(layers: Layers) -> list[dict[str, Any]]:
    """The model that is meant: its name decides which keys there are."""
    return [{"model": layer["model"]} for layer in layers if "model" in layer]


def _layers(
    file: Path | None, overrides: Iterable[str], options: Mapping[str, object] | None
) -> list[Mapping[str, Any]]:
    from_file = [read_mapping(file)] if file else []
    given = ((key.replace("__", "."), value) for key, value in (options or {}).items())
    return [*from_file, *map(parse_override, overrides), *(nested(key, value) for key, value in given)]


def _without_server(file: Path | None, layers: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One file may have the limits of a server beside the options of a model."""
    if file:
        layers[0] = {key: value for key, value in layers[0].items() if key != "serve"}
    return layers


def _check_file(file: Path | None, layers: Layers, check: Any) -> None:
    """Name the file if it alone, the first of the layers, is at fault."""
    if file is None:
        return
    try:
        check(layers[:1])
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


def _refuse_others(layers: Layers, known: Sequence[str], where: str = "") -> None:
    for layer in layers:
        for key in layer:
            if key not in known:
                raise ConfigError(f"this command has no options {key}; {where}it has {', '.join(known)}")
