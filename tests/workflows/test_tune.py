"""A search finds better options, keeps every trial, and goes on after any interruption."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import taxocaps
from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import ConfigError, FileError, UnfinishedError
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.search_space import Choices, Range, search_space
from taxocaps.workflows.tune import tune

WORDS = {
    "cats": "cat purr whisker kitten meow",
    "dogs": "dog bark tail puppy bone",
    "trees": "leaf root seed bloom oak",
}
SHARED = "the of and in to day year house"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents with one telling word among many that tell nothing."""
    generator, path = random.Random(1), tmp_path_factory.mktemp("tune") / "train.jsonl"
    documents = [
        Document(
            " ".join([*generator.choices(SHARED.split(), k=9), generator.choice(WORDS[label].split())]), None, (label,)
        )
        for _ in range(20)
        for label in WORDS
    ]
    write_documents(documents, path)
    return path


@pytest.fixture(scope="module")
def found(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("found") / "search"
    return tune(corpus, out, model="SVM", linear__C=1e-3, trials=8, space=["linear.C=0.001..10"])


def journal(out):
    return (Path(out) / "journal.jsonl").read_bytes()


def test_the_first_trial_has_the_options_as_given_and_others_do_better(found):
    assert found.given == found.trials[0]
    assert found.given.options == {"linear.C": 1e-3}
    assert found.best.score > found.given.score
    assert [one.number for one in found.trials] == list(range(8))
    assert {one.state for one in found.trials} == {"complete", "pruned"}
    assert found.importance == {"linear.C": 1.0}
    assert found.measured_on == "training documents out of fold"


def test_a_trial_that_is_given_up_has_fewer_folds(found):
    for one in found.trials:
        assert (one.steps == 5) == (one.state == "complete") or one.steps == 5
    assert min(one.steps for one in found.trials if one.state == "pruned") < 5


def test_the_score_of_a_trial_is_that_of_training_with_its_options(found, corpus, tmp_path):
    config = resolve_run_config(Path(found.out) / "best.yaml")
    report = taxocaps.train(corpus, tmp_path / "model", config)
    assert report.validation.flat.micro.f1 == pytest.approx(found.best.score, abs=1e-6)
    assert yaml.safe_load(found.config) == {
        "model": "SVM",
        "preset": "default",
        "seed": 0,
        "linear": {"C": found.best.options["linear.C"]},
    }


def test_the_same_seed_gives_the_same_trials(found, corpus, tmp_path):
    again = tune(corpus, tmp_path / "again", model="SVM", linear__C=1e-3, trials=8, space=["linear.C=0.001..10"])
    assert [(one.options, one.score) for one in again.trials] == [(one.options, one.score) for one in found.trials]


def test_a_finished_search_makes_no_more_trials_until_more_are_wanted(corpus, tmp_path):
    given = {"model": "SVM", "space": ["linear.C"], "progress": lambda *_, **__: None}
    tune(corpus, tmp_path / "s", trials=2, **given)
    before = journal(tmp_path / "s")
    assert len(tune(corpus, tmp_path / "s", trials=2, **given).trials) == 2
    assert journal(tmp_path / "s") == before
    assert len(tune(corpus, tmp_path / "s", trials=3, **given).trials) == 3


def test_an_interrupted_trial_is_made_again_from_its_last_fold(corpus, tmp_path):
    class Stop(KeyboardInterrupt):
        pass

    seen = []

    def stop(stage, done, total=None, note=""):
        seen.append(note)
        if "trial 1: fold 3" in note:
            raise Stop

    given = {"model": "SVM", "space": ["linear.C"], "trials": 3}
    with pytest.raises(Stop):
        tune(corpus, tmp_path / "s", progress=stop, **given)
    work = next((tmp_path / "s" / ".tuning" / "work").iterdir())
    assert sorted(path.parent.name for path in work.rglob("scores.npy")) == ["fold-0", "fold-1"]
    # A killed process may leave half a line, too.
    with (tmp_path / "s" / "journal.jsonl").open("ab") as file:
        file.write(b'{"op_code":5,"wor')
    found = tune(corpus, tmp_path / "s", **given)
    whole = tune(corpus, tmp_path / "whole", **given)
    assert [one.number for one in found.trials] == [0, 2, 3]
    assert [(one.options, one.score) for one in found.trials[:2]] == [
        (one.options, one.score) for one in whole.trials[:2]
    ]
    assert not list((tmp_path / "s" / ".tuning").glob("w*"))


def test_a_trial_that_fails_is_kept_and_the_others_go_on(corpus, tmp_path):
    found = tune(
        corpus,
        tmp_path / "s",
        model="SVM",
        trials=6,
        space=["text.language=en,xx"],
    )
    failed = [one for one in found.trials if one.state == "failed"]
    assert len(found.trials) == 6
    assert failed
    assert all("xx" in one.error and one.score is None for one in failed)
    with pytest.raises(taxocaps.TaxoCapsError, match="xx"):
        tune(corpus, tmp_path / "t", model="SVM", text__language="xx", trials=3, space=["linear.C"])


def test_time_ends_a_search_between_folds_and_another_run_continues(corpus, tmp_path):
    with pytest.raises(UnfinishedError, match="no trial came to its end"):
        tune(corpus, tmp_path / "s", model="SVM", time=0, space=["linear.C"])
    found = tune(corpus, tmp_path / "s", model="SVM", time="5m", trials=2, space=["linear.C"])
    assert len(found.trials) == 2


def test_joined_models_are_searched_by_their_trees(corpus, tmp_path):
    found = tune(corpus, tmp_path / "s", trials=2, without="characters,pairs")
    assert list(found.space) == ["join.learning_rate", "join.leaves", "join.min_pairs", "join.penalty"]
    assert found.best.steps >= 10


@pytest.mark.parametrize(("dev", "where"), [(True, "validation documents"), (False, "training documents held out")])
def test_networks_are_judged_after_each_epoch(corpus, tmp_path, tiny, dev, where):
    given = resolve_run_config(overrides=(*tiny, "training.epochs=3", "training.batch_size=30"))
    documents = {"dev": shutil.copy(corpus, tmp_path / "dev.jsonl")} if dev else {}
    found = tune(
        corpus, tmp_path / "s", given, trials=2, space=["training.learning_rate", "graph.window=2..4"], **documents
    )
    assert found.measured_on == where
    assert found.trials[0].steps == 3
    assert isinstance(found.trials[1].options["graph.window"], int)


@pytest.mark.slow
def test_several_processes_share_a_search(corpus, tmp_path):
    found = tune(corpus, tmp_path / "s", model="SVM", trials=4, jobs=2, space=["linear.C"])
    assert sorted(one.number for one in found.trials) == [0, 1, 2, 3]
    assert len({one.options["linear.C"] for one in found.trials}) == 4


def test_what_is_refused(corpus, tmp_path):
    out = tmp_path / "s"
    tune(corpus, out, model="SVM", trials=1, space=["linear.C"])
    for other in ({"space": ["linear.C=1..2"]}, {"metric": "macro-f1"}, {"seed": 3}):
        with pytest.raises(FileError, match="has a search with other"):
            tune(corpus, out, **{"model": "SVM", "trials": 1, "space": ["linear.C"], **other})
    assert len(tune(corpus, out, model="SVM", trials=1, seed=3, space=["linear.C"], overwrite=True).trials) == 1
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("")
    with pytest.raises(FileError, match="is not a search"):
        tune(corpus, tmp_path / "full", model="SVM")
    with pytest.raises(ConfigError, match=r"training\.devices=1"):
        tune(corpus, tmp_path / "t", model="LSTM", training__devices=2)


def test_spaces_are_declared_or_given():
    config = resolve_run_config(options={"model": "SVM"})
    assert search_space(config)["linear.C"] == Range(0.03, 30, log=True, whole=False)
    given = search_space(config, ["bag.min_documents=1..3", "bag.counts=all,once", "linear.C", "linear.C=1..5"])
    assert given == {
        "bag.min_documents": Range(1, 3, log=False, whole=True),
        "bag.counts": Choices(("all", "once")),
        "linear.C": Range(1, 5, log=False, whole=False),
    }
    assert search_space(config, ["bag.max_features=100,null"])["bag.max_features"] == Choices((100, None))
    joined = resolve_run_config()
    assert search_space(joined, ["members.words.linear.C"]) == {"members.words.linear.C": Range(0.03, 30, True, False)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("linear.D=1..2", "unknown configuration key linear.D"),
        ("linear.C=2..1", "takes KEY=LOW..HIGH"),
        ("linear.C=a..b", "takes KEY=LOW..HIGH"),
        ("linear.C=0..1", "linear.C must be"),
        ("bag.counts=some", "bag.counts must be one of"),
        ("linear.iterations", "declares no range"),
        ("corpus.encoding=utf-8", "only options of a model"),
    ],
)
def test_spaces_that_are_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        search_space(resolve_run_config(options={"model": "SVM"}), [given])


def test_every_model_declares_something_to_search():
    from taxocaps.catalogue.models import MODELS

    for model in MODELS:
        config = resolve_run_config(options={"model": model.name})
        assert 3 <= len(search_space(config)) <= 6, model.name


@pytest.mark.slow
def test_kills_lose_no_trial(corpus, tmp_path):
    generator, out = random.Random(7), tmp_path / "s"
    command = [sys.executable, "-m", "taxocaps", "tune", corpus, "--out", out, "--trials", "12"]
    command += ["--model", "SVM", "--jobs", "2", "--json"]
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not (out / "journal.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(generator.uniform(0, 3))
        os.kill(process.pid, generator.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        process.wait(timeout=60)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert len(found["trials"]) >= 12
    assert len({json.dumps(one["options"]) for one in found["trials"]}) == len(found["trials"])
    assert not list((out / ".tuning").glob("work/*"))
