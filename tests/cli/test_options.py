"""Options become one configuration: files first, then --set, then the options by name."""

import typer
from typer.testing import CliRunner

from taxocaps.cli.options import _OPTIONS, CORPUS_OPTIONS, MODEL_OPTIONS, with_config
from taxocaps.workflows.config import RunConfig, resolve_run_config


def test_options_stand_in_for_the_configuration(tmp_path):
    seen = []
    app = typer.Typer()

    @app.command()
    @with_config(*CORPUS_OPTIONS, "language", of="graph")
    def command(config, name: str, loud: bool = False) -> None:
        """Help."""
        seen.append((config, name, loud))

    file = tmp_path / "c.yaml"
    file.write_text("graph: {window: 4, N: 5}\ncorpus: {text_field: a}\n")
    arguments = ["x", "--config", str(file), "--set", "graph.N=6", "--set", "corpus.text_field=b", "--text-field", "c"]
    result = CliRunner().invoke(app, [*arguments, "--language", "de", "--loud"])
    assert result.exit_code == 0, result.output
    config, name, loud = seen[0]
    assert (name, loud) == ("x", True)
    graph = config.encodings["words-matrix"]
    assert (graph.window, graph.N) == (4, 6)
    assert (config.corpus.text_field, config.text.language) == ("c", "de")


def test_a_command_that_makes_a_model_gets_the_configuration_of_a_run():
    seen = []
    app = typer.Typer()

    @app.command()
    @with_config(*CORPUS_OPTIONS, *MODEL_OPTIONS, "unknown_labels", "ancestors", of="run")
    def command(config) -> None:
        """Help."""
        seen.append(config)

    words = (
        "--model gccnn --preset fast --seed 3 --epochs 4 --devices 2 --unknown-labels add --ancestors add --split dev"
    )
    result = CliRunner().invoke(app, [*words.split(), "--set", "training.epochs=9"])
    assert result.exit_code == 0, result.output
    (config,) = seen
    assert isinstance(config, RunConfig)
    assert (config.model, config.preset, config.seed) == ("GCCNN", "fast", 3)
    assert (config.options.training.epochs, config.options.training.devices) == (4, 2)
    assert (config.options.labels.unknown, config.options.labels.ancestors, config.corpus.split) == (
        "add",
        "add",
        "dev",
    )


def test_every_option_has_a_key_of_its_own_in_the_configuration():
    keys = [option.key for option in _OPTIONS.values()]
    assert len(set(keys)) == len(keys)
    for key in keys:
        value = resolve_run_config(options={"model": "auto" if key == "time" else "HE-AGCRCNN"}).as_mapping()
        for part in key.split("."):
            value = value[part]  # an unknown one would raise


def test_options_by_what_they_are_about():
    assert set(MODEL_OPTIONS) == {"model", "preset", "time", "seed", "epochs", "devices"}
    assert not set(MODEL_OPTIONS) & set(CORPUS_OPTIONS)
    assert all(_OPTIONS[name].key.startswith("corpus.") for name in CORPUS_OPTIONS)
