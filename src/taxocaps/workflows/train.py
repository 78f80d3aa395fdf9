"""Train a model: from files of labelled documents and a taxonomy to a model folder."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from taxocaps.catalogue.classifier import TaxoCapsClassifier
from taxocaps.config import fingerprint
from taxocaps.errors import CorpusError
from taxocaps.estimators.base import Work
from taxocaps.estimators.config import used_options
from taxocaps.estimators.model import FittedModel
from taxocaps.estimators.persistence import save_model
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.progress import Progress, silent
from taxocaps.report.model_card import ModelCard, model_card
from taxocaps.report.training_page import TrainingFacts, training_page
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.workflows.evaluate import evaluate_documents
from taxocaps.workflows.labelled import Documents, read_labelled
from taxocaps.workflows.run_config import RUN_KEYS, RunConfig
from taxocaps.workflows.training_folder import Existing, TrainingFolder

__all__ = ["TrainFiles", "TrainReport", "train"]

_OF_WEIGHTS = ("family", "text", "tokens", "vocabulary", "graph", "vectors", "network", "loss")
"""The sections that must stay as they are when training goes on from the weights of a model."""


@dataclass(frozen=True)
class TrainFiles:
    """What a model is trained from.

    Attributes:
        train: Labelled documents.
        taxonomy: The labels there are; without it, the labels of the documents stand side by side.
        dev: Documents that decide when to stop and where to cut; by default some training documents are held out.
        test: Documents that the finished model is measured on.
        start: A model to go on from.
    """

    train: Path
    taxonomy: Path | None = None
    dev: Path | None = None
    test: Path | None = None
    start: Path | None = None


@dataclass(frozen=True)
class TrainReport:
    """What training came to.

    Attributes:
        out: The model's folder.
        model: The name of the model.
        preset: The name of the preset.
        seed: The seed.
        documents: Documents of each file.
        labels: Labels that the model can give.
        parameters: Weights that were learned.
        epochs: Epochs that were trained.
        best_epoch: The one that was kept.
        seconds: How long all of it took, resumed parts apart.
        unknown: Labels outside the taxonomy, added or dropped as `labels.unknown` says, with their documents.
        validation: How good the model is on the validation documents, on which its thresholds were tuned.
        test: How good it is on the test documents.
    """

    out: str
    model: str
    preset: str
    seed: int
    documents: Mapping[str, int]
    labels: int
    parameters: int
    epochs: int
    best_epoch: int
    seconds: float
    unknown: Mapping[str, int]
    validation: Evaluation
    test: Evaluation | None


def train(
    files: TrainFiles,
    out: Path,
    config: RunConfig | None = None,
    *,
    existing: Existing = "refuse",
    keep: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
) -> TrainReport | None:
    """Train a model.

    Checkpoints lie in `out/.training`. When training is interrupted they stay, and another run can go on from there.

    Args:
        files: What the model is trained from.
        out: The folder to make.
        config: The options of all stages.
        existing: What to do about a model or an interrupted run in `out`: refuse to train, `resume` the run, which
            must have had the same documents and options, or `overwrite` them.
        keep: Leave checkpoints and logs in `out/.training`.
        progress: Told where the work stands.
        tell: Told what a person should know, such as the memory that training will take.

    Returns:
        What it came to; None in all but the first of several processes that train together.
    """
    began = time.monotonic()
    run = _read(files, config or RunConfig())
    config = run.config
    with TrainingFolder(out, run.fingerprint, existing, keep=keep) as folder:
        classifier = _classifier(run, config)
        documents = run.documents
        work = Work(folder.work, resume=existing == "resume", threads=os.cpu_count() or 1, progress=progress, tell=tell)
        classifier.fit(
            documents["train"].texts,
            documents["train"].labels,
            validation=(documents["dev"].texts, documents["dev"].labels) if "dev" in documents else None,
            start=run.start,
            work=work,
        )
        if not folder.is_first_process:
            return None
        model = classifier.model_
        test = evaluate_documents(model, documents["test"]) if "test" in documents else None
        report = _report(run, out, model, test, time.monotonic() - began)
        save_model(model, folder.result)
        _add_to_model(folder, report, model)
        folder.publish()
    return report


@dataclass(frozen=True)
class _Run:
    """All that was read, and the options, some of which are those of the model to start from."""

    config: RunConfig
    documents: Mapping[str, Documents]
    taxonomy: Taxonomy | None
    unknown: Mapping[str, int]
    start: TaxoCapsClassifier | None
    fingerprint: str


def _read(files: TrainFiles, config: RunConfig) -> _Run:
    start = TaxoCapsClassifier.load(files.start) if files.start else None
    if start is not None:  # weights fit only a network of the same shape over words of the same kind
        theirs = start.model_
        same = {name: getattr(theirs.config, name) for name in _OF_WEIGHTS}
        config = replace(config, model=theirs.name.model, **same)
    taxonomy = read_taxonomy(files.taxonomy) if files.taxonomy else None
    if taxonomy is None and start is not None:
        taxonomy = start.model_.classes.taxonomy
    paths = {"train": files.train, "dev": files.dev, "test": files.test}
    documents: dict[str, Documents] = {}
    unknown: Counter[str] = Counter()
    for name, path in paths.items():
        if path is not None:
            # One file given for several parts is parted by its field `split`.
            is_shared = list(paths.values()).count(path) > 1 and config.corpus.split is None
            corpus = replace(config.corpus, split=name) if is_shared else config.corpus
            documents[name] = read_labelled(path, corpus, taxonomy, config.labels.unknown)
            taxonomy = documents[name].taxonomy
            unknown.update(documents[name].unknown)
            if not any(documents[name].labels):
                raise CorpusError(f"{path}: no document carries a label (field '{corpus.labels_field}')")
    content = [documents[name].fingerprint for name in documents]
    state = [config.as_mapping(), taxonomy.fingerprint if taxonomy else None, content, str(files.start)]
    return _Run(config, documents, taxonomy, unknown, start, fingerprint(state))


def _classifier(run: _Run, config: RunConfig) -> TaxoCapsClassifier:
    settings = {key: value for key, value in used_options(config).items() if key not in RUN_KEYS}
    return TaxoCapsClassifier(config.model, run.taxonomy, config.preset, settings=settings, random_state=config.seed)


def _report(run: _Run, out: Path, model: FittedModel, test: Evaluation | None, seconds: float) -> TrainReport:
    assert model.validation is not None
    return TrainReport(
        out=str(out),
        model=model.name.model,
        preset=model.name.preset,
        seed=model.name.seed,
        documents={name: len(documents.texts) for name, documents in run.documents.items()},
        labels=len(model.classes),
        parameters=model.scorer.parameters,
        epochs=model.report.epochs,
        best_epoch=model.report.best_epoch,
        seconds=seconds,
        unknown=run.unknown,
        validation=model.validation,
        test=test,
    )


def _add_to_model(folder: TrainingFolder, report: TrainReport, model: FittedModel) -> None:
    """What people want to see in a model's folder: card, report, history, and figures on the test documents."""
    metrics_file = folder.result / "metrics.json"
    metrics = json.loads(metrics_file.read_text(encoding="utf-8"))
    metrics |= {"documents": dict(report.documents), "test": report.test.as_dict() if report.test else None}
    metrics_file.write_text(json.dumps(metrics, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    history = folder.work / "checkpoints" / "history.csv"
    if history.exists():
        (folder.result / "history.csv").write_bytes(history.read_bytes())
    card = _card(report, is_tuned=model.config.decision.rule in ("one-cut", "per-label"))
    (folder.result / "README.md").write_text(model_card(card), encoding="utf-8")
    (folder.result / "report.html").write_text(_page(card, model), encoding="utf-8")


def _card(report: TrainReport, *, is_tuned: bool) -> ModelCard:
    return ModelCard(
        name=report.model,
        preset=report.preset,
        seed=report.seed,
        documents=report.documents,
        labels=report.labels,
        parameters=report.parameters,
        is_tuned=is_tuned,
        epochs=(report.epochs, report.best_epoch),
        validation=report.validation,
        test=report.test,
    )


def _page(card: ModelCard, model: FittedModel) -> str:
    assert model.diagnosis is not None
    decision = model.config.decision
    return training_page(
        TrainingFacts(
            card=card,
            classes=model.classes,
            cuts=model.cuts,
            top_k=decision.k if decision.rule == "top-k" else None,
            history=model.report.history,
            diagnosis=model.diagnosis,
        )
    )
