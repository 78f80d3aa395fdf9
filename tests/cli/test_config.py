"""`taxocaps config`, and how every command resolves its configuration."""

import json

import pytest
import yaml


def test_the_configuration_is_shown(run):
    code, out, _ = run("config", "--set", "join.leaves=4")
    assert code == 0
    shown = yaml.safe_load(out)
    assert (shown["model"], shown["join"]["leaves"]) == ("auto", 4)
    code, out, _ = run("config", "--model", "HE-AGCRCNN", "--json")
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
    (tmp_path / "run.yaml").write_text("model: HE-AGCRCNN\nseed: 3\ntraining: {epochs: 7}\npreset: paper-rcv1\n")
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
        ("--preset", "fast"): "give --model HE-AGCRCNN --preset fast, or leave it out",
        ("--model", "gccnn", "--set", "network.recurrent=lstm"): "contradicts the model GCCNN",
        ("--seed", "x"): "--seed",
    }.items():
        code, out, err = run("config", *options)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_the_options_of_a_trained_model_are_in_its_folder(run, check_refused, toy_model):
    check_refused(run("config", "--model", toy_model), f"{toy_model / 'config.yaml'} has the options of this model")
    code, out, _ = run("config", "--model", toy_model, "--schema")
    assert (code, json.loads(out)["type"]) == (0, "object")


@pytest.mark.parametrize(("model", "section"), [("SVM", "linear"), ("HE-AGCRCNN", "graph"), ("HAN", "sentences")])
def test_the_schema_is_json_with_descriptions(run, model, section):
    code, out, err = run("config", "--schema", "--model", model.lower())
    assert (code, err) == (0, "")
    schema = json.loads(out)
    assert schema["title"] == f"taxocaps configuration of {model}"
    assert {"model", "preset", "seed", "corpus", "text", "decision", section} <= set(schema["properties"])
    assert all(about["description"] for about in schema["properties"].values())
    about = schema["$defs"][schema["properties"]["text"]["$ref"].rpartition("/")[2]]
    assert "Code of the language" in about["properties"]["language"]["description"]


def test_unknown_keys_name_the_nearest(check_refused, run, tmp_path):
    network = ("config", "--model", "HE-AGCRCNN")
    check_refused(run(*network, "--set", "graph.windw=3"), "key graph.windw; did you mean graph.window?")
    check_refused(run(*network, "--set", "grap.window=3"), "did you mean graph?")
    check_refused(run("config", "--model", "SVM", "--set", "linear.c=3"), "did you mean linear.C?")
    (tmp_path / "run.yaml").write_text("graph: {windw: 3}\n")
    check_refused(run(*network, "--config", tmp_path / "run.yaml"), "run.yaml: ", "did you mean graph.window?")


SECTIONS = {
    "encode": (["encode", "FILE", "--out", "OUT"], "training.epochs=3", "it has model, preset, seed, corpus, text"),
    "graph": (["graph", "a text"], "network.units=3", "model, preset, seed, corpus, text, graph"),
    "predict": (["predict", "MODEL", "FILE"], "graph.window=3", "it has corpus"),
    "evaluate": (["evaluate", "MODEL", "FILE"], "decision.rule=fixed", "it has corpus"),
    "explain": (["explain", "MODEL", "--text", "x"], "text.language=de", "it has corpus"),
    "check": (["corpus", "check", "FILE"], "text.language=de", "it has corpus"),
    "convert": (["corpus", "convert", "FILE", "OUT.csv"], "model=SVM", "it has corpus"),
}


@pytest.mark.parametrize(("command", "setting", "allowed"), SECTIONS.values(), ids=SECTIONS)
def test_a_section_that_a_command_does_not_read_is_refused(
    check_refused, run, toy_model, toy_files, tmp_path, command, setting, allowed
):
    places = {"MODEL": toy_model, "FILE": toy_files.documents, "OUT": tmp_path / "out", "OUT.csv": tmp_path / "o.csv"}
    ended = run(*(places.get(word, word) for word in command), "--set", setting)
    check_refused(ended, f"this command has no options {setting.split('.')[0].split('=')[0]}", allowed)
    assert list(tmp_path.iterdir()) == []


def test_one_file_serves_all_commands(run, toy_files, tmp_path):
    """What a command does not read in the file is passed over; what it reads holds."""
    file, store, model = tmp_path / "run.yaml", tmp_path / "store", tmp_path / "model"
    file.write_text(
        "model: SVM\nseed: 3\nbag: {min_documents: 1}\ndecision: {at_least: 1}\ncorpus: {split: train}\n"
        "text: {numbers: drop}\nserve: {batch: 8}\n"
    )
    documents, config = toy_files.documents, ("--config", file)

    def done(*arguments):
        code, out, err = run(*arguments, *config)
        assert (code, err) == (0, "")
        return out

    assert yaml.safe_load(done("config"))["decision"]["at_least"] == 1
    assert json.loads(done("corpus", "check", documents, "--json"))["corpus"]["splits"].keys() == {"train"}
    assert json.loads(done("encode", documents, "--out", store, "--json"))["documents"] == 8
    done("train", store, toy_files.taxonomy, "--out", model, "--quiet")
    assert done("predict", model, documents).count("\n") == 8
    assert json.loads(done("evaluate", model, documents, "--json"))["documents"] == 8
    done("explain", model, "--input", documents, "--id", "football-cup", "--quiet")
    done("graph", documents, "--id", "football-cup", "--quiet")
    done("corpus", "convert", documents, tmp_path / "train.csv", "--quiet")
