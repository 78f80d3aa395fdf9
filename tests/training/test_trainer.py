"""Training runs: early stopping, the best weights, and resuming after any interruption."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from taxocaps.errors import CheckpointError, ConfigError
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.training.batches import score_documents
from taxocaps.training.trainer import train

HOPELESS = {"epochs": 9, "learning_rate": 1e-9, "patience": 2}
"""With such a rate no score moves: micro-F1 stays what it is, and the first epoch is the best."""


@pytest.fixture
def run(examples, tagger, config, tmp_path, one_thread):
    """Train for epochs of five steps; gives the report and the objective."""

    def run_it(objective=None, folder="run", *, seed=0, resume=False, **options):
        objective = objective or tagger()
        report = train(
            objective,
            examples(40),
            examples(11, seed=1),
            config(**options),
            folder=tmp_path / folder,
            seed=seed,
            resume=resume,
        )
        return report, objective

    return run_it


@pytest.fixture(scope="module")
def finished(examples, tagger, config, tmp_path_factory, one_thread):
    """The report, the objective and the folder of a run with the usual options; not to be changed."""
    folder, objective = tmp_path_factory.mktemp("finished"), tagger()
    report = train(objective, examples(40), examples(11, seed=1), config(), folder=folder)
    return SimpleNamespace(report=report, objective=objective, folder=folder)


@pytest.fixture
def copied(finished, tmp_path):
    """A copy of its folder, where `run` would write."""
    return shutil.copytree(finished.folder, tmp_path / "run")


@pytest.fixture
def stopping(tagger):
    """An objective that raises something in a step."""

    class Stopping(tagger):
        def __init__(self, step, error):
            super().__init__()
            self.left, self.error = step, error

        def loss(self, batch):
            self.left -= self.training
            if not self.left:
                raise self.error
            return super().loss(batch)

    return Stopping


@pytest.fixture
def interrupts():
    """Lightning ignores Ctrl-C after the first: put back what was there before."""
    handler = signal.getsignal(signal.SIGINT)
    yield handler
    signal.signal(signal.SIGINT, handler)


def weights_of(objective):
    return objective.state_dict()


def assert_same_weights(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def best_f1(report):
    """The validation micro-F1 of the epoch that was kept."""
    return report.history[report.best_epoch - 1]["micro_f1"]


def micro_f1(objective, held_out):
    return best_threshold(held_out.labels, score_documents(objective, held_out.inputs, held_out.labels.shape[1])).f1


def test_the_report_and_the_files(finished):
    report = finished.report
    assert report.epochs == len(report.history) == 4
    assert [row["epoch"] for row in report.history] == [1, 2, 3, 4]
    assert best_f1(report) == max(row["micro_f1"] for row in report.history)
    assert {"history.csv", "best.ckpt", "last.ckpt"} <= {path.name for path in finished.folder.iterdir()}


def test_a_network_learns(run, tagger, examples):
    report, _ = run(epochs=15)
    assert best_f1(report) > micro_f1(tagger(), examples(11, seed=1)) + 0.04
    assert report.history[-1]["loss"] < 0.7 * report.history[0]["loss"]


def test_training_stops_when_nothing_gets_better(run):
    report, _ = run(**HOPELESS)
    assert (report.epochs, report.best_epoch) == (3, 1)


def test_without_patience_training_goes_on(run):
    assert run(**{**HOPELESS, "epochs": 5, "patience": None})[0].epochs == 5


def test_the_weights_of_the_best_epoch_are_left(run, examples):
    wild = {"learning_rate": 10.0, "schedule": "constant", "warmup": 0.0}
    # Where a wild training goes depends on the processor, too; one whose last epoch is the best would show nothing.
    for seed in range(10):
        report, objective = run(folder=f"seed {seed}", epochs=6, seed=seed, **wild)
        if report.history[-1]["micro_f1"] < best_f1(report):
            break
    else:
        pytest.fail("the last epoch was always the best")
    assert micro_f1(objective, examples(11, seed=1)) == pytest.approx(best_f1(report), abs=1e-6)
    shorter = run(folder="shorter", epochs=report.best_epoch, seed=seed, **wild)[1]
    assert_same_weights(weights_of(shorter), weights_of(objective))


def test_the_same_seed_gives_the_same_weights(finished, run):
    first, second, other = finished.objective, run(folder="b")[1], run(folder="c", seed=1)[1]
    assert_same_weights(weights_of(first), weights_of(second))
    assert not torch.equal(first.network.linear.weight, other.network.linear.weight)


def test_training_leaves_the_callers_randomness_alone(run):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    run()
    assert torch.equal(torch.rand(2), expected)


def test_gradients_are_clipped(run, tmp_path):
    # Adam keeps 0.1 times the gradient after its first step; all gradients together are as long as the limit.
    for limit in (1e-3, 1e-2):
        run(folder=str(limit), epochs=1, batch_size=40, clip=limit)
        kept = torch.load(tmp_path / str(limit) / "last.ckpt", weights_only=True)["optimizer_states"][0]["state"]
        length = sum(state["exp_avg"].square().sum() for state in kept.values()).sqrt()
        assert length.item() == pytest.approx(0.1 * limit, rel=1e-3)


@pytest.mark.parametrize(("step", "patience"), [(1, None), (7, None), (10, 3), (18, 1)])
def test_an_interrupt_comes_out_and_resuming_ends_at_the_same_weights(run, stopping, interrupts, step, patience):
    whole, uninterrupted = run(folder="whole", patience=patience)
    with pytest.raises(KeyboardInterrupt):
        run(stopping(step, KeyboardInterrupt()), patience=patience)
    report, resumed = run(resume=True, patience=patience)
    assert_same_weights(weights_of(resumed), weights_of(uninterrupted))
    wanted = [{key: value for key, value in row.items() if key != "seconds"} for row in whole.history]
    assert [{key: value for key, value in row.items() if key != "seconds"} for row in report.history] == wanted
    assert (report.best_epoch, best_f1(report)) == (whole.best_epoch, best_f1(whole))


def test_the_average_of_the_weights_of_all_steps_is_kept(tagger, examples, config, tmp_path, one_thread):
    class Recording(tagger):
        seen = ()

        def loss(self, batch):
            self.seen = (*self.seen, {name: weights.clone() for name, weights in self.state_dict().items()})
            return super().loss(batch)

    objective, folder = Recording(), tmp_path / "run"
    train(objective, examples(40), None, config(epochs=2, averaging=0.7), folder=folder)
    last = torch.load(folder / "last.ckpt", weights_only=True)["current_model_state"]
    first, *others = [*objective.seen[1:], {name.removeprefix("objective."): last[name] for name in last}]
    assert len(others) == 9
    for name, weights in weights_of(objective).items():
        average = first[name]
        for later in others:
            average = 0.7 * average + 0.3 * later[name]
        assert torch.allclose(weights, average, atol=1e-6), name


def test_averaged_weights_are_validated_and_go_on_after_an_interrupt(run, stopping, interrupts, examples):
    whole, uninterrupted = run(folder="whole", averaging=0.9)
    assert best_f1(whole) == pytest.approx(micro_f1(uninterrupted, examples(11, seed=1)))
    with pytest.raises(KeyboardInterrupt):
        run(stopping(12, KeyboardInterrupt()), averaging=0.9)
    report, resumed = run(resume=True, averaging=0.9)
    assert_same_weights(weights_of(resumed), weights_of(uninterrupted))
    assert [row["micro_f1"] for row in report.history] == [row["micro_f1"] for row in whole.history]


def test_an_interrupt_leaves_interrupts_as_they_were(run, stopping, interrupts):
    with pytest.raises(KeyboardInterrupt):
        run(stopping(3, KeyboardInterrupt()))
    assert signal.getsignal(signal.SIGINT) is interrupts


def test_other_errors_come_out_as_they_are(run, stopping):
    with pytest.raises(ZeroDivisionError, match="in a step"):
        run(stopping(3, ZeroDivisionError("in a step")))


def test_resuming_what_is_done_changes_nothing(finished, copied, run):
    report, again = run(resume=True)
    assert report == finished.report
    assert_same_weights(weights_of(again), weights_of(finished.objective))


def test_patience_is_counted_over_an_interruption(run, stopping):
    with pytest.raises(ZeroDivisionError):
        run(stopping(12, ZeroDivisionError()), **HOPELESS)
    assert run(**HOPELESS, resume=True)[0].epochs == 3


def test_resuming_what_stopped_early_changes_nothing(run):
    whole, stopped = run(**HOPELESS)
    report, again = run(**HOPELESS, resume=True)
    assert report == whole
    assert_same_weights(weights_of(again), weights_of(stopped))


def test_resuming_where_nothing_was_done_starts_anew(finished, run):
    report, resumed = run(resume=True)
    assert_same_weights(weights_of(resumed), weights_of(finished.objective))
    assert report.epochs == finished.report.epochs


def test_without_resume_an_old_checkpoint_does_not_matter(finished, run):
    run(epochs=2, batch_size=4, learning_rate=0.3)
    report, again = run()
    assert report.epochs == 4
    assert_same_weights(weights_of(again), weights_of(finished.objective))


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "foreign": lambda path: path.write_text("not a checkpoint"),
    "truncated": truncate,
    "not a checkpoint": lambda path: torch.save({"a": 1}, path),
    "pickled code": lambda path: torch.save({"a": Path}, path),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_checkpoint_is_told_in_one_line(copied, run, damage):
    damage(copied / "last.ckpt")
    with pytest.raises(CheckpointError) as caught:
        run(resume=True)
    path, reason = copied / "last.ckpt", "cannot resume from this checkpoint: it is damaged"
    assert str(caught.value) == f"{path}: {reason}; train again without --resume"


def test_a_checkpoint_of_another_network_is_refused(copied, run, tagger):
    class Wider(tagger):
        def __init__(self):
            super().__init__()
            self.network.words = torch.nn.Embedding(50, 8, padding_idx=0)

    with pytest.raises(CheckpointError) as caught:
        run(Wider(), resume=True)
    reason = "cannot resume from this checkpoint: it belongs to another network"
    assert str(caught.value).startswith(f"{copied / 'last.ckpt'}: {reason}; ")


def test_checkpoints_hold_no_code(finished):
    for name in ("best.ckpt", "last.ckpt"):
        assert "state_dict" in torch.load(finished.folder / name, weights_only=True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_that_is_not_there_is_refused(run):
    with pytest.raises(ConfigError, match=r"^training\.device=cuda is not available on this machine; use auto or cpu$"):
        run(device="cuda")


def test_nothing_is_printed(run, capfd):
    run()
    assert capfd.readouterr() == ("", "")


def start_script(folder, *, devices=1, pause=0.0):
    """Run this file as a program in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(folder), str(devices), str(pause)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed_until_done(tmp_path):
    with start_script(tmp_path / "whole") as process:
        process.communicate()
    assert process.returncode == 0
    moments, kills, code = random.Random(0), -1, None
    while code != 0:
        with start_script(tmp_path / "killed", pause=0.02) as process:
            # Not while libraries are loaded: from some step on, at any moment within it.
            for _ in range(moments.randint(4, 14)):
                process.stdout.readline()
            time.sleep(moments.uniform(0, 0.1))
            process.kill()
        code, kills = process.returncode, kills + 1
        assert code in (0, -signal.SIGKILL)
        assert kills < 40
    assert kills >= 2
    wanted, found = (torch.load(tmp_path / name / "weights-0.pt", weights_only=True) for name in ("whole", "killed"))
    assert_same_weights(wanted, found)
    reports = [json.loads((tmp_path / name / "report-0.json").read_text()) for name in ("whole", "killed")]
    assert reports[0]["best_epoch"] == reports[1]["best_epoch"]
    assert reports[0]["micro_f1"] == reports[1]["micro_f1"]


