"""``abi module``: what modules in other processes need of a project."""

from __future__ import annotations

from typing import Annotated

import typer

from naas_abi_cli import output
from naas_abi_cli.errors import WrongCall
from naas_abi_cli.options import ConfigOption, JsonOption

__all__ = ["app", "checked_module_id"]

app = typer.Typer(help="Modules in other processes.", no_args_is_help=True)


@app.callback()
def _module() -> None:
    """Modules in other processes."""


@app.command()
def key(
    module_id: Annotated[str, typer.Argument(help="The module's id, such as 'acme.billing'.")],
    *,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Print the key that a module signs its calls with: it goes into ABI_MODULE_KEY there.

    The key is derived from nats.jwt_secret and the id. It lets its holder call as this module, and
    as no other.
    """
    from naas_abi_core.engine.configuration import EngineConfiguration
    from naas_abi_sdk.tokens import module_key

    name = checked_module_id(module_id)
    configuration = EngineConfiguration.from_file(config)
    if configuration.nats is None:
        raise WrongCall(
            "there is no nats.jwt_secret to derive a key from",
            where=str(configuration.file),
            mend="Configure it. 'abi dev --module ID' prints the key for a broker of its own.",
        )
    derived = module_key(configuration.nats.jwt_secret, name)
    if json:
        output.print_json({"module": name, "key": derived})
    else:
        output.print_text(derived)


def checked_module_id(module_id: str) -> str:
    """``module_id`` if a module can have it.

    Raises:
        WrongCall: it is empty, not text, or an engine's own name.
    """
    from naas_abi_core.broker.tokens import FIRST_PARTY

    try:
        module_id.encode()
    except UnicodeEncodeError as error:
        raise WrongCall(f"the module id {module_id!r} is not UTF-8 text") from error
    if not module_id or module_id in FIRST_PARTY:
        told = f"it is one of {', '.join(sorted(FIRST_PARTY))}" if module_id else "it is empty"
        raise WrongCall(
            f"{module_id!r} cannot be a module's id: {told}",
            mend="Use the module's dotted name, such as 'acme.billing'.",
        )
    return module_id
