"""One connection to an engine's services: what a module outside the engine starts with."""

from __future__ import annotations

from types import TracebackType
from typing import final

from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.document.client import DocumentClient
from naas_abi_sdk.limits import CALL_TIMEOUT
from naas_abi_sdk.tokens import TokenSource, token_from_env
from naas_abi_sdk.transport import Transport

__all__ = ["ABIClient"]


@final
class ABIClient:
    """The services of an engine, for the module ``module_id``.

    ::

        async with ABIClient("acme.chat", "nats://127.0.0.1:4222") as client:
            await client.documents.put("notes", "n-1", {"text": "hello"})

    Building one does no I/O and needs no event loop; entering it or the first call connects.
    Closing it closes its connection and nothing else.

    Args:
        module_id: Who calls, and the namespace of :attr:`documents`.
        settings: Where the broker is and how to log in there, or its url.
        token: Signs the calls; from ``ABI_MODULE_KEY`` or ``ABI_SERVICE_TOKEN`` when None.
        timeout: Seconds a call may take, connecting and repeating included.

    Raises:
        Unauthenticated: there is no token to sign calls with.
        InvalidArgument: the url or the module's id cannot be used.
    """

    def __init__(
        self,
        module_id: str,
        settings: BrokerSettings | str,
        *,
        token: TokenSource | None = None,
        timeout: float = CALL_TIMEOUT,
    ) -> None:
        self.module_id = module_id
        self.transport = Transport(
            settings,
            token=token_from_env(module_id) if token is None else token,
            timeout=timeout,
            name=module_id,
        )
        self.documents = DocumentClient(self.transport, module_id)

    async def __aenter__(self) -> ABIClient:
        await self.transport.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls under way and later ones fail. Closing again is fine."""
        await self.transport.close()