@pytest.mark.slow
def test_two_processes_end_with_the_same_weights(tmp_path, examples, tagger):
    with start_script(tmp_path, devices=2) as process:
        process.communicate(timeout=240)
    assert process.returncode == 0
    one, other = (torch.load(tmp_path / f"weights-{rank}.pt", weights_only=True) for rank in range(2))
    assert_same_weights(one, other)
    reports = [json.loads((tmp_path / f"report-{rank}.json").read_text()) for rank in range(2)]
    assert reports[0]["micro_f1"] == reports[1]["micro_f1"]
    # Eleven validation documents in batches of 8 and 3, one for each process: all must have been measured.
    objective = tagger()
    objective.load_state_dict(one)
    assert micro_f1(objective, examples(11, seed=1)) == pytest.approx(reports[0]["micro_f1"], abs=1e-6)
    # Forty documents make five batches: each process takes three, and epochs have three steps.
    assert [row["step"] for row in reports[0]["history"]] == [3 * epoch for epoch in range(1, 7)]
    assert not torch.equal(one["network.linear.weight"], tagger().state_dict()["network.linear.weight"])


def main(folder, devices, pause):
    from conftest import Tagger, make_config, make_examples

    def progress(stage, done, total, note):
        print(done, flush=True)  # noqa: T201
        time.sleep(pause)

    objective = Tagger()
    report = train(
        objective,
        make_examples(40),
        make_examples(11, seed=1),
        make_config(epochs=6, devices=devices),
        folder=folder / "checkpoints",
        resume=True,
        progress=progress,
    )
    rank = torch.distributed.get_rank() if devices > 1 else 0
    torch.save(objective.state_dict(), folder / f"weights-{rank}.pt")
    content = {"best_epoch": report.best_epoch, "micro_f1": best_f1(report), "history": list(report.history)}
    (folder / f"report-{rank}.json").write_text(json.dumps(content))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))


