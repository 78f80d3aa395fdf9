"""History and progress of a training run: history.csv, and the notes of progress."""

import csv
import re

import pytest

from taxocaps.training.trainer import History, train


@pytest.fixture
def run(examples, tagger, config, tmp_path):
    """Train for three epochs of five steps each; gives the report and what progress was told."""

    def run_it(objective=None, **options):
        told = []
        report = train(
            objective or tagger(),
            examples(40),
            examples(11, seed=1),
            config(epochs=3),
            folder=tmp_path,
            progress=lambda *words: told.append(words),
            **options,
        )
        return report, told

    return run_it


def rows_of(folder):
    with (folder / "history.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_file_has_a_row_an_epoch(run, tmp_path):
    report, _ = run()
    rows = rows_of(tmp_path)
    columns = ["epoch", "step", "loss", "validation_loss", "micro_f1", "macro_f1", "learning_rate", "seconds"]
    assert list(rows[0]) == columns
    assert [(row["epoch"], row["step"]) for row in rows] == [("1", "5"), ("2", "10"), ("3", "15")]
    for row, reported in zip(rows, report.history, strict=True):
        assert {name: float(value) for name, value in row.items() if value} == dict(reported)
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def test_the_loss_of_a_row_is_that_of_its_own_epoch(run, tagger):
    losses = []

    class Watched(tagger):
        def loss(self, batch):
            found = super().loss(batch)
            if self.training:
                losses.append(found.item())
            return found

    report, _ = run(Watched())
    means = [sum(losses[start : start + 5]) / 5 for start in (0, 5, 10)]  # batches of equal size
    assert [row.get("loss") for row in report.history] == pytest.approx(means, rel=1e-5)


def test_notes_tell_epoch_loss_and_micro_f1(run):
    report, told = run()
    assert {stage for stage, *_ in told} == {"training"}
    assert {total for _, _, total, _ in told} == {15}
    done = [done for _, done, _, _ in told]
    assert done == sorted(done)
    assert set(done) == set(range(1, 16))
    notes = [note for *_, note in told]
    # Five steps, a validation, and from then on micro-F1 is known.
    assert all(re.fullmatch(r"epoch 1 of 3, loss \d\.\d{4}", note) for note in notes[:5])
    assert notes[5].startswith("epoch 1 of 3, ")
    assert notes[5].endswith(f"validation micro-F1 {report.history[0]['micro_f1']:.4f}")
    pattern = r"epoch [23] of 3, loss \d\.\d{4}, validation micro-F1 \d\.\d{4}"
    assert all(re.fullmatch(pattern, note) for note in notes[6:])
    assert notes[-1].endswith(f"{report.history[-1]['micro_f1']:.4f}")


def test_history_goes_on_after_an_interruption(run, tagger, tmp_path):
    class Stopping(tagger):
        steps = 0

        def loss(self, batch):
            self.steps += self.training
            if self.steps == 12:
                raise ValueError("stopped")
            return super().loss(batch)

    with pytest.raises(ValueError, match="stopped"):
        run(Stopping())
    assert [row["epoch"] for row in rows_of(tmp_path)] == ["1", "2"]
    first = [float(row["seconds"]) for row in rows_of(tmp_path)]
    report, told = run(resume=True)
    assert [row["epoch"] for row in report.history] == [1, 2, 3]
    seconds = [float(row["seconds"]) for row in rows_of(tmp_path)]
    assert seconds[:2] == first
    assert seconds[2] > seconds[1]
    assert told[0][1] == 11  # ten steps were done before


def test_rows_are_kept_in_checkpoints(tmp_path):
    history = History(tmp_path / "history.csv")
    history.load_state_dict({"rows": [{"epoch": 1, "micro_f1": 0.5}]})
    assert history.rows == [{"epoch": 1, "micro_f1": 0.5}]
    assert history.state_dict() == {"rows": history.rows}
    assert not (tmp_path / "history.csv").exists()
