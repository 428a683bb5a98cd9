"""Where the broker is and how to log in there, and the one way to open a connection to it."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import urlsplit

from naas_abi_sdk.errors import InvalidArgument, Unauthenticated, Unavailable

if TYPE_CHECKING:
    from nats.aio.client import Client

__all__ = ["BrokerSettings", "Watcher", "close_connection", "open_connection"]

_log = logging.getLogger(__name__)

#: Seconds between two tries to connect: before the first success, and after a lost connection.
_TRY_AGAIN: Final = 0.25

#: Seconds a try that is given up has to end, and its client to close: behind a TLS handshake that
#: failed that may take half a minute.
_CANCELLING: Final = 0.2

#: Seconds that closing may take; the broker is then left to notice by itself.
_CLOSING: Final = 2.0

#: Seconds between two checks that the broker is still there; a connection that fails two in a row
#: is opened again. A silent network costs the saves of a minute, not of nats-py's four.
_PING: Final = 20

_SCHEMES: Final = ("nats", "tls", "ws", "wss")


@final
@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """A broker, or the servers of a cluster, and how to log in.

    Attributes:
        url: ``nats://host:4222``, ``tls://`` or ``wss://``; of a cluster several, with commas. User
            and password may be in it.
        user: User, with ``password``.
        password: Its password.
        nkey_seed_file: File with the seed of an NKey, to log in with that.
        credentials_file: File of a user's JWT and seed (``.creds``), to log in with those.
        tls_ca_file: Certificates to trust instead of the system's.
        tls_certificate_file: This side's certificate, with ``tls_key_file``.
        tls_key_file: Its key.
    """

    url: str = "nats://127.0.0.1:4222"
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    nkey_seed_file: Path | str | None = None
    credentials_file: Path | str | None = None
    tls_ca_file: Path | str | None = None
    tls_certificate_file: Path | str | None = None
    tls_key_file: Path | str | None = None

    def __post_init__(self) -> None:
        for url in self.urls:
            try:
                parts = urlsplit(url)
                usable = parts.scheme in _SCHEMES and parts.hostname and parts.port != 0
            except ValueError:
                usable = False
            if not usable:
                message = (
                    "the broker's url must be like nats://host:4222, tls://host:4222 or "
                    "nats://user:password@host:4222, with @ : / in a password percent-encoded"
                )
                raise InvalidArgument(message)

    @property
    def urls(self) -> list[str]:
        """Each server's url."""
        return [url.strip() for url in self.url.split(",")]

    @property
    def place(self) -> str:
        """The broker for people: nothing secret."""
        parts = map(urlsplit, self.urls)
        return ",".join(f"{each.scheme}://{each.hostname}:{each.port or 4222}" for each in parts)


