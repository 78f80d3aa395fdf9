"""JSON arrays: of plain objects, one a document, or exports of Label Studio (https://labelstud.io/guide/export).

The exports are JSON and JSON_MIN, annotated by Taxonomy or Choices.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from taxocaps.corpus.readers import CorpusConfig, Reader, Record, location
from taxocaps.errors import CorpusError
from taxocaps.files import read_text

__all__ = ["DOCUMENT", "READER", "read_label_studio"]

DOCUMENT = "document"
"""The field of a task with the id of its document: `id` is that of the task in exports."""


def read_label_studio(path: Path, config: CorpusConfig) -> Iterator[Record]:
    """Yield the tasks of an export, or plain objects as they are; the whole file is in memory.

    A task with several annotations has the labels of the one that is marked as ground truth, or else of the latest;
    skipped annotations do not count. Labels are the ends of chosen paths (Taxonomy) or choices (Choices), of the tag
    that is called like the field of labels or, if there is none, of all tags. Without annotations, they are unknown.
    """
    tasks, config = _tasks(path, config), config.with_usual_names()
    if not any(map(_is_task, tasks)):
        for number, one in enumerate(tasks, 1):
            where, is_object = location(path, "record", number), isinstance(one, Mapping)
            yield Record(where, one if is_object else {}, None if is_object else "must be a JSON object {...}")
        return
    latest = {_task_id(task, number): number for number, task in enumerate(tasks, 1)}  # JSON_MIN has all annotations
    for number, task in enumerate(tasks, 1):
        if latest[_task_id(task, number)] == number:
            yield _record(location(path, "task", number), task, config)


READER = Reader(read_label_studio, (".json",), begins_with=b"[", has_columns=True)


def _is_task(task: Any) -> bool:
    """Whether an object is a task of Label Studio: with its data apart, or with the id of an annotation."""
    return isinstance(task, Mapping) and (isinstance(task.get("data"), Mapping) or "annotation_id" in task)


def _tasks(path: Path, config: CorpusConfig) -> list[Any]:
    try:
        found = json.loads(read_text(path, config.encoding))
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: not JSON: {error}; export it again as JSON or JSON_MIN") from error
    if not isinstance(found, list):
        raise CorpusError(f"{path}: not an export of Label Studio, which is a list of tasks; leave out corpus.format")
    return found


def _task_id(task: Any, number: int) -> object:
    found = task.get("id") if isinstance(task, Mapping) else None
    return number if found is None or isinstance(found, list | dict) else str(found)


def _record(where: str, task: Any, config: CorpusConfig) -> Record:
    if not isinstance(task, Mapping):
        return Record(where, {}, "a task must be a JSON object {...}")
    is_full = isinstance(task.get("data"), Mapping)
    data = task["data"] if is_full else task
    try:
        labels = _annotated(task, config) if is_full else _minimal(task, config)
    except (AttributeError, TypeError, KeyError, IndexError) as error:
        return Record(where, {}, f"annotations that are not of the format of Label Studio: {error!r}")
    id = data.get(DOCUMENT, data.get(config.id_field, task.get("id")))
    return Record(where, {**data, config.id_field: id, config.labels_field: labels})


def _annotated(task: Mapping[str, Any], config: CorpusConfig) -> list[str] | None:
    """The labels of a task of a JSON export; None if there is no annotation."""
    made = [one for one in task.get("annotations") or () if not one.get("was_cancelled")]
    if not made:
        return None
    best = max(made, key=lambda one: (bool(one.get("ground_truth")), str(one.get("updated_at") or "")))
    values = [(one.get("from_name"), one["value"]) for one in best.get("result") or () if "value" in one]
    named = [value for name, value in values if name == config.labels_field]
    return _labels(named or [value for _, value in values])


def _minimal(task: Mapping[str, Any], config: CorpusConfig) -> list[str] | None:
    """The labels of a task of a JSON_MIN export, in which one choice is a text, and a tag without any is left out."""
    if config.labels_field in task:
        found = task[config.labels_field]
        return _labels(found if isinstance(found, list) else [found])
    values = [one for value in task.values() for one in (value if isinstance(value, list) else [value])]
    others = [one for one in values if isinstance(one, Mapping) and ("taxonomy" in one or "choices" in one)]
    return _labels(others) if others or "annotation_id" in task else None


def _labels(values: list[Any]) -> list[str]:
    """The labels in the values of results: ends of paths, and choices."""
    found: list[str] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        else:
            found += [path[-1] for path in value.get("taxonomy") or ()]
            found += value.get("choices") or ()
    return list(dict.fromkeys(found))
