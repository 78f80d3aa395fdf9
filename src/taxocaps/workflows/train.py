"""Train a model: from labelled documents and a taxonomy to a model folder."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from taxocaps.catalogue.models import find_model
from taxocaps.catalogue.presets import slow_members
from taxocaps.config import fingerprint, merge
from taxocaps.corpus.frames import as_path
from taxocaps.corpus.label_changes import TaxonomyChanges
from taxocaps.encoding.store import is_store
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.files import check_exists
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.notebook import table
from taxocaps.progress import Progress, silent
from taxocaps.report.tables import model_card, validated_on
from taxocaps.report.training_page import training_page
from taxocaps.results import ModelCard
from taxocaps.scorers.base import FitContext
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.taxonomy.readers import as_taxonomy
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.workflows.config import (
    RUN_KEYS,
    RunConfig,
    check_same,
    files_and_options,
    refuse_both,
    resolve_run_config,
)
from taxocaps.workflows.folders import Existing, TrainingFolder, read_versions
from taxocaps.workflows.parts import AUTO, NONE
from taxocaps.workflows.trained_on import write_trained_on
from taxocaps.workflows.training_data import TrainFiles, TrainingData

__all__ = ["TrainFiles", "TrainReport", "add_pages", "check_corpus_options", "like_model", "train"]


@dataclass(frozen=True)
class TrainReport:
    """The result of training.

    Attributes:
        out: The model's folder.
        card: What the model is and how good it is.
        seconds: How long this run took.
        unknown: Labels outside the taxonomy, added or dropped as `labels.unknown` says, with their document counts.
        validation: Metrics on the validation documents, on which the thresholds were tuned.
        test: Metrics on the test documents.
        lost: Labels of the model to start from that are no longer in the taxonomy.
    """

    out: str
    card: ModelCard
    seconds: float
    unknown: Mapping[str, int]
    validation: Evaluation
    test: Evaluation | None
    lost: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        where = "test documents" if self.test else validated_on(self.card)
        parts = ", ".join(f"{count:,} {name}" for name, count in self.card.documents.items())
        facts = (("model", self.card.model), ("documents", parts), ("labels", self.card.labels), ("folder", self.out))
        about = table(("", ""), facts, f"trained in {self.seconds:.0f} s; below, how good it is on the {where}")
        return about + (self.test or self.validation)._repr_html_()


def train(  # noqa: PLR0913 - a front door: each argument stands for itself
    files: Any,
    out: Path | str,
    config: RunConfig | None = None,
    *,
    existing: Existing = "refuse",
    keep: bool = False,
    trust_code: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
    **options: Any,
) -> TrainReport | None:
    """Train a model.

    Documents are first encoded into stores in `out/.training`, unless they are stores already, and read from there. The
    memory that a network takes does not grow with their number; a linear model keeps their bags of words in memory.
    Checkpoints go there, too. They stay if training is interrupted, so that another run can continue from them.

    Args:
        files: What the model is trained from (`TrainFiles`), or the labelled documents alone: a path, or a frame of
            pandas or polars.
        out: The folder to make.
        config: The options of all stages; by default those of the default model, changed by `options`.
        existing: What to do about a model or an interrupted run in `out`: `refuse` to train, `resume` the run, which
            must have had the same documents and options, or `overwrite` them.
        keep: Leave checkpoints and logs in `out/.training`.
        trust_code: Whether code that the model to start from names may be run.
        progress: Called with the progress of the work.
        tell: Called with messages for the user, such as how much memory training will take.
        options: Fields of `TrainFiles` such as `taxonomy="labels.tsv"`, and options by name such as `model="SVM"`,
            `seed=1` or `training__epochs=5`.

    Returns:
        The report; None in all but the first of several processes that train together.
    """
    began = time.monotonic()
    files, options = files_and_options(TrainFiles, files, options)
    with as_path(files.train) as documents, as_path(files.dev) as dev, as_path(files.test) as test:
        files = replace(files, train=documents, dev=dev, test=test)
        _check_paths(files)
        refuse_both(config, options)
        config = config or resolve_run_config(options=options, start=files.start, beside=_BESIDE)
        _check_run(files, config)
        start = load_model(files.start, trust_code=trust_code) if files.start else None
        if start is not None:
            config = like_model(start, config)
        known = start.classes.taxonomy if start is not None else None
        taxonomy = as_taxonomy(files.taxonomy) if files.taxonomy is not None else known
        state = [config.as_mapping(), taxonomy.fingerprint if taxonomy else None, str(files.start), files.split_by]
        with TrainingFolder(Path(out), fingerprint(state), existing, keep=keep) as folder:
            context = FitContext(folder.work, existing == "resume", os.cpu_count() or 1, progress, tell)
            report = _train(files, config, start, taxonomy, folder, context)
    return None if report is None else replace(report, seconds=time.monotonic() - began)


def _train(
    files: TrainFiles,
    config: RunConfig,
    start: FittedModel | None,
    taxonomy: Taxonomy | None,
    folder: TrainingFolder,
    context: FitContext,
) -> TrainReport | None:
    """Train in the folder of the run, and publish the model from there."""
    has_test = files.test is not None
    if not folder.is_first_process:  # the first one encodes and tests
        stores: dict[str, Any] = {name: path for name, path in folder.stores().items() if name != "test"}
        files = replace(files, test=None, **stores)
    data = TrainingData(files, config, folder.work, context.progress)
    folder.check_sources(data.encode(context.tell))
    data.divide(has_test=has_test)
    changes = TaxonomyChanges(start.classes.taxonomy, taxonomy) if start and taxonomy else None
    data.resolve_labels(taxonomy, start, changes)
    _tell_labels(data, start, changes, context.tell)
    _tell_what_is_missing(config.model, context.tell)
    model = data.fit(start, context)
    if not folder.is_first_process:
        return None
    report = _save(data, model, folder, _became("removed", start, changes))
    folder.publish()
    return report


def _save(data: TrainingData, model: FittedModel, folder: TrainingFolder, lost: tuple[str, ...]) -> TrainReport:
    """Measure a fitted model and write its folder."""
    test = data.evaluate(model)
    model = replace(model, metrics={**model.metrics, **data.metrics(test)})
    assert model.validation is not None
    write_trained_on(data.trained_on(), folder.result, folder.target)
    save_model(model, folder.result)
    add_pages(model, folder.result, folder.work)
    return TrainReport(str(folder.target), model.card(), 0.0, data.unknown, model.validation, test, lost)


def _tell_labels(
    data: TrainingData, start: FittedModel | None, changes: TaxonomyChanges | None, tell: Callable[[str], None]
) -> None:
    """Say how the labels of documents were found, and what became of those of the model to start from."""
    for line in data.describe():
        tell(line)
    for kind in ("renamed", "merged", "split", "removed"):
        if labels := _became(kind, start, changes):
            more = f" and {len(labels) - _TOLD:,} more" if len(labels) > _TOLD else ""
            what = "lost: no longer in the taxonomy" if kind == "removed" else f"{kind}, known all the same"
            tell(f"labels of the model to start from, {what}: {len(labels):,} ({', '.join(labels[:_TOLD])}{more})")


def _became(kind: str, start: FittedModel | None, changes: TaxonomyChanges | None) -> tuple[str, ...]:
    """The labels of the model to start from that something happened to."""
    if start is None or changes is None:
        return ()
    known = frozenset(start.classes.names)
    return tuple(label for one in changes.changes if one.kind == kind for label in one.old if label in known)


_TOLD = 5


def _tell_what_is_missing(model: str, tell: Callable[[str], None]) -> None:
    """Say which models could take part if the libraries of networks were installed."""
    spec = find_model(model)
    if spec.slow and not slow_members(spec):
        names = " and ".join(spec.slow)
        tell(f"{model} joins linear models; with the extra `networks` and --time 1h it tries {names}, too")


_BESIDE = (
    *("taxonomy", "dev", "test", "start", "split_by"),
    *("existing", "keep", "trust_code", "progress", "tell"),
)
"""What `train` takes by name besides options."""


def check_corpus_options(files: TrainFiles, config: RunConfig) -> None:
    """Refuse options for reading documents if all documents are in stores, which have been read already."""
    others = [key for key in config.overrides.get("corpus", ()) if key != "split"]
    if others and all(is_store(path) for path in (files.train, files.dev, files.test) if path is not None):
        raise ConfigError(
            f"{files.train}: is a store, whose documents are read already; corpus.{others[0]} means nothing for it: "
            "leave it out, or give it to encode"
        )


def _check_paths(files: TrainFiles) -> None:
    """Refuse a wrong path at once: options and models take seconds to load."""
    given = (files.train, files.dev, files.test, files.taxonomy)
    for path in given:
        if isinstance(path, str | Path):
            check_exists(Path(path))
    if files.start is not None:
        read_versions(files.start)
    if files.split_by not in (None, NONE, AUTO):
        _check_field(files)


def _check_field(files: TrainFiles) -> None:
    """Refuse --split-by FIELD together with other parts, or with a store, which does not keep the fields."""
    if files.dev is not None or files.test is not None:
        raise ConfigError(
            f"--split-by {files.split_by} makes validation and test documents; leave out --dev and --test"
        )
    if is_store(files.train):
        raise CorpusError(f"{files.train}: is a store, which has no field '{files.split_by}'; give the documents")


def _check_run(files: TrainFiles, config: RunConfig) -> None:
    """Refuse options that do not go together; only the process that reads the documents knows their fields."""
    if config.start is not None:
        raise ConfigError(
            f"{config.start}: is the folder of a model; name a model, or give --from to start from this one"
        )
    check_corpus_options(files, config)
    devices = getattr(getattr(config.options, "training", None), "devices", None) or 1
    several = devices > 1 or int(os.environ.get("WORLD_SIZE", "1")) > 1
    if several and files.split_by not in (None, NONE, AUTO):
        raise ConfigError(f"--split-by {files.split_by} is for one process; give --dev and --test as files instead")


def like_model(start: FittedModel, config: RunConfig) -> RunConfig:
    """The options of the model to start from with the given changes, as far as its weights allow them."""
    theirs, name = start.config.as_mapping(), start.name
    for key, found in {"model": name.model, "preset": name.preset}.items():
        if key in config.given and str(config.given[key]).lower() != found.lower():
            raise ConfigError(f"the model to start from has {key}={found}, not {config.given[key]}; leave it out")
    options = {key: value for key, value in config.given.items() if key not in RUN_KEYS}
    ours = type(start.config).model_validate(merge(theirs, options))
    check_same(start.config, ours, but=_MAY_DIFFER)
    return replace(config, model=name.model, preset=name.preset, options=ours)


_MAY_DIFFER = ("labels", "validation", "decision", "training", "loss", "walks", "label_vectors")
"""Sections that may differ from those of the model to start from; its weights depend on all others."""


def add_pages(model: FittedModel, result: Path, work: Path) -> None:
    """Write what people want to see in a model's folder: the card, the report, and the history of training.

    Args:
        model: The model; without a diagnosis it gets no report.
        result: The folder.
        work: Where it was trained.
    """
    for part in ("", "held-out"):
        history = work / part / "checkpoints" / "history.csv"
        if history.exists():
            (result / "history.csv").write_bytes(history.read_bytes())
    (result / "README.md").write_text(model_card(model.card()), encoding="utf-8")
    if model.diagnosis is not None:
        top_k = model.decision.top_k
        page = training_page(model.card(), model.taxonomy_view(), model.diagnosis, model.report, top_k=top_k)
        (result / "report.html").write_text(page, encoding="utf-8")