@final
@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told what becomes of a connection once it is open.

    Attributes:
        on_error: Something went wrong; the connection mends itself where it can.
        on_lost: The connection is lost.
        on_back: It is there again.
        on_closed: It will not be opened again.
    """

    on_error: Callable[[Exception], Awaitable[None]] | None = None
    on_lost: Callable[[], Awaitable[None]] | None = None
    on_back: Callable[[], Awaitable[None]] | None = None
    on_closed: Callable[[], Awaitable[None]] | None = None


async def open_connection(
    settings: BrokerSettings,
    *,
    name: str,
    timeout: float = 10.0,
    inbox_prefix: str = "_INBOX",
    watcher: Watcher | None = None,
) -> Client:
    """A connection that, once open, is opened again whenever it is lost, for ever.

    Args:
        settings: Where to.
        name: What the broker's operator sees.
        timeout: Seconds until the first success at most.
        inbox_prefix: Where replies arrive.
        watcher: Is told what happens later.

    Raises:
        Unauthenticated: the broker refuses the login, or its certificate is not trusted.
        Unavailable: it cannot be reached, or the text says what else.
    """
    options = {**_options(settings), "name": name, "inbox_prefix": inbox_prefix}
    deadline = time.monotonic() + timeout
    while True:
        left = max(deadline - time.monotonic(), 0.01)
        try:
            return await _connect(settings, options, left, watcher or Watcher())
        except Unavailable:
            if time.monotonic() + _TRY_AGAIN >= deadline:
                raise
        await asyncio.sleep(_TRY_AGAIN)


async def close_connection(client: Client) -> None:
    """Close a connection within seconds, also while the broker is away."""
    # Cancelling its attempts to connect again may fail on Python 3.10; then they end by this.
    client.options["max_reconnect_attempts"] = 1
    await _failure_within(_CLOSING, asyncio.ensure_future(client.close()))


async def _connect(
    settings: BrokerSettings,
    options: dict[str, Any],
    timeout: float,
    watcher: Watcher,
) -> Client:
    from nats.aio.client import Client

    client = Client()
    seen: list[Exception] = []
    is_open = False

    def told(callback: Callable[..., Awaitable[None]] | None) -> Callable[..., Awaitable[None]]:
        async def tell(*arguments: Any) -> None:
            if is_open and callback is not None:
                await callback(*arguments)

        return tell

    async def note(error: Exception) -> None:
        if is_open:
            _log.info("connection to %s: %r", settings.place, error)
            await told(watcher.on_error)(error)
        else:
            seen.append(error)

    connecting = client.connect(
        settings.urls,
        error_cb=note,
        disconnected_cb=told(watcher.on_lost),
        reconnected_cb=told(watcher.on_back),
        closed_cb=told(watcher.on_closed),
        # The first time nats-py would try for ever, and hide what is wrong.
        allow_reconnect=False,
        max_reconnect_attempts=1,
        reconnect_time_wait=_TRY_AGAIN,  # type: ignore[arg-type]  # it is slept, so a float
        ping_interval=_PING,
        **options,
    )
    failure: BaseException | None = asyncio.CancelledError()
    try:
        failure = await _failure_within(timeout, asyncio.ensure_future(connecting))
    finally:
        if failure is not None:
            await _failure_within(_CANCELLING, asyncio.ensure_future(client.close()))
    if failure is not None:
        raise _named(settings, seen[0] if seen else failure) from failure
    client.options.update(allow_reconnect=True, max_reconnect_attempts=-1)
    is_open = True
    return client


async def _failure_within(seconds: float, task: asyncio.Future[None]) -> BaseException | None:
    """Why ``task`` failed, None if it did not; when this returns it has ended."""
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        # Not `wait_for`: it loses the exception of what fails while being cancelled.
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_CANCELLING)
        if task.done() and not task.cancelled():
            task.exception()  # asked for even if this is cancelled, lest it be warned of
    if not task.done() or task.cancelled():
        return TimeoutError("no answer in time")
    return task.exception()


def _named(settings: BrokerSettings, error: BaseException) -> Exception:
    told = str(error) or "there was no answer in time"
    if "authorization" in told.lower() or "authentication" in told.lower():
        message = f"the broker at {settings.place} refuses the login; check user and credentials"
        return Unauthenticated(message)
    if isinstance(error, ssl.SSLCertVerificationError):
        message = (
            f"the certificate of the broker at {settings.place} is not trusted: "
            f"{error.verify_message}; give its authority's certificate as tls_ca_file"
        )
        return Unauthenticated(message)
    message = f"the broker at {settings.place} cannot be reached: {told.removeprefix('nats: ')}"
    return Unavailable(message)


def _options(settings: BrokerSettings) -> dict[str, Any]:
    options: dict[str, Any] = {"user": settings.user, "password": settings.password}
    for option, file in (
        ("nkeys_seed", settings.nkey_seed_file),
        ("user_credentials", settings.credentials_file),
    ):
        if file is not None:
            _check_readable(file)
            _check_nkeys()
            options[option] = str(file)
    if (settings.tls_ca_file, settings.tls_certificate_file) != (None, None):
        options["tls"] = _tls(settings)
    return options


def _check_readable(file: Path | str) -> None:
    try:
        Path(file).open("rb").close()
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror or error}"
        raise Unauthenticated(message) from error


def _check_nkeys() -> None:
    if find_spec("nkeys") is None:
        message = "NKeys and credentials files need a package: pip install 'naas-abi-sdk[nkeys]'"
        raise Unauthenticated(message)


def _tls(settings: BrokerSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(
            cafile=None if settings.tls_ca_file is None else str(settings.tls_ca_file)
        )
        if settings.tls_certificate_file is not None:
            context.load_cert_chain(settings.tls_certificate_file, settings.tls_key_file)
    except (OSError, ssl.SSLError) as error:
        files = (settings.tls_ca_file, settings.tls_certificate_file, settings.tls_key_file)
        named = ", ".join(str(file) for file in files if file is not None)
        message = f"the TLS files {named} cannot be used: {error}"
        raise Unauthenticated(message) from error
    return context
