"""`taxocaps config`: show the configuration that a run would use."""

from typing import TYPE_CHECKING, Annotated

import typer

from taxocaps.cli.console import print_json
from taxocaps.cli.options import MODEL_OPTIONS, AsJson, with_config

if TYPE_CHECKING:
    from taxocaps.workflows.config import RunConfig

__all__ = ["config"]


@with_config(*MODEL_OPTIONS, of="run")
def config(
    config: "RunConfig",
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the model's options.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show every option of a model with its value, as a configuration file.

    The preset and what the model decides, then --config, then --set. Save it, change it, and give it to a command with
    --config. --schema describes what each option may be, for editors and programs.
    """
    from taxocaps.workflows.config import config_schema

    if schema:
        print_json(config_schema(config.model, config.preset))
    elif config.start is not None:
        raise typer.BadParameter(f"{config.start / 'config.yaml'} has the options of this model; give the name of one")
    elif as_json:
        print_json(config.as_mapping())
    else:
        typer.echo(config.as_yaml(), nl=False)
