"""A model as a folder: everything needed to label texts on another machine, readable, without pickle."""

import dataclasses
import json
import logging
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Required

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from taxocaps._version import __version__
from taxocaps.config import read_mapping
from taxocaps.corpus.labels import Classes
from taxocaps.errors import FileError, ModelError, TaxoCapsError
from taxocaps.nn.networks import NETWORKS
from taxocaps.registry import Registry
from taxocaps.results import FitReport, ValidationKind
from taxocaps.scorers.base import SCORERS, ModelConfig, make_scorer
from taxocaps.scorers.decision import DECISION_RULES, Calibration, Hierarchy
from taxocaps.scorers.model import FittedModel, ModelName
from taxocaps.scorers.model_folder import FORMAT, UNHASHED, check_files, digest
from taxocaps.taxonomy.readers import read_flat_nodes
from taxocaps.taxonomy.writers import flat_nodes
from taxocaps.untrusted import read_json

__all__ = ["load_model", "save_model"]

_STOP_WORDS = "stop_words.txt"
_MOST_METRICS = 2**26
_LOG = logging.getLogger("taxocaps")
_LIBRARIES = ("numpy", "scipy", "simplemma", "torch", "lightning", "tokenizers", "transformers")


def save_model(model: FittedModel, folder: Path) -> None:
    """Write a model into an existing folder; `versions.json`, written last, makes it a model.

    Args:
        model: The model.
        folder: An empty folder, or one whose files may be replaced.
    """
    model.scorer.save(folder)
    _write_json(folder / "taxonomy.json", flat_nodes(model.classes.taxonomy))
    _write_config(model, folder)
    _write_json(folder / "labels.json", dict(zip(model.classes.names, model.counts.tolist(), strict=True)))
    thresholds = {
        "hierarchy": model.hierarchy,
        "rule": model.rule,
        "calibration": {
            "slopes": np.asarray(model.calibration.slopes).tolist(),
            "intercepts": np.asarray(model.calibration.intercepts).tolist(),
        },
        "thresholds": dict(zip(model.classes.names, map(float, model.thresholds), strict=True)),
    }
    _write_json(folder / "thresholds.json", thresholds)
    _write_json(folder / "metrics.json", model.metrics)
    _write_versions(folder)


def load_model(folder: Path, *, trust_code: bool = False, threads: int | None = None) -> FittedModel:
    """Read a model.

    Args:
        folder: The folder that `save_model` wrote.
        trust_code: Whether a tokenizer that the model names, a Python function, may be imported and run.
        threads: Threads of compiled parts; by default one per core.

    Raises:
        ModelError: If there is no model, it is damaged, of another version, or wants to run code.
    """
    check_files(folder)
    try:
        content = read_mapping(folder / "config.yaml")
        name = _Name.model_validate({key: content.pop(key, None) for key in _Name.model_fields}).as_name()
        if not trust_code:
            _refuse_code(content, folder)
        config = _located(SCORERS[str(content.get("scorer"))].config_type(content).model_validate(content), folder)
        counts = read_json(folder / "labels.json", dict[str, _Count])
        classes = _classes(folder, tuple(counts))
        decision, calibration, thresholds = _read_decision(folder / "thresholds.json", classes.names)
        metrics = _read_metrics(folder / "metrics.json")
        scorer = make_scorer(config, classes, name.seed, threads or os.cpu_count() or 1).load(folder)
        asked = config.decision.rule
        if decision.rule not in (("one", scorer.usual_rule) if asked == "auto" else (asked,)):
            raise ModelError(f"{folder / 'thresholds.json'}: damaged: the rule is not that of config.yaml")
        scorer.encoder  # noqa: B018 - made now, so that a tokenizer that is missing is noticed
        return FittedModel(
            name,
            scorer.config,
            scorer,
            calibration,
            thresholds,
            decision.hierarchy,
            decision.rule,
            np.array(list(counts.values()), np.int64),
            FitReport(metrics.get("epochs", 0), metrics.get("best_epoch", 0)),
            metrics=metrics,
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ModelError(f"{folder}: the model is damaged: {' '.join(str(error).split())}") from error
    except MemoryError as error:
        raise ModelError(f"{folder}: the model wants more memory than there is") from error
    except ModelError:
        raise
    except TaxoCapsError as error:
        raise ModelError(f"{folder}: the model cannot be used: {error}") from error


_Count = Annotated[int, Field(ge=0, le=2**53, strict=True)]
_Share = Annotated[float, Field(ge=0, le=1, strict=True)]
_Numbers = Annotated[float, Field(strict=True)] | list[Annotated[float, Field(strict=True)]]


class _Name(BaseModel):
    """The first keys of `config.yaml`."""

    model_config = ConfigDict(strict=True)

    model: Annotated[str, Field(max_length=1_000)]
    preset: Annotated[str, Field(max_length=1_000)]
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)]

    def as_name(self) -> ModelName:
        return ModelName(self.model, self.preset, self.seed)


