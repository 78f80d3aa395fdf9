"""The search of learning rates: one budget for all networks, finished runs are kept, no test documents are read."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
FOUND = {"0.001": 0.5, "0.002": 0.75, "0.004": 0.625}
"""What each learning rate reaches."""


@pytest.fixture
def search(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(FOLDER)
    import search
    from measure import Cost

    done = []

    def pretend(work, run, folder):
        assert work is search.execute
        done.append(run.settings)
        f1 = FOUND[run.settings[1].partition("=")[2]] + 0.1 * (len(run.settings) > 2)
        history = [{"loss": 2.0, "micro_f1": f1 / 2, "macro_f1": 0.1}, {"loss": 1.0, "micro_f1": f1, "macro_f1": 0.2}]
        return Cost(60.0, 60.0, 1.0, {"history": history})

    monkeypatch.setattr(search, "RESULTS", tmp_path / "search.jsonl")
    monkeypatch.setattr(search, "in_own_process", pretend)
    search.done = done
    return search


def test_every_network_has_the_same_budget(search):
    search.search(["LSTM", "HAN"], Path("reuters"))
    assert len(search.done) == 8
    assert search.done[:4] == search.done[4:]
    assert search.done[3] == (search.BUDGET, "training.learning_rate=0.002", *search.PLAIN_VECTORS)
    assert {settings[0] for settings in search.done} == {search.BUDGET}


def test_finished_runs_are_not_run_again(search):
    search.search(["LSTM"], Path("reuters"))
    search.search(["LSTM"], Path("reuters"))
    assert len(search.done) == 4
    lines = search.RESULTS.read_text().splitlines()
    search.RESULTS.write_text("".join(f"{line}\n" for line in lines[:2]))  # as if it had been interrupted
    search.search(["LSTM"], Path("reuters"))
    assert [settings[1:] for settings in search.done[4:]] == [settings[1:] for settings in search.done[2:4]]
    assert [json.loads(line)["micro_f1"] for line in search.RESULTS.read_text().splitlines()] == [
        *(0.5, 0.75, 0.625),
        pytest.approx(0.85),
    ]


def test_the_table_has_what_there_is(search):
    search.search(["LSTM"], Path("reuters"))
    (row,) = search.table(["LSTM", "HAN"]).rows
    assert row == ("LSTM", "0.500", "0.750", "0.625", "**0.850**", "4.0")


def test_test_documents_are_never_read(search, monkeypatch, tmp_path):
    read = []

    def train(files, out, config, existing):
        assert files.test is None
        read.extend([files.train, files.taxonomy, files.dev])
        out.mkdir(parents=True)
        (out / "history.csv").write_text("loss,micro_f1,macro_f1\n1.5,0.25,0.125\n")

    monkeypatch.setattr("taxocaps.workflows.train.train", train)
    monkeypatch.setattr(search, "WORK", tmp_path / "work")
    monkeypatch.setattr(search, "_keep_vectors", lambda: None)
    (run, *_) = search.candidates("LSTM", {})
    found = search.execute(run, tmp_path / "reuters")
    assert found == {"history": [{"loss": 1.5, "micro_f1": 0.25, "macro_f1": 0.125}]}
    assert [path.name for path in read] == ["train.jsonl", "taxonomy.tsv", "dev.jsonl"]
    assert not any((tmp_path / "work").iterdir())
