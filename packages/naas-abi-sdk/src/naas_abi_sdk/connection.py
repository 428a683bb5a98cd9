"""One connection to the broker and the replies that arrive on it.

A connection is **usable**, **away** (lost; nats-py opens it again by itself) or **over** (closed,
or found unable to hand over replies; :mod:`.transport` then opens another). Replies arrive on one
subscription of our own rather than on nats-py's, because that one can be lost without anybody
being told: every later request would run into its time limit. Ours can be asked whether it still
works (:meth:`Connection.hears_itself`), drops no message, and wakes who waits when the connection
is lost.

Nothing here waits without a limit, and cancelling a caller cancels nothing inside nats-py, whose
sender may not survive that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Final, final

from naas_abi_sdk.connecting import BrokerSettings, Watcher, open_connection
from naas_abi_sdk.errors import PermissionDenied, Unavailable

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

__all__ = ["Connection", "Expected"]

#: Seconds that closing may take; the broker is then left to notice by itself.
_CLOSING: Final = 2.0

#: Seconds a loop needs at most to hand over what has arrived.
_UNSEEN: Final = 0.1

#: The broker's words for what a login may not do.
_NOT_PERMITTED: Final = "permissions violation"


@final
class Expected:
    """The reply to one request, from before it is sent until nobody waits for it any more.

    Attributes:
        inbox: Where the reply is to be sent.
        reply: The reply, once it is there.
        refused: Why the broker did not take the request.
        lost: Whether the connection was lost meanwhile, and maybe the reply with it.
    """

    def __init__(self, subject: str, inbox: str) -> None:
        self.subject = subject
        self.inbox = inbox
        self.reply: Msg | None = None
        self.refused: PermissionDenied | None = None
        self.lost = False
        self._stirred: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def stir(self) -> None:
        """Wake who waits."""
        if not self._stirred.done():
            self._stirred.set_result(None)

    async def wait(self, seconds: float) -> Msg | None:
        """The reply, or None when that long has passed or something else happened before."""
        loop = asyncio.get_running_loop()
        # Not asyncio.wait or wait_for: each reply would take one more round of the loop.
        silence = loop.call_later(max(seconds, 0), self.stir)
        try:
            await self._stirred
        finally:
            silence.cancel()
        if self.reply is None:
            self._stirred = loop.create_future()
        return self.reply


@final
class Connection:
    """One connection; belongs to the event loop it was opened in."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._client: Client
        self._replies: Subscription | None = None
        self._inbox = ""
        self._expected: dict[str, Expected] = {}
        self._numbers = count()
        self._usable = asyncio.Event()
        self._over = False
        self._deaf_because: str | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @classmethod
    async def open(
        cls, settings: BrokerSettings, *, name: str, inbox_prefix: str, seconds: float
    ) -> Connection:
        """Connect and make sure that replies can arrive.

        Raises:
            Unauthenticated: the broker refuses the login.
            PermissionDenied: the login may not subscribe to inboxes with this prefix.
            Unavailable: the broker cannot be reached.
        """
        self = cls(settings.place)
        self._client = await open_connection(
            settings,
            name=name,
            timeout=seconds,
            inbox_prefix=inbox_prefix,
            watcher=Watcher(self._on_error, self._on_lost, self._on_back, self._on_closed),
        )
        try:
            await self._listen(inbox_prefix, seconds)
        except BaseException:
            self.give_up()
            raise
        return self

    async def _listen(self, inbox_prefix: str, seconds: float) -> None:
        self._inbox = self._client.new_inbox()
        # No limits: dropping a reply would only turn slowness into a failure.
        self._replies = await self._client.subscribe(
            f"{self._inbox}.*", cb=self._on_message, pending_msgs_limit=0, pending_bytes_limit=0
        )
        self._usable.set()
        hears = await self.hears_itself(seconds)
        if self._deaf_because:
            raise PermissionDenied(f"{self._deaf_because}; the inbox prefix is {inbox_prefix}")
        if hears:
            return
        message = f"the broker at {self._place} took the connection but hands over no message"
        raise Unavailable(message)

    @property
    def over(self) -> bool:
        """Whether another connection must be opened."""
        return self._over

    @property
    def max_payload(self) -> int:
        """Bytes of a message, headers included, that the broker takes at most."""
        return self._client.max_payload

    @property
    def usable(self) -> bool:
        """Whether it is there now."""
        return self._usable.is_set() and not self._over

    async def becomes_usable(self, seconds: float) -> bool:
        """Wait that long at most for the connection to be there."""
        if not self._usable.is_set():
            waiting = self._start(self._usable.wait())
            await asyncio.wait([waiting], timeout=max(seconds, 0))
            waiting.cancel()
        return self.usable

    @contextmanager
    def expecting(self, subject: str) -> Iterator[Expected]:
        """The reply to a request on ``subject``; what arrives later goes nowhere."""
        token = f"{next(self._numbers):x}"
        expected = Expected(subject, f"{self._inbox}.{token}")
        self._expected[token] = expected
        try:
            yield expected
        finally:
            del self._expected[token]

    async def publish(
        self,
        subject: str,
        body: bytes,
        *,
        reply: str = "",
        headers: Mapping[str, str] | None = None,
        seconds: float,
    ) -> bool:
        """Hand a message to the broker; False if it certainly was not."""
        from nats.errors import Error

        publishing = self._client.publish(
            subject, body, reply=reply, headers=dict(headers) if headers else None
        )
        sending = self._start(publishing)
        done, _ = await asyncio.wait([sending], timeout=max(seconds, 0))
        if not done:
            # Most of it may be on its way: whoever expects a reply finds out.
            return True
        failure = sending.exception()
        if failure is not None and not isinstance(failure, Error):
            raise failure
        return failure is None

    async def hears_itself(self, seconds: float) -> bool:
        """Whether a message sent to our own inbox arrives; True where that cannot be told.

        It cannot while the connection is away, or if the broker lets us send nothing there.
        """
        with self.expecting(self._inbox) as expected:
            expected.subject = expected.inbox
            if not self.usable or not await self.publish(expected.inbox, b"", seconds=seconds):
                return True
            # Again for a moment: a loop that was blocked meanwhile has yet to see what arrived.
            arrived = await expected.wait(seconds) or await expected.wait(_UNSEEN)
            return bool(arrived or expected.refused) or not self.usable

    def give_up(self) -> None:
        """Use this connection no more; who waits for a reply on it is told."""
        if not self._over:
            self._over = True
            self._start(self._shut())
            self._lose_all()

    async def close(self) -> None:
        """Close it, within a time limit."""
        self.give_up()
        if self._tasks:
            await asyncio.wait(self._tasks.copy(), timeout=_CLOSING)

    async def _shut(self) -> None:
        from nats.errors import Error

        # A connection that is away fails to close and forgets its subscriptions' tasks.
        if self._replies is not None:
            with suppress(Error):
                await self._replies.unsubscribe()
        # Cancelling its attempts to connect again may fail on Python 3.10; then they end by this.
        self._client.options["max_reconnect_attempts"] = 1
        with suppress(OSError):
            await self._client.close()

    def _start(self, coroutine: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who wants to know has asked; nobody must be warned of it later

    def _lose_all(self) -> None:
        self._usable.clear()
        for expected in self._expected.values():
            expected.lost = True
            expected.stir()

    async def _on_message(self, message: Msg) -> None:
        expected = self._expected.get(message.subject.rpartition(".")[2])
        if expected is not None and expected.reply is None:
            expected.reply = message
            expected.stir()

    async def _on_lost(self) -> None:
        self._lose_all()

    async def _on_back(self) -> None:
        if not self._over:
            self._usable.set()

    async def _on_closed(self) -> None:
        self._over = True
        self._lose_all()
        # Who waits for it to come back must see that it will not.
        self._usable.set()

    async def _on_error(self, error: Exception) -> None:
        told = str(error).removeprefix("nats: ")
        if _NOT_PERMITTED not in told.lower():
            return
        for expected in self._expected.values():
            # nats-py hands the broker's words over in lower case.
            if f'publish to "{expected.subject}"'.lower() in told.lower():
                expected.refused = PermissionDenied(f"the broker at {self._place}: {told}")
                expected.stir()
        if "subscription" in told.lower():
            self._deaf_because = f"the broker at {self._place}: {told}"
            self._lose_all()
