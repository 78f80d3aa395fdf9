"""`taxocaps train`: what it prints, what it refuses in one line, and that Ctrl-C and worse cost nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

GOOD = '{"id": "1", "text": "Cats chase mice in the old house.", "labels": ["Sport"]}\n'


@pytest.fixture(scope="session")
def small(tiny):
    return [word for setting in tiny for word in ("--set", setting)]


@pytest.fixture
def train(run, toy_files, tmp_path, small):
    """Train a tiny model into `tmp_path / "model"`; options that are given twice are those that count."""

    def call(*options, documents=toy_files.documents, taxonomy=toy_files.taxonomy, out=tmp_path / "model"):
        files = (documents, taxonomy, "--split-by", "none", "--out", out)
        return run("train", *files, *small, *options)

    return call


def weights(folder):
    return (folder / "weights.safetensors").read_bytes()


def test_what_is_printed(train, toy_files, tmp_path):
    code, out, err = train("--dev", toy_files.documents, "--test", toy_files.documents)
    assert code == 0
    for text in ("HE-AGCRCNN, preset default, seed 0", "8 train, 2 dev, 2 test", "On the test documents (2):", "micro"):
        assert text in out
    assert str(tmp_path / "model") in out.replace("\n", "")
    assert "training: 2 of 2 (epoch 1 of 1, loss" in err
    assert "weights; training takes about" in err


def test_every_command_takes_a_linear_model(run, toy_files, tmp_path):
    files = (toy_files.documents, toy_files.taxonomy, "--test", toy_files.documents)
    code, out, err = run("train", *files, "--model", "svm", "--set", "bag.min_documents=1", "--out", tmp_path / "svm")
    assert code == 0
    assert "SVM, preset default, seed 0" in out
    assert "epochs" not in out
    assert "classifiers: 10 of 10" in err
    assert "epoch" not in (tmp_path / "svm" / "README.md").read_text()
    code, out, _ = run("predict", tmp_path / "svm", "--text", "The goalkeeper saved the penalty.", "--at-least", "1")
    assert code == 0
    assert json.loads(out)["labels"][0]["label"] == "Sport"
    assert run("evaluate", tmp_path / "svm", toy_files.documents)[0] == 0


def test_a_model_has_only_its_own_options(check_refused, run, toy_files, tmp_path):
    files = (toy_files.documents, "--out", tmp_path / "svm", "--model", "svm")
    message = "SVM has no option graph.window; its options are those of bag, decision, folds, labels, linear, scorer"
    check_refused(run("train", *files, "--set", "graph.window=4"), message)
    check_refused(run("train", *files, "--epochs", "5"), "SVM has no option --epochs;")
    check_refused(run("train", *files, "--time", "5m"), "SVM has no option --time;")
    refused = run("train", *files, "--set", "linear.loss=logistic")
    check_refused(refused, "linear.loss=logistic contradicts the model SVM")
    check_refused(run("train", *files[:-1], "smv"), "no model is called 'smv'; did you mean SVM?")


def test_without_test_documents_the_validation_figures_are_shown(train):
    assert "On the validation documents (1):" in train()[1]


def test_json(train, toy_files, tmp_path):
    code, out, err = train("--test", toy_files.documents, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["out"] == str(tmp_path / "model")
    assert report["card"]["documents"] == {"train": 8, "test": 2}
    assert report["test"] == json.loads((tmp_path / "model" / "metrics.json").read_text())["test"]


def test_quiet(train):
    assert train("--quiet") == (0, "", "")


def test_options_reach_the_model(train, tmp_path):
    options = ("--model", "tgcnn", "--seed", "3", "--epochs", "2", "--ancestors", "add", "--unknown-labels", "drop")
    assert train(*options, "--quiet") == (0, "", "")
    config = (tmp_path / "model" / "config.yaml").read_text()
    for line in ("model: TGCNN\n", "seed: 3\n", "epochs: 2\n", "ancestors: add\n", "unknown: drop\n", "head: dense\n"):
        assert line in config


def test_the_same_options_from_a_file(train, run, tmp_path, small, toy_files):
    train("--quiet")
    code, text, _ = run("config", *small)
    assert code == 0
    (tmp_path / "run.yaml").write_text(text)
    files = (toy_files.documents, toy_files.taxonomy, "--split-by", "none", "--out", tmp_path / "other")
    assert run("train", *files, "--config", tmp_path / "run.yaml", "--quiet")[0] == 0
    assert weights(tmp_path / "other") == weights(tmp_path / "model")


def test_labels_outside_the_taxonomy_are_told(check_refused, train, tmp_path):
    (tmp_path / "strange.jsonl").write_text(GOOD + GOOD.replace("Sport", "Sprot"))
    check_refused(
        train("--quiet", documents=tmp_path / "strange.jsonl"),
        "strange.jsonl",
        "document '1'",
        "'Sprot'",
        "nearest: 'Sport'",
    )
    assert (
        "labels outside the taxonomy  1, such as Sprot"
        in train("--unknown-labels", "add", documents=tmp_path / "strange.jsonl")[1]
    )


def test_documents_whose_labels_are_all_dropped_are_refused(check_refused, train, tmp_path):
    (tmp_path / "strange.jsonl").write_text(GOOD.replace("Sport", "Sprot") + '{"text": "none", "labels": []}\n')
    refused = train("--quiet", "--unknown-labels", "drop", documents=tmp_path / "strange.jsonl")
    check_refused(refused, "strange.jsonl: no document is left with a label", "'Sprot'", "--unknown-labels add")


def test_a_label_that_is_several_names_the_separator(check_refused, train, run, tmp_path):
    (tmp_path / "several.jsonl").write_text(GOOD.replace("Sport", "Sport / Tennis"))
    refused = train("--quiet", documents=tmp_path / "several.jsonl")
    check_refused(refused, "'Sport' and 'Tennis' are: name what separates labels, --label-separator '/'")
    (tmp_path / "several.jsonl").write_text(GOOD.replace('["Sport"]', '"Sport / Tennis"'))
    assert train("--quiet", "--label-separator", "/", documents=tmp_path / "several.jsonl")[0] == 0


def test_a_taxonomy_with_spaces_in_place_of_tabs(check_refused, train, tmp_path):
    (tmp_path / "one.jsonl").write_text(GOOD)
    taxonomy = tmp_path / "spaces.tsv"
    taxonomy.write_text("Topics Sport\nTopics Art\n")
    refused = train("--quiet", documents=tmp_path / "one.jsonl", taxonomy=taxonomy)
    check_refused(refused, "it has 'Topics Sport', with a space where a tab belongs between parent and child")
    taxonomy.write_text("Topics    Sport\nTopics    Art\n")
    refused = train("--quiet", documents=tmp_path / "one.jsonl", taxonomy=taxonomy)
    check_refused(refused, "spaces.tsv, line 1: spaces between labels, as in 'Topics Sport', where a tab belongs")


BAD_OPTIONS = {
    "unknown key": (["--set", "network.unit=3"], "unknown configuration key network.unit; did you mean network.units?"),
    "not a number": (["--set", "network.units=many"], "network.units must be"),
    "no value": (["--set", "network.units"], "network.units"),
    "contradiction to the model": (["--set", "network.head=dense"], "contradicts the model HE-AGCRCNN"),
    "unknown model": (["--model", "agcrn"], "did you mean AGCRCNN?"),
    "unknown preset": (["--preset", "quick"], "there are default, fast"),
    "negative seed": (["--seed", "-1"], "--seed must be from 0"),
    "no epochs": (["--epochs", "0"], "--epochs must be from 1"),
    "unknown option": (["--epoch", "1"], "--epoch"),
    "unknown choice": (["--ancestors", "all"], "--ancestors"),
    "missing vectors": (["--vectors", "none.txt"], "none.txt: no such file"),
    "unknown language": (["--language", "xx"], "no lemmas for language 'xx'"),
    "missing stop words": (["--set", "text.stop_words=none.txt"], "text.stop_words"),
    "rows too short": (["--set", "graph.T=4"], "rows of graph.T=4 words are too short"),
    "no GPU": (["--set", "training.device=cuda"], "training.device"),
    "both at once": (["--resume", "--overwrite"], "give one of them"),
    "missing model": (["--from", "none"], "none: no model there"),
    "missing test file": (["--test", "none.jsonl"], "none.jsonl: no such file"),
    "missing configuration": (["--config", "none.yaml"], "none.yaml"),
}


WITH_PRIOR = {
    f"{name}, with a prior": ([*BAD_OPTIONS[name][0], "--set", "prior.kind=linear"], BAD_OPTIONS[name][1])
    for name in ("missing vectors", "rows too short", "no GPU")
}
"""What is found out when the network is made; the linear model must not have left anything by then."""


@pytest.mark.parametrize(("options", "message"), (BAD_OPTIONS | WITH_PRIOR).values(), ids=BAD_OPTIONS | WITH_PRIOR)
def test_bad_options(check_refused, train, tmp_path, options, message):
    if "training.device=cuda" in options:
        torch = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("this machine has a GPU")
    check_refused(train(*options, "--quiet"), message)
    assert list(tmp_path.iterdir()) == []


BAD_INPUT = {
    "missing file": (None, "no such file"),
    "empty file": ("", "no documents"),
    "invalid JSON": (GOOD + "{\n", "line 2"),
    "no labels": ('{"text": "x"}\n', "no document carries a label: no field is known to hold labels"),
    "no text": ('{"n": "x", "labels": ["Sport"]}\n', "no field 'text'"),
}


@pytest.mark.parametrize(("content", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input(check_refused, train, tmp_path, content, message):
    if content is not None:
        (tmp_path / "bad.jsonl").write_text(content)
    check_refused(train("--quiet", documents=tmp_path / "bad.jsonl"), "bad.jsonl", message)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("options", "lost"),
    [((), "no field is known to hold labels"), (("--labels-field", "Themes"), "no field 'Themes' with labels")],
)
def test_a_table_without_labels_is_refused_at_once_and_its_columns_are_named(
    check_refused, run, tmp_path, options, lost
):
    (tmp_path / "news.csv").write_text("nr;foo;bar\n1;A match between two teams.;Sport\n")
    ended = run("train", tmp_path / "news.csv", "--model", "SVM", "--out", tmp_path / "model", "--quiet", *options)
    check_refused(ended, f"{lost}; the fields are: 'nr', 'foo', 'bar'; name the right one: --labels-field")
    assert not (tmp_path / "model").exists()


def test_a_broken_record_can_be_skipped(train, tmp_path):
    (tmp_path / "bad.jsonl").write_text(GOOD + "{\n" + GOOD)
    code, out, _ = train("--on-error", "skip", "--json", documents=tmp_path / "bad.jsonl")
    assert code == 0
    assert json.loads(out)["card"]["documents"] == {"train": 2}


def test_the_documents_must_be_named(check_refused, run, train, tmp_path):
    check_refused(run("train", "--out", "model"), "FILE")
    check_refused(train(taxonomy="none.tsv"), "none.tsv: no such file")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def news(tmp_path):
    """300 documents of two frequent labels, three rare ones and dates, as a file of one folder."""
    rare = {7: "chess", 150: "opera", 151: "opera"}
    rows = [
        {
            "text": f"{'goal striker club' if number % 2 else 'film actor stage'} number{number} of word{number * 7}",
            "labels": ["sport" if number % 2 else "art", *([rare[number]] if number in rare else [])],
            "date": f"2024-{1 + number // 28:02}-{1 + number % 28:02}",
        }
        for number in range(300)
    ]
    path = tmp_path / "news.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file_of_documents_is_enough(run, news, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("train", "news.jsonl", "--model", "svm")
    assert code == 0
    documents = json.loads((tmp_path / "news-model" / "metrics.json").read_text())["documents"]
    assert sum(documents.values()) == 300
    assert 25 <= documents["test"] <= 30
    assert f"300 documents, 4 labels: {documents['train']} to learn from, {documents['test']} for the test" in err
    assert "2 labels have only one or two documents: chess, opera" in err
    assert "training takes about" in err
    assert f"On the test documents ({documents['test']}):" in out
    assert "all labels (micro)" in out
    assert [line.split()[1:3] for line in out.splitlines() if line.startswith("  taxocaps")] == [
        ["predict", "news-model"],
        ["explain", "news-model"],
        ["serve", "news-model"],
    ]


def test_no_label_loses_its_last_document_to_the_test(run, news, tmp_path):
    for seed in range(5):
        out = tmp_path / str(seed)
        assert run("train", news, "--model", "svm", "--seed", seed, "--out", out, "--quiet")[0] == 0
        assert set(json.loads((out / "labels.json").read_text())) == {"art", "chess", "opera", "sport"}


def test_the_latest_documents_are_for_the_test(check_refused, run, news, tmp_path):
    code, out, err = run("train", news, "--model", "svm", "--split-by", "date", "--out", tmp_path / "model")
    assert code == 0
    assert "240 to learn from, 30 for validation, 30 for the test (by 'date'" in err
    assert "On the test documents (30):" in out
    refused = run("train", news, "--model", "svm", "--split-by", "day", "--out", tmp_path / "other", "--quiet")
    check_refused(refused, "news.jsonl: document 1: the field 'day' is missing; --split-by needs a date")
    news.write_text(news.read_text().replace("2024-01-05", "5 May"))
    refused = run("train", news, "--model", "svm", "--split-by", "date", "--out", tmp_path / "other", "--quiet")
    check_refused(refused, "document 5: the field 'date' is '5 May'; --split-by needs a date such as 2024-05-31")
    refused = run("train", news, "--split-by", "date", "--test", news, "--out", tmp_path / "other", "--quiet")
    check_refused(refused, "leave out --dev and --test")


def test_labels_may_be_paths(run, tmp_path):
    lines = [
        {"text": f"dogs bark {n}", "labels": [["animals/dogs", "plants/trees", "plants/ferns"][n % 3]]}
        for n in range(12)
    ]
    (tmp_path / "pets.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ("--model", "svm", "--set", "bag.min_documents=1", "--out", tmp_path / "model")
    code, _, err = run("train", tmp_path / "pets.jsonl", *options)
    assert (code, "labels look like paths: --path-separator '/' makes a tree of them" in err) == (0, True)
    options = (*options, "--path-separator", "/", "--overwrite", "--quiet")
    assert run("train", tmp_path / "pets.jsonl", *options) == (0, "", "")
    code, out, _ = run("predict", tmp_path / "model", "--text", "dogs bark 3", "--at-least", "1")
    names = {label["label"]: label["name"] for label in json.loads(out)["labels"]}
    assert code == 0
    assert names.keys() & {"animals", "plants"}
    assert set(names.values()) & {"dogs", "trees", "ferns"}


def test_existing_places(check_refused, train, toy_model, toy_files, tmp_path):
    shutil.copytree(toy_model, tmp_path / "model")
    check_refused(train("--seed", "1", "--quiet"), "has a model already", "--overwrite")
    check_refused(train("--seed", "1", "--quiet", "--resume"), "has a model already", "--overwrite")
    assert weights(tmp_path / "model") == weights(toy_model)
    assert train("--seed", "1", "--quiet", "--overwrite") == (0, "", "")
    assert weights(tmp_path / "model") != weights(toy_model)
    for place in (toy_files.documents, toy_files.documents.parent, toy_files.documents / "below"):
        before = sorted(toy_files.documents.parent.iterdir())
        check_refused(train("--quiet", "--overwrite", out=place), str(place))
        assert sorted(toy_files.documents.parent.iterdir()) == before


def test_an_interrupted_run(check_refused, train, tmp_path, monkeypatch):
    """Ctrl-C within this process; below there are real ones."""
    steps = []

    def interrupt(self, trainer, *arguments):
        steps.append(trainer.global_step)
        if len(steps) == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("taxocaps.training.trainer.ShowProgress.on_train_batch_end", interrupt)
        code, out, err = train("--epochs", "3", "--quiet")
    assert (code, out) == (130, "")
    assert err.count("\n") == 1
    assert "--resume continues from the last fold or epoch" in err
    check_refused(train("--epochs", "3", "--quiet"), "has an interrupted run; give --resume")
    check_refused(train("--epochs", "4", "--quiet", "--resume"), "had other documents or options")
    assert train("--epochs", "3", "--quiet", "--resume") == (0, "", "")
    assert train("--epochs", "3", "--quiet", out=tmp_path / "whole") == (0, "", "")
    assert weights(tmp_path / "model") == weights(tmp_path / "whole")


def test_starting_from_a_model(check_refused, run, train, toy_model, tmp_path):
    (tmp_path / "new.jsonl").write_text(GOOD.replace("Sport", "Geology") * 3)
    check_refused(train("--from", toy_model, "--quiet", documents=tmp_path / "new.jsonl"), "'Geology'")
    options = ("--from", toy_model, "--unknown-labels", "add", "--quiet")
    other = train(*options, "--set", "network.dropout=0.9", documents=tmp_path / "new.jsonl")
    check_refused(other, "the model to start from has network.dropout=", "not 0.9")
    other = train(*options, "--model", "gccnn", documents=tmp_path / "new.jsonl")
    check_refused(other, "the model to start from has model=HE-AGCRCNN, not gccnn; leave it out")
    files = (tmp_path / "new.jsonl", toy_model / "taxonomy.json", "--out", tmp_path / "model")
    assert run("train", *files, *options, "--epochs", "1") == (0, "", "")  # its own options, without its name
    before, after = (json.loads((folder / "labels.json").read_text()) for folder in (toy_model, tmp_path / "model"))
    assert list(after) == [*before, "Geology"]
    config = (tmp_path / "model" / "config.yaml").read_text()
    assert "model: HE-AGCRCNN\n" in config
    assert "units: 8\n" in config


@pytest.fixture(scope="module")
def command(toy_files, small):
    """A run of forty epochs, as a process of its own."""
    documents = str(toy_files.documents)
    files = [documents, str(toy_files.taxonomy), "--dev", documents]
    longer = ["--set", "training.epochs=40", "--set", "training.patience=null", "--set", "training.batch_size=2"]
    return [sys.executable, "-m", "taxocaps", "train", *files, *small, *longer, "--out"]


ALONE = {**os.environ, "OMP_NUM_THREADS": "1"}


def finish(command, out, *options):
    ended = subprocess.run([*command, out, *options, "--quiet"], env=ALONE, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.fixture(scope="module")
def whole(command, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "model"
    finish(command, out)
    return weights(out)


def send(kind, command, out, is_time):
    """Start the command, wait for the moment and send a signal; returns how it ended and its messages."""
    process = subprocess.Popen([*command, out], env=ALONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not is_time(out / ".training") and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(kind)
    _, messages = process.communicate(timeout=60)
    return process.returncode, messages


def epochs(count):
    """Whether so many epochs are done."""

    def is_time(folder):
        history = folder / "checkpoints" / "history.csv"
        try:
            return history.read_text().count("\n") > count
        except OSError:
            return False

    return is_time


def exists(name):
    return lambda folder: (folder / name).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "is_time", [exists("run.json"), exists("stores/train/manifest.json"), epochs(2)], ids=["start", "words", "epoch"]
)
def test_ctrl_c(command, whole, tmp_path, is_time):
    out = tmp_path / "model"
    code, messages = send(signal.SIGINT, command, out, is_time)
    assert code == 130, messages
    assert "interrupted; the same command with --resume continues" in messages
    assert "Traceback" not in messages
    assert not (out / "versions.json").exists()
    finish(command, out, "--resume")
    assert weights(out) == whole


@pytest.mark.slow
def test_killed_again_and_again(command, whole, tmp_path):
    """However often and wherever a run is killed, in the end the weights are the same."""
    out = tmp_path / "model"
    moments = [
        exists("run.json"),
        exists("stores/train/tokens"),
        exists("stores/dev/manifest.json"),
        exists("checkpoints/last.ckpt"),
        epochs(5),
        epochs(30),
        exists("model/vocabulary.tsv"),
    ]
    for is_time in moments:
        code, messages = send(signal.SIGKILL, [*command[:-1], "--resume", command[-1]], out, is_time)
        assert code in (-signal.SIGKILL, 0), messages
        assert "Traceback" not in messages
        if code == 0:  # the last moment is very short
            break
    else:
        assert not (out / "versions.json").exists()
        finish(command, out, "--resume")
    assert weights(out) == whole
    assert not (out / ".training").exists()
