"""Options become one configuration: files first, then --set, then the options by name."""

import typer
from typer.testing import CliRunner

from taxocaps.cli.options import CORPUS_OPTIONS, with_config


def test_options_stand_in_for_the_configuration(tmp_path):
    seen = []
    app = typer.Typer()

    @app.command()
    @with_config(*CORPUS_OPTIONS, "language")
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
    assert (config.graph.window, config.graph.N) == (4, 6)
    assert (config.corpus.text_field, config.text.language) == ("c", "de")