class _Node(TypedDict, total=False):
    """A label in `taxonomy.json`, as `flat_nodes` writes it."""

    name: Required[str]
    children: list[str]
    title: str
    titles: dict[str, str]
    alternatives: list[str] | dict[str, list[str]]
    hidden: list[str] | dict[str, list[str]]
    notation: str | list[str] | dict[str, list[str]]


class _Curves(BaseModel):
    """The calibration in `thresholds.json`."""

    model_config = ConfigDict(allow_inf_nan=False)

    slopes: _Numbers
    intercepts: _Numbers


class _Decision(BaseModel):
    """`thresholds.json`."""

    model_config = ConfigDict(allow_inf_nan=False)

    hierarchy: Hierarchy
    rule: str
    calibration: _Curves
    thresholds: dict[str, _Share]


class _Metrics(BaseModel):
    """What is read of `metrics.json`; numbers that could not be computed are written as NaN."""

    model_config = ConfigDict(strict=True)

    parameters: _Count = 0
    epochs: _Count = 0
    best_epoch: _Count = 0
    documents: dict[str, _Count] | None = None
    standings: list[dict[str, str | float | bool]] = []
    rare_labels: dict[str, _Count] = {}
    validation: dict[str, Any] | None = None
    validation_kind: ValidationKind = "held-out"
    test: dict[str, Any] | None = None


def _classes(folder: Path, names: tuple[str, ...]) -> Classes:
    """The labels of the columns, which must all be in the taxonomy."""
    taxonomy = read_flat_nodes(read_json(folder / "taxonomy.json", list[str | _Node]))
    unknown = next((name for name in names if name not in taxonomy), None)
    if unknown is not None or not names:
        which = "has no labels" if unknown is None else f"{unknown[:80]!r} is not in the taxonomy"
        raise ModelError(f"{folder / 'labels.json'}: damaged: {which}")
    return Classes(names, taxonomy)


def _write_config(model: FittedModel, folder: Path) -> None:
    """The options, with what they refer to: a model must not miss a file when it is moved."""
    import yaml

    content = {**dataclasses.asdict(model.name), **model.config.portable.as_mapping()}
    source = model.config.text.stop_words
    if source not in ("default", "none"):
        shutil.copyfile(source, folder / _STOP_WORDS)
        content["text"]["stop_words"] = _STOP_WORDS
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    (folder / "config.yaml").write_text(text, encoding="utf-8")


def _located(config: ModelConfig, folder: Path) -> ModelConfig:
    """The options with the place of the model's own file of stop words; those of another place are not read."""
    source = config.text.stop_words
    if source in ("default", "none"):
        return config
    if source != _STOP_WORDS or not (folder / _STOP_WORDS).is_file():
        raise ModelError(
            f"{folder}: text.stop_words must be default, none or the model's own {_STOP_WORDS}; got {source[:80]!r}"
        )
    return config.replace(text=config.text.replace(stop_words=str(folder / _STOP_WORDS)))


