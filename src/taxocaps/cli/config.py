"""`taxocaps config`: show the configuration that a run would use."""

from typing import TYPE_CHECKING

import typer

from taxocaps.cli.console import print_json
from taxocaps.cli.options import MODEL_OPTIONS, AsJson, with_config

if TYPE_CHECKING:
    from taxocaps.workflows.run_config import RunConfig

__all__ = ["config"]


@with_config(*MODEL_OPTIONS, of="run")
def config(config: "RunConfig", as_json: AsJson = False) -> None:
    """Show every option with its value, as a configuration file.

    The preset and what the model decides, then --config, then --set. Save it, change it, and give it to a command with
    --config.
    """
    from taxocaps.workflows.config import config_as_mapping, config_as_yaml

    if as_json:
        print_json(config_as_mapping(config))
    else:
        typer.echo(config_as_yaml(config), nl=False)
