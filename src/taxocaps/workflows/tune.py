"""Search for better options of a model, with Optuna: resumable, and shared by any number of processes and machines."""

import json
import os
import shutil
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from filelock import FileLock, Timeout

from taxocaps.config import fingerprint, seconds
from taxocaps.encoding.store import MANIFEST, is_store
from taxocaps.errors import ConfigError, FileError, TaxoCapsError, UnfinishedError
from taxocaps.files import atomic_text, check_exists, digest
from taxocaps.progress import Progress, silent
from taxocaps.registry import import_extra
from taxocaps.report.tuning_page import tuning_page
from taxocaps.results import Interim, Trial, Tuning
from taxocaps.scorers.base import FitContext
from taxocaps.scorers.fitting import fit_with_scores
from taxocaps.taxonomy.readers import as_taxonomy
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.workflows.bulk import Engine, EngineKind
from taxocaps.workflows.config import RunConfig, refuse_both, resolve_run_config
from taxocaps.workflows.search_space import Choices, Range, Space, search_space, value_of
from taxocaps.workflows.train import check_corpus_options
from taxocaps.workflows.trained_on import content_hash
from taxocaps.workflows.training_data import TrainFiles, TrainingData

__all__ = ["TuneMetric", "tune"]

TuneMetric = Literal["micro-f1", "macro-f1"]

_TRIALS = 30
"""Trials, unless trials or time are given."""
_UNPRUNED = 5
"""Trials that run to their end before others are compared with them."""
_STAGE, _NAME = "trials", "taxocaps"


