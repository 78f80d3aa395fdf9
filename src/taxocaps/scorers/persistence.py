"""A model as a folder: everything needed to label texts on another machine, readable, without pickle."""

import dataclasses
import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from taxocaps._version import __version__
from taxocaps.config import read_mapping
from taxocaps.corpus.labels import Classes
from taxocaps.errors import ModelError, TaxoCapsError
from taxocaps.nn.networks import NETWORKS
from taxocaps.registry import Registry
from taxocaps.results import FitReport
from taxocaps.scorers.base import SCORERS, ModelConfig, make_scorer
from taxocaps.scorers.decision import DECISION_RULES, Calibration, Hierarchy
from taxocaps.scorers.model import FittedModel, ModelName
from taxocaps.scorers.model_folder import FORMAT, UNHASHED, check_files, digest
from taxocaps.taxonomy.readers import read_flat_nodes
from taxocaps.taxonomy.writers import flat_nodes

__all__ = ["load_model", "save_model"]

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
        name = ModelName(**{key: content.pop(key) for key in ("model", "preset", "seed")})
        if not trust_code:
            _refuse_code(content, folder)
        config = _located(SCORERS[str(content.get("scorer"))].config_type(content).model_validate(content), folder)
        counts = {str(name): int(count) for name, count in _read_json(folder / "labels.json").items()}
        names = tuple(counts)
        classes = Classes(names, read_flat_nodes(_read_json(folder / "taxonomy.json")))
        calibration, thresholds, hierarchy = _read_thresholds(folder / "thresholds.json", names)
        metrics = _read_metrics(folder / "metrics.json")
        scorer = make_scorer(config, classes, name.seed, threads or os.cpu_count() or 1).load(folder)
        scorer.encoder  # noqa: B018 - made now, so that a tokenizer that is missing is noticed
        return FittedModel(
            name,
            scorer.config,
            scorer,
            calibration,
            thresholds,
            hierarchy,
            np.array(list(counts.values()), np.int64),
            FitReport(metrics.get("epochs", 0), metrics.get("best_epoch", 0)),
            metrics=metrics,
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{folder}: the model is damaged: {error}") from error
    except ModelError:
        raise
    except TaxoCapsError as error:
        raise ModelError(f"{folder}: the model cannot be used: {error}") from error


def _write_config(model: FittedModel, folder: Path) -> None:
    """The options, with what they refer to: a model must not miss a file when it is moved."""
    import yaml

    content = {**dataclasses.asdict(model.name), **model.config.portable.as_mapping()}
    source = model.config.text.stop_words
    if source not in ("default", "none"):
        shutil.copyfile(source, folder / "stop_words.txt")
        content["text"]["stop_words"] = "stop_words.txt"
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    (folder / "config.yaml").write_text(text, encoding="utf-8")


def _located(config: ModelConfig, folder: Path) -> ModelConfig:
    if config.text.stop_words != "stop_words.txt":
        return config
    return config.replace(text=config.text.replace(stop_words=str(folder / "stop_words.txt")))


def _read_thresholds(path: Path, names: Sequence[str]) -> tuple[Calibration, NDArray[np.float32], Hierarchy]:
    """What turns scores into labels; people may have changed it by hand, so slips are told in full."""
    try:
        content = _read_json(path)
        given, hierarchy = dict(content["thresholds"]), content["hierarchy"]
        calibration = _read_calibration(content["calibration"], len(names))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path}: damaged: {error}") from error
    allowed = get_args(Hierarchy)
    if hierarchy not in allowed:
        raise ModelError(f"{path}: hierarchy must be one of {', '.join(allowed)}; got {hierarchy!r}")
    known = frozenset(names)
    for name in dict.fromkeys([*names, *given]):
        if name not in known:
            raise ModelError(f"{path}: {name!r} is no label of this model")
        value = given.get(name)
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ModelError(f"{path}: the threshold of {name!r} must be a number from 0 to 1; got {value!r}")
    return calibration, np.array([given[name] for name in names], np.float32), hierarchy


def _read_calibration(content: Mapping[str, Any], labels: int) -> Calibration:
    slopes, intercepts = (np.array(content[key], np.float32) for key in ("slopes", "intercepts"))
    if any(array.shape not in ((), (labels,)) or not np.isfinite(array).all() for array in (slopes, intercepts)):
        raise ValueError("slopes and intercepts must be a number for each label")
    if (slopes <= 0).any():
        raise ValueError("slopes must be above 0")
    return Calibration(slopes, intercepts)


def _read_metrics(path: Path) -> dict[str, Any]:
    """Metrics are for people; a model works without them."""
    try:
        return dict(_read_json(path))
    except (OSError, ValueError, TypeError):
        return {}


def _refuse_code(content: Mapping[str, Any], folder: Path) -> None:
    """A model from a stranger must not run code unasked: neither a function it names nor another package's parts."""
    tokenizer = str(_option(content, "text", "tokenizer"))
    if ":" in tokenizer and not tokenizer.startswith("spacy:"):
        raise ModelError(_CODE.format(folder=folder, what=f"the model's tokenizer {tokenizer} is Python code"))
    used: tuple[tuple[Registry[Any], Any], ...] = (
        (SCORERS, content.get("scorer")),
        (NETWORKS, _option(content, "network", "kind")),
        (DECISION_RULES, _option(content, "decision", "rule")),
    )
    for registry, name in used:
        if registry.is_external(str(name)):
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


def _installed(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
