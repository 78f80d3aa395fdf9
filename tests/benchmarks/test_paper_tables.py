"""The tables that compare options: means over seeds, what is missing, and what an option costs."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def experiment(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    from grid import Experiment, Run

    runs = [
        Run(data, "HE-AGCRCNN", "fast", seed, ("training.epochs=3", *variant), ("test",))
        for data in ("news", "acts")
        for variant in ((), ("network.windows=kept",))
        for seed in (0, 1)
    ]
    return Experiment("options", "Options", tuple(runs))


def results(runs, micro, seconds):
    flat = {kind: {"f1": value} for kind, value in (("micro", micro), ("macro", micro / 2))}
    return {run.key: {"dev": {"flat": flat}, "cpu_seconds": seconds} for run in runs}


def test_options_are_compared_by_dev_documents_and_cost(experiment):
    from paper_tables import options

    plain, kept = ([run for run in experiment.runs if (len(run.settings) > 1) == wanted] for wanted in (False, True))
    table = options(experiment, results(plain, 0.5, 10.0) | results(kept, 0.6, 25.0))
    assert table.rows[0] == ("default", *["0.500 ± 0.000", "0.250 ± 0.000"] * 2, "1.00")
    assert table.rows[1] == ("network.windows=kept", *["0.600 ± 0.000", "0.300 ± 0.000"] * 2, "2.50")
    assert "Not run" not in table.note


def test_options_without_all_runs_are_named_and_cost_is_that_of_common_data(experiment):
    from paper_tables import options

    news = [run for run in experiment.runs if run.data == "news"]
    acts = [run for run in experiment.runs if run.data == "acts" and len(run.settings) == 1]
    table = options(experiment, results(news, 0.5, 10.0) | results(acts, 0.5, 90.0))
    assert [row[-1] for row in table.rows] == ["1.00", "1.00"]
    assert table.rows[1][3:5] == ("", "")
    assert table.note.endswith("Not run with all seeds yet: network.windows=kept.")