def tune(  # noqa: PLR0913 - a front door: each argument stands for itself
    train: Path | str,
    out: Path | str,
    config: RunConfig | None = None,
    *,
    taxonomy: Any = None,
    dev: Path | str | None = None,
    space: Sequence[str] = (),
    metric: TuneMetric = "micro-f1",
    trials: int | None = None,
    time: str | int | None = None,
    jobs: int | None = None,
    engine: EngineKind = "processes",
    address: str | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
    **options: Any,
) -> Tuning:
    """Search for better options of a model.

    The first trial has the given options, as far as they lie in the space; the others are proposed by a tree-structured
    Parzen estimator. Each is measured on documents that it has not learned from: `dev`, training documents out of fold,
    or training documents that are held out. A trial that is worse than the median after the same epoch or fold is
    stopped. Everything is kept in `out`: an interrupted search continues from the last epoch or fold when it is started
    again, and other processes and machines that start the same search take part in it. `best.yaml` there has the best
    options for training, and `report.html` shows all trials.

    Args:
        train: Labelled documents.
        out: The folder of the search.
        config: The options of the model, as in training; by default those of the default model, changed by `options`.
        taxonomy: A file, a `Taxonomy`, a dict or a networkx graph; without it, the labels of the documents are a flat
            list.
        dev: Validation documents.
        space: What is tried, see `search_space`; by default what the options of the model declare.
        metric: The metric to maximize.
        trials: The number of trials in all, those of earlier runs and other machines included; by default 30, or no
            limit if `time` is given.
        time: How long this call may take, such as `90s` or `2h`; a running trial then stops after its epoch or fold,
            and another call continues it.
        jobs: The number of trials that run at the same time, each in a process or, on a cluster, on a core of its own;
            by default one, or as many as the cluster has cores.
        engine: `processes` of this machine, or `ray`: actors of a Ray cluster, whose nodes see the documents and `out`
            at the same paths.
        address: The address of a Ray cluster; by default one is started on this machine.
        overwrite: Begin anew where another search has been.
        progress: Called with the progress of the work.
        tell: Called with messages for the user.
        options: Options by name, such as `model="SVM"`, `seed=1` or `training__epochs=5`.

    Raises:
        FileError: If the folder has a search of other documents or options.
        UnfinishedError: If no trial was completed.
    """
    optuna = import_extra("optuna", "tune")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    deadline = None if time is None else clock.time() + float(seconds(time))
    refuse_both(config, options)
    config = config or resolve_run_config(options=options, beside=_BESIDE)
    task = _task(TrainFiles(Path(train), taxonomy, Path(dev) if dev else None), config, Path(out), space, metric)
    wanted = trials if trials is not None or deadline is not None else _TRIALS
    is_local = engine != "ray"
    workers = Engine(engine, 1 if jobs is None and is_local else jobs, address)
    _claim(task, overwrite)
    _encode(task, config, progress, tell)
    threads = max(1, (os.cpu_count() or 1) // workers.processes) if is_local else 1
    runner = _Runner(task, wanted, deadline, threads, progress if is_local and workers.jobs == 1 else None)
    _run(runner, workers, progress)
    return _finish(task, wanted)


_BESIDE = (
    *("taxonomy", "dev", "space", "metric", "trials", "time", "jobs", "engine", "address", "overwrite", "progress"),
    "tell",
)
"""What `tune` takes by name besides options."""


@dataclass(frozen=True)
class _Task:
    """What is searched: documents, options, space and metric; everything that all its processes share."""

    files: TrainFiles
    taxonomy: Taxonomy | None
    config: RunConfig
    out: Path
    space: Space
    metric: TuneMetric

    @property
    def hidden(self) -> Path:
        """The folder for files that are only needed during the search."""
        return self.out / ".tuning"

    @property
    def lock(self) -> FileLock:
        """Held while a trial begins or ends."""
        return FileLock(self.hidden / "lock")

    @property
    def measured_on(self) -> str:
        options = self.config.options
        if self.files.dev is not None and not options.learns_validation:
            return "validation documents"
        return "training documents out of fold" if options.learns_validation else "training documents held out"

    def identity(self) -> dict[str, Any]:
        """What defines the search; a folder with another one is refused."""
        parts = {"train": self.files.train, "dev": self.files.dev}
        return {
            "documents": {
                name: digest(path / MANIFEST) if is_store(path) else content_hash(path)
                for name, path in parts.items()
                if path is not None
            },
            "taxonomy": self.taxonomy.fingerprint if self.taxonomy else None,
            "options": fingerprint(self.config.as_mapping()),
            "space": {key: str(tried) for key, tried in self.space.items()},
            "metric": self.metric,
        }

    def study(self) -> Any:
        """The Optuna study with all trials so far."""
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        journal = self.out / "journal.jsonl"
        lock: Any = _JournalLock(journal, self.hidden / "journal.lock")
        storage = JournalStorage(JournalFileBackend(str(journal), lock))
        if not storage.get_all_studies():
            optuna.create_study(storage=storage, study_name=_NAME, direction="maximize", load_if_exists=True)
        pruner = optuna.pruners.MedianPruner(n_startup_trials=_UNPRUNED)
        return optuna.load_study(storage=storage, study_name=_NAME, pruner=pruner)

    def ask(self, study: Any) -> Any:
        """A new trial; what it tries depends on the seed, its number and the trials so far, not on who asks."""
        import optuna

        trial = study.ask()
        study.sampler = optuna.samplers.TPESampler(seed=self.config.seed + trial.number)
        return trial

    def trial_lock(self, number: int) -> FileLock:
        """Held by the process that runs a trial; the system releases it however that process ends."""
        return FileLock(self.hidden / f"trial-{number}.lock", timeout=0)


def _task(files: TrainFiles, config: RunConfig, out: Path, space: Sequence[str], metric: TuneMetric) -> _Task:
    for path in (files.train, files.dev, files.taxonomy):
        if isinstance(path, str | Path):
            check_exists(Path(path))
    if config.start is not None:
        raise ConfigError(f"{config.start}: is the folder of a model; name a model, whose options are to be searched")
    if getattr(getattr(config.options, "training", None), "devices", 1) > 1:
        raise ConfigError("a search trains with training.devices=1; give --jobs, or start it on several machines")
    check_corpus_options(files, config)
    tree = as_taxonomy(files.taxonomy) if files.taxonomy is not None else None
    seen = replace(files, train=files.train.resolve(), dev=files.dev.resolve() if files.dev else None)
    return _Task(seen, tree, config, out.resolve(), search_space(config, space), metric)


class _JournalLock:
    """Lets one process at a time write to the journal; Optuna's own locks are files that outlive a killed process."""

    def __init__(self, journal: Path, lock: Path) -> None:
        self._journal, self._lock = journal, FileLock(lock)

    def acquire(self) -> bool:
        """Take the lock, and remove what a killed process has half written."""
        self._lock.acquire()
        with self._journal.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
        return True

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()


def _claim(task: _Task, overwrite: bool) -> None:
    """Make the folder of the search, or check that an existing one belongs to the same search."""
    path = task.out / "search.json"
    if task.out.exists() and not path.exists() and any(one.name != ".tuning" for one in task.out.iterdir()):
        raise FileError(f"{task.out}: exists and is not a search; choose another --out")
    task.hidden.mkdir(parents=True, exist_ok=True)
    with task.lock:
        wanted = json.loads(json.dumps(task.identity()))
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else wanted
        other = next((name for name in wanted if known.get(name) != wanted[name]), None)
        if other is not None and not overwrite:
            raise FileError(
                f"{task.out}: has a search with other {other}; choose another --out, or give --overwrite to begin anew"
            )
        if overwrite:
            _clear(task)
        with atomic_text(path) as file:
            json.dump(wanted, file, indent=2)


def _clear(task: _Task) -> None:
    if any(_is_held(task.trial_lock(number)) for number in _locked(task)):
        raise FileError(f"{task.out}: another process is at a trial there; wait for it, or choose another --out")
    _remove(path for path in (*task.out.iterdir(), *task.hidden.iterdir()) if path.name not in (".tuning", "lock"))


def _remove(paths: Iterable[Path]) -> None:
    for path in list(paths):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _locked(task: _Task) -> Iterator[int]:
    return (int(path.stem.partition("-")[2]) for path in task.hidden.glob("trial-*.lock"))


def _is_held(lock: FileLock) -> bool:
    try:
        with lock:
            return False
    except Timeout:
        return True


def _encode(task: _Task, config: RunConfig, progress: Progress, tell: Callable[[str], None]) -> TrainFiles:
    """Encode documents once for all trials that read them alike; returns the stores."""
    options = config.options
    reading = [options.text.as_mapping(), {name: one.as_mapping() for name, one in options.encodings.items()}]
    folder = task.hidden / "stores" / fingerprint(reading)[:16]
    given = {"train": task.files.train, "dev": task.files.dev}
    paths = {name: path for name, path in given.items() if path is not None and not is_store(path)}
    stores: dict[str, Any] = {name: folder / "stores" / name for name in paths}
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not all(map(is_store, stores.values())):
            TrainingData(task.files, config, folder, progress).encode(tell)
    return replace(task.files, **stores)


@dataclass(frozen=True)
class _Runner:
    """Runs one trial after another, in any process, on any machine that sees the folder of the search.

    Attributes:
        task: What is searched.
        trials: The number of trials of all processes; None for no limit.
        deadline: When to stop, in seconds since the epoch.
        threads: Threads of compiled parts.
        progress: Told where each trial stands, if there is only this process.
    """

    task: _Task
    trials: int | None
    deadline: float | None
    threads: int
    progress: Progress | None
    model: ClassVar[None] = None

    def with_model(self, folder: Path) -> Self:
        """The same: trials need no model."""
        return self

    def __call__(self, _: int) -> bool:
        """Run a trial; returns whether there was one left to run."""
        task = self.task
        study = task.study()
        with task.lock:
            _revive(study, task)
            if self._is_over(study):
                return False
            if not study.get_trials(deepcopy=False):
                study.enqueue_trial(_as_given(task))
            trial = task.ask(study)
            lock = task.trial_lock(trial.number)
            lock.acquire()
        try:
            self._try(study, trial)
        except _TimeIsOver:
            return False
        finally:
            lock.release()
        return True

    def _is_over(self, study: Any) -> bool:
        made = len(_finished(study)) + sum(one.state.name == "RUNNING" for one in study.get_trials(deepcopy=False))
        return (self.trials is not None and made >= self.trials) or self.is_late

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and clock.time() >= self.deadline

    def _try(self, study: Any, trial: Any) -> None:
        import optuna

        options = {key: _suggest(trial, key, tried) for key, tried in self.task.space.items()}
        work = self.task.hidden / "work" / fingerprint(options)[:16]
        work.mkdir(parents=True, exist_ok=True)
        begin, states = clock.monotonic(), optuna.trial.TrialState
        score, state = None, states.COMPLETE
        try:
            score = self._score(study, trial, options, work)
        except optuna.TrialPruned:
            state = states.PRUNED
        except TaxoCapsError as error:
            if not _finished(study):
                raise  # the options as given do not work: others will not either
            trial.set_user_attr("error", str(error))
            state = states.FAIL
        trial.set_user_attr("seconds", round(clock.monotonic() - begin, 3))
        study.tell(trial, score, state=state)
        shutil.rmtree(work, ignore_errors=True)

    def _score(self, study: Any, trial: Any, options: Mapping[str, Any], work: Path) -> float:
        """How good a model with some options is on documents that it has not learned from."""
        task = self.task
        config = task.config.changed(options)
        data = TrainingData(_encode(task, config, silent, lambda _: None), config, work, silent)
        data.encode(lambda _: None)
        data.resolve_labels(task.taxonomy, None)
        context = FitContext(work, True, self.threads, self._shown(study, trial), watch=_Watcher(self, trial))
        validation = data.examples("dev") if task.files.dev is not None else None
        scorer = data.make_scorer(self.threads)
        model, _ = fit_with_scores(data.name, scorer, data.examples("train"), validation, context, only_validate=True)
        assert model.validation is not None
        found = model.validation.flat
        return float(found.micro.f1 if task.metric == "micro-f1" else found.macro.f1)

    def _shown(self, study: Any, trial: Any) -> Progress:
        if (progress := self.progress) is None:
            return silent
        finished, best = len(_finished(study)), _best_so_far(study)

        def report(stage: str, done: int, total: int | None = None, note: str = "") -> None:
            progress(_STAGE, finished, self.trials, f"{best}trial {trial.number}: {stage}")

        return report


class _TimeIsOver(Exception):  # noqa: N818 - no error
    """The time of a search is over in the middle of a trial."""


class _Watcher:
    """Reports each epoch or fold of a trial to Optuna, and stops a trial that is not worth continuing."""

    def __init__(self, runner: _Runner, trial: Any) -> None:
        self._runner, self._trial, self._step = runner, trial, 0

    def __call__(self, interim: Interim) -> None:
        import optuna

        self._step = max(self._step + 1, interim.step)  # the folds of one member come after those of another
        found = interim.micro_f1 if self._runner.task.metric == "micro-f1" else interim.macro_f1
        self._trial.report(found, self._step)
        if self._trial.should_prune():
            raise optuna.TrialPruned
        if self._runner.is_late:
            raise _TimeIsOver


def _suggest(trial: Any, key: str, tried: Range | Choices) -> Any:
    if isinstance(tried, Choices):
        return trial.suggest_categorical(key, tried.values)
    if tried.whole:
        return trial.suggest_int(key, int(tried.low), int(tried.high), log=tried.log)
    return trial.suggest_float(key, tried.low, tried.high, log=tried.log)


def _as_given(task: _Task) -> dict[str, Any]:
    """The given values of the options that are searched, without those outside the space."""
    known = {key: value_of(task.config, key) for key in task.space}
    return {key: known[key] for key, tried in task.space.items() if known[key] in tried}


def _revive(study: Any, task: _Task) -> None:
    """Queue trials again whose process ended before they were finished; they continue from what is in their folders.

    Called while the lock of the search is held, so that no trial begins. One may end: whether it is still said to run
    is looked up after its lock was found free.
    """
    import optuna

    states = (optuna.trial.TrialState.RUNNING,)
    running = [trial.number for trial in study.get_trials(deepcopy=False, states=states)]
    free = {number for number in running if not _is_held(task.trial_lock(number))}
    for trial in study.get_trials(deepcopy=False, states=states):
        if trial.number in free:
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            first = _as_given(task) if trial.number == 0 else {}  # it may have ended before its options were noted
            study.enqueue_trial({**first, **trial.params})


def _finished(study: Any) -> list[Any]:
    """The trials that are complete, pruned or failed, without those whose process was killed."""
    return [
        one
        for one in study.get_trials(deepcopy=False)
        if one.state.name in ("COMPLETE", "PRUNED") or "error" in one.user_attrs
    ]


def _best_so_far(study: Any) -> str:
    found = [one.value for one in study.get_trials(deepcopy=False) if one.state.name == "COMPLETE"]
    return f"best {max(found):.4f}, " if found else ""


def _run(runner: _Runner, engine: Engine, progress: Progress) -> None:
    items = range(runner.trials) if runner.trials is not None else count()
    for is_made in engine.map(runner, takewhile(lambda _: not runner.is_late, items)):
        if not is_made and runner.progress is not None:  # all trials are made, or the time is over
            break
        study = runner.task.study()
        progress(_STAGE, len(_finished(study)), runner.trials, _best_so_far(study).rstrip(", "))


def _finish(task: _Task, wanted: int | None) -> Tuning:
    """Write the results; files for the search alone are removed once all trials are done."""
    study = task.study()
    found = _tuning(task, study)
    with atomic_text(task.out / "best.yaml") as file:
        file.write(found.config)
    with atomic_text(task.out / "report.html") as file:
        file.write(tuning_page(found))
    with task.lock:
        is_done = wanted is not None and len(found.trials) >= wanted
        if is_done and not any(_is_held(task.trial_lock(number)) for number in _locked(task)):
            _remove(path for path in task.hidden.iterdir() if path.name != "lock")
    return found


def _tuning(task: _Task, study: Any) -> Tuning:
    trials = tuple(map(_trial, _finished(study)))
    complete = [one for one in trials if one.state == "complete"]
    if not complete:
        raise UnfinishedError(f"{task.out}: no trial came to its end; give the same command again, with more time")
    best = max(complete, key=lambda one: (one.score or 0, -one.number))
    is_inside = len(_as_given(task)) == len(task.space)
    given = next((one for one in complete if is_inside and dict(one.options) == _as_given(task)), None)
    heading = f"# The best of {len(trials)} trials: {task.metric} {best.score:.4f} on {task.measured_on}.\n"
    return Tuning(
        out=str(task.out),
        model=task.config.model,
        metric=task.metric,
        measured_on=task.measured_on,
        space={key: str(tried) for key, tried in task.space.items()},
        trials=trials,
        best=best,
        given=given,
        importance=_importance(study, list(task.space)),
        config=heading + task.config.changed(best.options).given_as_yaml(),
    )


def _trial(found: Any) -> Trial:
    states: dict[str, Literal["complete", "pruned", "failed"]] = {"COMPLETE": "complete", "PRUNED": "pruned"}
    return Trial(
        number=found.number,
        state=states.get(found.state.name, "failed"),
        options=dict(found.params),
        score=found.value if found.value is None else round(float(found.value), 6),
        steps=len(found.intermediate_values),
        seconds=float(found.user_attrs.get("seconds", 0)),
        error=found.user_attrs.get("error"),
    )


def _importance(study: Any, keys: list[str]) -> dict[str, float]:
    """How much of the variance of scores each option explains (functional ANOVA; Hutter et al. 2014)."""
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    values = {one.value for one in study.get_trials(deepcopy=False) if one.state.name == "COMPLETE"}
    if len(values) < 2:
        return {}
    found = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=0), params=keys)
    return {key: round(float(share), 4) for key, share in found.items()}
