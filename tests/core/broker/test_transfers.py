"""Values in pieces: their order, their owners, their limits, their end."""

from __future__ import annotations

import pytest

from naas_abi_core.broker.limits import TransferLimits
from naas_abi_core.broker.transfers import Piece, Transfers
from naas_abi_sdk.errors import InvalidArgument, PermissionDenied, RPCError

BROKER = 64 * 1024


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def read(transfers: Transfers, owner: str, id_: str) -> bytes:
    value, number = b"", 0
    while not (piece := transfers.read(owner, id_, number)).done:
        assert not piece.pending
        value += piece.data
        number += 1
    assert transfers.read(owner, id_, number) == Piece(done=True)
    return value


def refused(code: str) -> pytest.RaisesExc[RPCError]:
    return pytest.raises(RPCError, match=f"^{code}: ")


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 10_000])
def test_an_upload_is_read_back_whole_however_often(size: int) -> None:
    transfers = Transfers(TransferLimits())
    value = bytes(number % 251 for number in range(size))
    id_, piece = transfers.open("me", 1024, BROKER)
    assert piece == 1024
    for number in range(-(-size // piece)):
        for _ in range(2):  # an answer that was lost: the piece comes again
            transfers.write("me", id_, number, value[number * piece : (number + 1) * piece])
    assert transfers.read("me", id_, 0) == Piece(pending=True)
    transfers.finish("me", id_)
    transfers.finish("me", id_)
    assert transfers.value("me", id_) == read(transfers, "me", id_) == value
    assert read(transfers, "me", id_) == value
    transfers.close("me", id_)
    transfers.close("me", id_)
    with refused("NOT_FOUND"):
        transfers.read("me", id_, 0)


@pytest.mark.parametrize("size", [0, 1, BROKER // 2, BROKER // 2 + 1, BROKER * 3])
def test_a_parked_reply_comes_in_pieces_the_broker_takes(size: int) -> None:
    transfers = Transfers(TransferLimits())
    id_ = transfers.park("me", b"x" * size, BROKER)
    assert read(transfers, "me", id_) == b"x" * size
    assert len(transfers.read("me", id_, 0).data) <= BROKER // 2


def test_pieces_come_in_order_and_no_larger_than_agreed() -> None:
    transfers = Transfers(TransferLimits())
    id_, piece = transfers.open("me", 0, BROKER)
    assert piece == BROKER // 2
    with refused("CONFLICT"):
        transfers.write("me", id_, 1, b"x")
    with pytest.raises(InvalidArgument, match=f"at most {piece}"):
        transfers.write("me", id_, 0, b"x" * (piece + 1))
    transfers.write("me", id_, 0, b"ab")
    transfers.write("me", id_, 0, b"ab")
    for other in (b"b", b"xb", b"aab"):
        with refused("CONFLICT"):
            transfers.write("me", id_, 0, other)
    transfers.finish("me", id_)
    with refused("CONFLICT"):
        transfers.write("me", id_, 1, b"late")
    with refused("CONFLICT"):
        transfers.read("me", id_, 2)
    assert transfers.value("me", id_) == b"ab"


def test_a_transfer_is_its_owners_alone() -> None:
    transfers = Transfers(TransferLimits())
    id_, _ = transfers.open("me", 0, BROKER)
    for call in (
        lambda: transfers.write("you", id_, 0, b"x"),
        lambda: transfers.finish("you", id_),
        lambda: transfers.read("you", id_, 0),
        lambda: transfers.value("you", id_),
        lambda: transfers.close("you", id_),
    ):
        with pytest.raises(PermissionDenied):
            call()
    transfers.write("me", id_, 0, b"x")
    assert transfers.value("me", id_) == b"x"


def test_what_is_held_is_bounded() -> None:
    limits = TransferLimits(
        max_value_bytes=3000,
        max_parked_bytes=5000,
        max_buffered_upload_bytes=4000,
        max_sessions=5,
    )
    transfers = Transfers(limits)
    first, piece = transfers.open("me", 1024, BROKER)
    second, _ = transfers.open("me", 1024, BROKER)
    for number in range(2):
        transfers.write("me", first, number, b"x" * piece)
    with refused("PAYLOAD_TOO_LARGE"):
        transfers.write("me", first, 2, b"x" * piece)
    transfers.write("me", second, 0, b"x" * piece)
    with refused("RESOURCE_EXHAUSTED"):
        transfers.write("me", second, 1, b"x" * piece)
    with refused("PAYLOAD_TOO_LARGE"):
        transfers.park("me", b"x" * 3001, BROKER)
    parked = transfers.park("me", b"x" * 3000, BROKER)
    with refused("RESOURCE_EXHAUSTED"):
        transfers.park("me", b"x" * 2001, BROKER)
    transfers.close("me", parked)
    for _ in range(3):
        transfers.park("me", b"x", BROKER)
    with refused("RESOURCE_EXHAUSTED"):
        transfers.open("me", 0, BROKER)
    transfers.close("me", first)
    transfers.open("me", 0, BROKER)


def test_a_transfer_nobody_asks_for_is_forgotten() -> None:
    clock = Clock()
    transfers = Transfers(TransferLimits(idle_seconds=60), clock)
    used = transfers.park("me", b"x", BROKER)
    idle = transfers.park("me", b"x", BROKER)
    for _ in range(4):
        clock.now += 20
        transfers.read("me", used, 0)
    assert transfers.in_use(1)
    with refused("NOT_FOUND"):
        transfers.read("me", idle, 0)
    clock.now += 5
    assert not transfers.in_use(1)
    assert transfers.in_use(10)
    clock.now += 60
    assert not transfers.in_use(1000)
