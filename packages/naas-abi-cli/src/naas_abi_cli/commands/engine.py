"""``abi engine``: run an engine that serves modules of other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from naas_abi_cli import output
from naas_abi_cli.errors import WrongCall
from naas_abi_cli.options import ConfigOption, JsonOption

if TYPE_CHECKING:
    from naas_abi_core.engine.configuration import EngineConfiguration

__all__ = ["app", "broker_place"]

app = typer.Typer(help="The engine of the project.", no_args_is_help=True)


@app.callback()
def _engine() -> None:
    """The engine of the project."""


@app.command()
def run(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Serve the project over NATS until SIGTERM or Ctrl-C, then answer what was accepted and end.

    Several engines on one PostgreSQL share the work.
    """
    from naas_abi_cli.project import loaded
    from naas_abi_cli.stopping import stop_signals
    from naas_abi_core.engine.configuration import EngineConfiguration

    configuration = EngineConfiguration.from_file(config)
    if configuration.nats is None:
        raise WrongCall(
            "there is no broker to serve this project at: 'nats' is not configured",
            where=str(configuration.file),
            mend="Add nats.nats_url and nats.jwt_secret, or run 'abi dev', which brings a broker.",
        )
    place = broker_place(configuration)
    with stop_signals() as stop, loaded(configuration, serve=True):
        if json:
            output.print_json({"broker": place})
        else:
            output.print_text(f"Serving documents at {place}.", style="green")
        stop.wait()
        output.note("Stopping: what was accepted is answered first.")


def broker_place(configuration: EngineConfiguration) -> str:
    """The broker of a configuration, without user and password."""
    from naas_abi_sdk.connecting import BrokerSettings

    assert configuration.nats is not None
    return BrokerSettings(configuration.nats.nats_url).place
