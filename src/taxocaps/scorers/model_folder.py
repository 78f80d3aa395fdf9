"""The files of a model's folder: which there are, and whether they are complete; light, so that errors come at once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taxocaps.errors import ModelError
from taxocaps.files import digest

__all__ = ["FORMAT", "MODEL_FILES", "UNHASHED", "check_files", "digest", "file_names", "is_model", "read_versions"]

FORMAT = "taxocaps-model/2"
UNHASHED = {"versions.json", "README.md", "metrics.json", "history.csv", "report.html"}
MODEL_FILES = frozenset(
    {"config.yaml", "vocabulary.tsv", "taxonomy.json", "labels.json", "weights.safetensors", "thresholds.json"}
    | {"stop_words.txt", "members", "encoder"}
    | UNHASHED
)
"""What the folder of a model usually holds; a scorer of another package may write more."""


def file_names(folder: Path) -> frozenset[str]:
    """What may lie in a model's folder: the usual files, and those that its scorer wrote."""
    try:
        files = read_versions(folder)["files"]
    except ModelError:
        return MODEL_FILES
    return MODEL_FILES | {Path(name).parts[0] for name in files}


def is_model(folder: Path) -> bool:
    """Whether a folder has a complete model in it, of whatever version."""
    try:
        content = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
        return str(content["format"]).startswith(FORMAT.partition("/")[0])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_versions(folder: Path) -> Mapping[str, Any]:
    """What `versions.json` says of a model; the other files are not looked at.

    Raises:
        ModelError: If there is no model, or of another format.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder}: no model there; train one with: taxocaps train --out {folder}")
    try:
        versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
        found = versions["format"]
        dict(versions["files"])
    except FileNotFoundError as error:
        raise ModelError(f"{folder}: not a model (no versions.json in it)") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / 'versions.json'}: damaged; copy the model again, or train it anew") from error
    if found != FORMAT:
        raise ModelError(f"{folder}: is of format {found!r}, not {FORMAT!r}; install the version that wrote it")
    return dict(versions)


def check_files(folder: Path) -> None:
    """Make sure that all files of a model are there and unchanged.

    Raises:
        ModelError: If there is no model, it is damaged, or of another format.
    """
    for name, expected in dict(read_versions(folder)["files"]).items():
        path = folder / name
        if not path.is_file():
            raise ModelError(f"{path}: is missing from the model; copy the model again, or train it anew")
        if name != "thresholds.json" and digest(path) != expected:  # thresholds may be set by hand
            raise ModelError(f"{path}: damaged or changed; copy the model again, or train it anew")
