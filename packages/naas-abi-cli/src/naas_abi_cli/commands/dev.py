"""``abi dev``: the project's engine with a broker of its own, for developing modules beside it."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from naas_abi_cli import output
from naas_abi_cli.options import ConfigOption, JsonOption

if TYPE_CHECKING:
    from naas_abi_core.engine.configuration import EngineConfiguration

__all__ = ["dev"]

#: The module whose login is shown when none is named.
_EXAMPLE: Final = "my.module"


def dev(
    *,
    module: Annotated[
        list[str] | None,
        typer.Option("--module", "-m", help="Show how the module of this id connects; repeatable."),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Serve the project to modules on this machine, with a NATS broker unless one is configured.

    The broker listens on a free port of this machine only, with passwords made anew at each start.
    Both end with Ctrl-C, SIGTERM, or the process that started this.
    """
    from naas_abi_cli.commands.engine import broker_place
    from naas_abi_cli.commands.module import checked_module_id
    from naas_abi_cli.project import loaded
    from naas_abi_cli.stopping import stop_signals
    from naas_abi_core.engine.configuration import EngineConfiguration

    modules = [checked_module_id(each) for each in module or [_EXAMPLE]]
    read = EngineConfiguration.from_file(config)
    with (
        stop_signals() as stop,
        _with_broker(read) as (configuration, module_url),
        loaded(configuration, serve=True),
    ):
        logins = _logins(configuration, module_url, modules)
        if json:
            output.print_json({"broker": broker_place(configuration), "modules": logins})
        else:
            _tell(broker_place(configuration), logins)
        stop.wait(with_parent=True)
        output.note("Stopping: what was accepted is answered first.")


@contextmanager
def _with_broker(read: EngineConfiguration) -> Iterator[tuple[EngineConfiguration, str]]:
    """A configuration whose broker runs, and the url by which modules reach it."""
    from naas_abi_core.broker.embedded import EmbeddedBroker
    from naas_abi_core.engine.configuration import NatsSettings

    if read.nats is not None and "nats_url" in read.nats.model_fields_set:
        yield read, read.nats.nats_url
        return
    with EmbeddedBroker() as broker:
        url = broker.engine.url(broker.port)
        nats = read.nats or NatsSettings(jwt_secret=secrets.token_urlsafe(48))
        served = read.serving(nats.model_copy(update={"nats_url": url}))
        yield served, broker.module.url(broker.port)


def _logins(
    configuration: EngineConfiguration, url: str, modules: Sequence[str]
) -> dict[str, dict[str, str]]:
    """What each module's environment needs."""
    from naas_abi_sdk.tokens import module_key

    assert configuration.nats is not None
    secret = configuration.nats.jwt_secret
    return {
        module: {"ABI_NATS_URL": url, "ABI_MODULE_KEY": module_key(secret, module)}
        for module in modules
    }


def _tell(place: str, logins: dict[str, dict[str, str]]) -> None:
    output.print_text(f"Serving documents at {place}; Ctrl-C ends it.", style="green")
    for module, variables in logins.items():
        output.print_text(f"To connect the module {module}:")
        for name, value in variables.items():
            output.print_text(f"  export {name}={shlex.quote(value)}")
