import json

import yaml


def test_the_configuration_is_shown(run):
    code, out, _ = run("config", "--set", "graph.window=4")
    assert code == 0
    assert yaml.safe_load(out)["graph"]["window"] == 4
    code, out, _ = run("config", "--json")
    assert json.loads(out)["graph"]["window"] == 3


def test_what_is_shown_can_be_given_back(run, tmp_path):
    options = ("--preset", "fast", "--model", "gccnn", "--seed", "3", "--epochs", "7", "--set", "graph.window=4")
    code, text, err = run("config", *options)
    assert (code, err) == (0, "")
    shown = yaml.safe_load(text)
    assert (shown["preset"], shown["model"], shown["seed"], shown["training"]["epochs"]) == ("fast", "GCCNN", 3, 7)
    assert shown["network"]["recurrent"] == "none"
    (tmp_path / "run.yaml").write_text(text)
    assert run("config", "--config", tmp_path / "run.yaml") == (0, text, "")
    _, as_json, _ = run("config", "--config", tmp_path / "run.yaml", "--json")
    assert json.loads(as_json) == shown


def test_options_win_over_the_file(run, tmp_path):
    (tmp_path / "run.yaml").write_text("seed: 3\ntraining: {epochs: 7}\npreset: paper-rcv1\n")
    _, text, _ = run("config", "--config", tmp_path / "run.yaml", "--set", "seed=4", "--epochs", "8", "--seed", "5")
    shown = yaml.safe_load(text)
    assert (shown["seed"], shown["training"]["epochs"], shown["preset"], shown["graph"]["N"]) == (
        5,
        8,
        "paper-rcv1",
        100,
    )


def test_mistakes(run):
    for options, message in {
        ("--model", "gccn"): "did you mean GCCNN?",
        ("--preset", "fats"): "did you mean fast?",
        ("--model", "gccnn", "--set", "network.recurrent=lstm"): "contradicts the model GCCNN",
        ("--seed", "x"): "--seed",
    }.items():
        code, out, err = run("config", *options)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