def test_without_validation_the_last_epoch_is_kept(examples, tagger, config, tmp_path, one_thread):
    objective = tagger()
    report = train(objective, examples(40), None, config(epochs=3, patience=1), folder=tmp_path / "run")
    assert (report.epochs, report.best_epoch) == (3, 3)
    assert [set(row) & {"loss", "micro_f1"} for row in report.history] == [{"loss"}] * 3
    saved = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)["state_dict"]
    assert all(torch.equal(saved[f"objective.{name}"], value) for name, value in objective.state_dict().items())


def test_an_interrupted_run_without_validation_ends_with_the_same_weights(
    examples, tagger, config, stopping, tmp_path, one_thread
):
    options = config(epochs=4)
    whole = tagger()
    train(whole, examples(40), None, options, folder=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(stopping(12, KeyboardInterrupt()), examples(40), None, options, folder=tmp_path / "cut")
    resumed = tagger()
    train(resumed, examples(40), None, options, folder=tmp_path / "cut", resume=True)
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())


def test_few_documents_are_read_in_more_epochs(examples, tagger, config, tmp_path, one_thread):
    report = train(tagger(), examples(40), None, config(epochs=2, batch_size=8, min_steps=20), folder=tmp_path / "run")
    assert report.epochs == 4  # of five steps each