def _read_decision(path: Path, names: Sequence[str]) -> tuple[_Decision, Calibration, NDArray[np.float32]]:
    """What turns scores into labels; people may have changed it by hand, so slips are told in full."""
    try:
        found: _Decision = read_json(path, _Decision)
    except FileError as error:
        raise ModelError(str(error)) from error
    given, known = found.thresholds, frozenset(names)
    for name in given:
        if name not in known:
            raise ModelError(f"{path}: {name[:80]!r} is no label of this model")
    for name in names:
        if name not in given:
            raise ModelError(f"{path}: the threshold of {name[:80]!r} is missing; give a number from 0 to 1")
    try:
        curves = (_curve(getattr(found.calibration, key), len(names)) for key in ("slopes", "intercepts"))
        calibration = Calibration(*curves)
        if not np.all(np.asarray(calibration.slopes) > 0):
            raise ValueError("slopes must be above 0")
    except ValueError as error:
        raise ModelError(f"{path}: damaged: {error}") from error
    return found, calibration, np.array([given[name] for name in names], np.float32)


def _curve(numbers: float | list[float], labels: int) -> NDArray[np.float32]:
    """One number for all labels, or one for each."""
    array = np.array(numbers, np.float64)
    if array.shape not in ((), (labels,)) or np.abs(array).max() > _STEEPEST:
        raise ValueError("slopes and intercepts must be a number for each label")
    return array.astype(np.float32)


_STEEPEST = 1e6
"""Greater slopes and intercepts are no calibration, and would not fit the numbers they are computed with."""


def _read_metrics(path: Path) -> dict[str, Any]:
    """Metrics are for people; a model works without them, and says so if there are some that cannot be read."""
    try:
        found: dict[str, Any] = read_json(path, dict[str, Any], most=_MOST_METRICS)
        _Metrics.model_validate(found)
    except (FileError, ValidationError):
        if path.exists():
            _LOG.warning("%s: damaged; the model is used without its metrics", path)
        return {}
    return found


def _refuse_code(content: Mapping[str, Any], folder: Path) -> None:
    """A model from a stranger must not run code unasked: neither a function it names nor another package's parts."""
    tokenizer = str(_option(content, "text", "tokenizer"))
    kind, _, rest = tokenizer.partition(":")
    if kind == "spacy" and not _installed(rest):  # the path of a pipeline, which may name code of its own
        raise ModelError(_CODE.format(folder=folder, what=f"the model's tokenizer {tokenizer[:80]} is read elsewhere"))
    if ":" in tokenizer and kind != "spacy":
        raise ModelError(_CODE.format(folder=folder, what=f"the model's tokenizer {tokenizer} is Python code"))
    used: tuple[tuple[Registry[Any], Any], ...] = (
        (SCORERS, content.get("scorer")),
        (NETWORKS, _option(content, "network", "kind")),
        (DECISION_RULES, _option(content, "decision", "rule")),
    )
    for registry, name in used:
        if name is not None and registry.is_external(str(name)):
            what = f"the model's {registry.noun} {name} is code of another package"
            raise ModelError(_CODE.format(folder=folder, what=what))
    for section in content.values():  # the options of members may lie at any depth
        if isinstance(section, Mapping):
            _refuse_code(section, folder)


_CODE = "{folder}: {what}, which would be run; give --trust-code (or trust_code=True) if you trust it"


def _option(content: Mapping[str, Any], section: str, key: str) -> Any:
    found = content.get(section)
    return found.get(key) if isinstance(found, Mapping) else None


def _write_versions(folder: Path) -> None:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    versions = {
        "format": FORMAT,
        "taxocaps": __version__,
        "python": platform.python_version(),
        "libraries": {name: found for name in _LIBRARIES if (found := _installed(name))},
        "files": {name: digest(folder / name) for name in names if name not in UNHASHED},
    }
    _write_json(folder / "versions.json", versions)


@cache
def _installed(library: str) -> str | None:
    try:
        return version(library)
    except (PackageNotFoundError, ValueError):
        return None


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
