"""What is put into state comes back as it went in, or the save says what cannot be kept."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import logging
import operator
import pathlib
import pickle
import re
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import SecretStr

from naas_abi_sdk.errors import CheckpointDamaged, NotFaithful, TypeUnavailable, ValueNotStorable
from naas_abi_sdk.langgraph_documents import CHECKPOINTS
from naas_abi_sdk.langgraph_documents.faithful import FaithfulSerializer, faithful
from naas_abi_sdk.langgraph_documents.sameness import difference
from naas_abi_sdk.langgraph_documents.tagging import KIND
from naas_abi_sdk.langgraph_documents.unavailable import UnavailableValue
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import Codec, config, make_checkpoint
from tests.support.kept_values import (
    Access,
    Basket,
    Frozen,
    Level,
    Name,
    Numbers,
    Order,
    Point,
    Settings,
    Ticket,
    Total,
)

PARIS = ZoneInfo("Europe/Paris")
BEFORE_THE_CHANGE = dt.datetime(2026, 3, 28, 9, tzinfo=PARIS)
REPEATED = dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=PARIS)


def named(value: Any, **attributes: Any) -> Any:
    for name, attribute in attributes.items():
        setattr(value, name, attribute)
    return value


OURS = [
    Order.State.OPEN,
    Order.Line.Size.SMALL,
    {"a": [Order.State.OPEN]},
    Order(note=Order.Line(size=1)),
    named(Order(note=1), _seen=3),
    Numbers([1, 2]),
    named(Total(1), gross=2),
    Frozen((1,)),
    (dt.time(1, fold=1),),
    {(1, 2), (3, 4)},
    frozenset({frozenset({(1,)})}),
    defaultdict(list, a=[1]),
    defaultdict(None, a=1),
    Counter("abca"),
    OrderedDict(b=1, a=2),
    Settings(b=1, a=2),
    deque([1, 2], maxlen=2),
    BEFORE_THE_CHANGE,
    REPEATED,
    {BEFORE_THE_CHANGE: 1},
    dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1), "here")),
    2**64,
    -(2**63) - 1,
    {2**255 + 1: 1},
    {2**64},
    {dt.date(2026, 1, 1): 1, uuid.UUID(int=1): 2, Level.LOW: 3},
    (),
    (1, 2),
    {"a": [(1, (2,))]},
    "\ud800",
    {"\udfff": "a\ud800"},
    [bytearray(b"a\0")],
    memoryview(b"ab"),
    Basket([1]),
    named(Basket(), extra=1),
    Name("x"),
    named(Name("x"), origin="y"),
    {Name("x"): 1},
    1 + 2j,
    AIMessage("x", additional_kwargs={"t": (1,)}),
    [HumanMessage("x"), (1,)],
]

LANGGRAPHS = [
    None,
    {1: 1, "1": 2, None: 3, "None": 4, 1.5: 5, "1.5": 6, b"x": 7, "x": 8},
    float("nan"),
    -0.0,
    "nul\0",
    b"\xff",
    b"",
    bytearray(b"a"),
    {(1, 2): 3},
    {1, 2},
    frozenset({"a"}),
    deque([1]),
    Access.READ | Access.WRITE,
    Level.LOW,
    Point(1, 2),
    Order(note=1),
    dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc),
    dt.datetime(2026, 1, 1, 2),  # noqa: DTZ001 -- naive on purpose: it must stay so
    dt.timedelta(1, 2, 3),
    dt.date(2026, 1, 1),
    dt.time(1),
    dt.time(1, tzinfo=PARIS),
    PARIS,
    decimal.Decimal("1.10"),
    uuid.UUID(int=3),
    pathlib.Path("a"),
    re.compile("a", re.IGNORECASE),
    HumanMessage("x"),
    {"m": [AIMessage("x", id="1")]},
    SecretStr("[REDACTED]"),
]


@pytest.fixture
def codec() -> Codec:
    return Codec(MemoryDocuments().for_namespace("n"))


@pytest.mark.parametrize("value", OURS, ids=lambda value: type(value).__name__)
def test_what_langgraph_would_change_is_kept_by_us(value: Any) -> None:
    """C001, C005, C006, C007, C008, C011, C019: under a kind that others do not take for theirs."""
    serde = FaithfulSerializer()
    kind, payload = serde.dumps_typed(value)
    assert kind == KIND
    assert difference(value, serde.loads_typed((kind, payload))) is None
    assert serde.dumps_typed(value) == (kind, payload)
    with pytest.raises(NotImplementedError, match=KIND):
        JsonPlusSerializer().loads_typed((kind, payload))


@pytest.mark.parametrize("value", LANGGRAPHS, ids=lambda value: type(value).__name__)
def test_what_langgraph_keeps_is_stored_as_langgraph_stores_it(value: Any) -> None:
    """C008, C011, C017, C019."""
    serde = FaithfulSerializer()
    typed = serde.dumps_typed(value)
    assert typed == JsonPlusSerializer().dumps_typed(value)
    assert difference(value, serde.loads_typed(typed)) is None


def test_bytes_and_what_looks_like_them_are_told_apart(codec: Codec) -> None:
    """C019: also in a list that differs from the stored one in nothing else."""
    texts = ["ä" * 100 + "\u0105", *["x" * 100] * 30]
    thread = config()
    for number, value in enumerate((b"a", bytearray(b"a"), memoryview(b"a"), b"a"), 1):
        held = [*texts, {"raw": [value]}]
        thread = codec.put(thread, make_checkpoint(number, {"a": held}))
        loaded = codec.get_tuple(config())
        assert loaded is not None
        assert difference(held, loaded.checkpoint["channel_values"]["a"]) is None


@pytest.mark.parametrize("place", ["alone", "in a list", "in a message", "in a long list", "write"])
def test_everywhere_in_a_checkpoint(codec: Codec, place: str) -> None:
    """C001, C005, C006, C007, C008: in every place a value can have."""
    for number, value in enumerate(OURS, 1):
        held: Any = {
            "alone": value,
            "in a list": [value],
            "in a message": HumanMessage("x", additional_kwargs={"held": value}),
            "in a long list": [value, *["x" * 100] * 40],
            "write": None,
        }[place]
        thread = config(f"t-{number}")
        codec.put(thread, make_checkpoint(1, {"a": held}), {"source": "loop", "mine": 2**70})
        codec.put_writes(config(f"t-{number}", 1), [("a", value)], "task")
        loaded = Codec(codec.documents).get_tuple(thread)
        assert loaded is not None
        assert difference(held, loaded.checkpoint["channel_values"]["a"]) is None
        assert difference(value, loaded.pending_writes[0][2]) is None
        assert loaded.metadata["mine"] == 2**70


def test_kept_values_work_as_before() -> None:
    """C006, C007: what is done with a value after loading gives what it would have given."""
    serde = FaithfulSerializer()

    def reloaded(value: Any) -> Any:
        return serde.loads_typed(serde.dumps_typed(value))

    by_name = reloaded(defaultdict(list, a=[1]))
    by_name["b"].append(2)
    assert by_name == {"a": [1], "b": [2]}
    assert reloaded(Counter("abca")).most_common(1) == [("a", 2)]
    bounded = reloaded(deque([1, 2], maxlen=2))
    bounded.append(3)
    assert list(bounded) == [2, 3]
    ordered = reloaded(OrderedDict(b=1, a=2))
    ordered.move_to_end("b")
    assert list(ordered) == ["a", "b"]
    day_after = reloaded(BEFORE_THE_CHANGE) + dt.timedelta(days=1)
    assert day_after.utcoffset() == dt.timedelta(hours=2)
    assert reloaded(REPEATED).utcoffset() == dt.timedelta(hours=1)
    total = Total(1)
    assert total.label == "1 net"
    assert "label" not in vars(reloaded(total))


@pytest.mark.parametrize(
    ("value", "path", "what"),
    [
        (Ticket(), "", "Ticket"),
        ({"y": [0, {"z": Ticket()}]}, "['y'][1]['z']", "Ticket"),
        (Order(note=[Ticket()]), ".note[0]", "Ticket"),
        (Point(1, Ticket()), "[1]", "Ticket"),
        ([[1], Ticket()], "[1]", "Ticket"),
        ([ValueError("x")], "[0]", "ValueError"),
        ((Ticket,), "[0]", "type"),
        ([range(3)], "[0]", "range"),
        ({"f": defaultdict(lambda: 1)}, "['f']", "defaultdict"),
        (Total(Ticket()), ".net", "Ticket"),  # type: ignore[arg-type]  # what users do
    ],
)
def test_what_nobody_can_keep_is_refused_by_name(
    codec: Codec, value: Any, path: str, what: str
) -> None:
    """C012: thread, channel, path and type."""
    codec.put(config(), make_checkpoint(1, {"a": 1}))
    place = re.escape(f"channel 'b'{path} of thread 't-1' is a ") + rf"[\w.]*\.{what} that cannot"
    with pytest.raises(ValueNotStorable, match=place):
        codec.put(config(number=1), make_checkpoint(2, {"a": 2, "b": value}))
    loaded = codec.get_tuple(config())
    assert loaded is not None
    assert loaded.checkpoint["channel_values"] == {"a": 1}


def test_a_class_inside_a_function_is_refused() -> None:
    """C001: it could never be found again."""
    from dataclasses import make_dataclass

    hidden = make_dataclass("Hidden", ["x"])
    with pytest.raises(NotFaithful, match="cannot be found") as caught:
        FaithfulSerializer().dumps_typed({"a": [hidden(1)]})
    assert caught.value.path == "['a'][0]"


def test_a_value_that_holds_itself_is_refused() -> None:
    around: list[Any] = [(1,)]
    around.append(around)
    with pytest.raises(NotFaithful, match="RecursionError"):
        FaithfulSerializer().dumps_typed(around)
    with pytest.raises(NotFaithful, match="no serialization") as caught:
        FaithfulSerializer().dumps_typed([Ticket(), around])
    assert caught.value.path == "[0]"


def test_errors_and_interrupts_stay_as_langgraph_keeps_them(codec: Codec) -> None:
    """An error is its text, interrupts are a list, as with LangGraph's own savers."""
    codec.put(config(), make_checkpoint(1, {"a": 1}))
    writes = [("__error__", ValueError("x")), ("__interrupt__", (1, (2,)))]
    codec.put_writes(config(number=1), writes, "task")
    loaded = codec.get_tuple(config())
    assert loaded is not None
    values = {channel: value for _, channel, value in loaded.pending_writes or ()}
    assert values == {"__error__": "ValueError('x')", "__interrupt__": [1, (2,)]}


def with_module(name: str, source: str) -> ModuleType:
    module = ModuleType(name)
    sys.modules[name] = module
    exec(source, module.__dict__)
    return module


CART = """
from dataclasses import dataclass
@dataclass
class Cart:
    items: object
"""


@pytest.mark.parametrize("wrap", [lambda cart: cart, lambda cart: {"in": (cart,)}], ids=["a", "b"])
def test_a_class_that_is_gone(
    codec: Codec,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    wrap: Callable[[Any], Any],
) -> None:
    """C004: named with its place, left as stored, and back when the class is."""
    monkeypatch.setattr("naas_abi_sdk.langgraph_documents.unavailable._reported", set())
    module = with_module("gone_for_a_while", CART)
    value = wrap(module.Cart([1, "x" * 2000]))
    codec.put(config(), make_checkpoint(1, {"cart": value, "n": 1}))
    codec.put_writes(config(number=1), [("cart", value)], "task")
    del sys.modules["gone_for_a_while"]
    with caplog.at_level(logging.WARNING):
        damaged = Codec(codec.documents)
        loaded = damaged.get_tuple(config())
    assert loaded is not None
    assert "channel 'cart' of thread 't-1' holds a gone_for_a_while.Cart" in caplog.text
    assert "write to channel 'cart' of thread 't-1' holds a gone_for_a_while.Cart" in caplog.text
    held = loaded.checkpoint["channel_values"]["cart"]
    # Also where the value is serialized again, as by a process that knows nothing of the parent.
    versions = {"cart": 2, "n": 2}
    values = {"cart": held, "n": 2}
    Codec(codec.documents).put(config(number=1), make_checkpoint(2, values, versions))
    damaged.put(config(number=2), make_checkpoint(3, values, versions))
    sys.modules["gone_for_a_while"] = module
    for number in (1, 2, 3):
        again = Codec(codec.documents).get_tuple(config(number=number))
        assert again is not None
        assert again.checkpoint["channel_values"]["cart"] == value
    del sys.modules["gone_for_a_while"]


def test_a_value_that_is_unavailable_says_so_when_it_is_used() -> None:
    """C004: a run must not go on with something else."""
    module = with_module("gone_again", CART)
    serde = FaithfulSerializer()
    typed = serde.dumps_typed(module.Cart([1]))
    del sys.modules["gone_again"]
    held = serde.loads_typed(typed)
    for use in (
        lambda: held.items,
        lambda: held[0],
        lambda: operator.add(held, [1]),
        lambda: operator.add([1], held),
        lambda: list(held),
        lambda: bool(held),
        held,
        lambda: len(held),
    ):
        with pytest.raises(TypeUnavailable, match=r"gone_again\.Cart.*cannot be found"):
            use()
    assert repr(held).startswith("<gone_again.Cart, unavailable: it cannot be found")
    assert held == pickle.loads(pickle.dumps(held)) != 1
    assert copy.deepcopy(held) == held
    assert hash(held) == hash(serde.loads_typed(typed))
    assert held.unavailable_data == [{"items": [1]}]
    assert serde.dumps_typed(held) == typed


def test_a_class_that_takes_something_else_now_is_unavailable() -> None:
    """C004."""
    module = with_module("changed", CART)
    serde = FaithfulSerializer()
    typed = serde.dumps_typed(module.Cart([1]))
    with_module("changed", CART.replace("items", "lines"))
    held = serde.loads_typed(typed)
    del sys.modules["changed"]
    assert type(held) is UnavailableValue
    assert "cannot be built from what is stored (TypeError" in held.unavailable_because


def test_encryption_of_langgraphs_covers_our_kind() -> None:
    plain = EncryptedSerializer.from_pycryptodome_aes(key=b"1234567890123456")
    serde = faithful(plain)
    kind, payload = serde.dumps_typed({"secret words": (1,)})
    assert kind == f"{KIND}+aes"
    assert b"secret words" not in payload
    assert serde.loads_typed((kind, payload)) == {"secret words": (1,)}
    with pytest.raises(NotImplementedError, match=KIND):
        plain.loads_typed((kind, payload))


def test_extensions_that_nobody_wrote_are_damage() -> None:
    serde = FaithfulSerializer()
    with pytest.raises(ValueError, match="extension of type 99"):
        serde.loads_typed(("msgpack", ormsgpack.packb(ormsgpack.Ext(99, b""))))
    with pytest.raises(ValueError, match="invalid type Reserved"):
        serde.loads_typed(("msgpack", b"\xc1"))


def test_a_planted_pickle_is_refused(codec: Codec) -> None:
    """C022: whatever the serializer says."""
    codec.memory = type(codec.memory)(
        codec.memory.agent_id, JsonPlusSerializer(pickle_fallback=True)
    )
    with pytest.raises(ValueNotStorable, match=r"channel 'a' of thread 't-1' is a "):
        codec.put(config(), make_checkpoint(1, {"a": Ticket()}))
    codec.put(config(), make_checkpoint(1, {"a": 1}))
    (document,) = codec.documents.find(CHECKPOINTS).items
    document.data["channels"]["a"]["value"] = {"kind": "pickle", "payload": pickle.dumps(1)}
    codec.documents.put(CHECKPOINTS, document.id, document.data)
    with pytest.raises(CheckpointDamaged, match=r"checkpoint '.*0001' of thread 't-1'.*pickle"):
        codec.get_tuple(config())


def test_a_serializer_that_pickles_is_refused(codec: Codec) -> None:
    class Pickling:
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "pickle", pickle.dumps(obj)

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            raise AssertionError

    codec.memory = type(codec.memory)(codec.memory.agent_id, Pickling())
    with pytest.raises(ValueNotStorable, match="would be a pickle"):
        codec.put(config(), make_checkpoint(1, {"a": 1}))


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.binary() | st.text()
KEYS = st.integers() | st.text(max_size=3) | st.dates() | st.tuples(st.integers())
VALUES = st.recursive(
    PLAIN
    | st.text(st.characters())
    | st.datetimes(timezones=st.sampled_from([PARIS, dt.timezone.utc])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.frozensets(KEYS, max_size=3)
        | st.builds(deque, st.lists(inner, max_size=3), st.sampled_from([None, 3]))
        | st.builds(lambda held: Order(note=held), inner)
        | st.builds(Point, inner, inner)
        | st.builds(lambda held: defaultdict(list, held), st.dictionaries(KEYS, inner, max_size=2))
    ),
    max_leaves=8,
)


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_anything_comes_back_as_it_went_in(value: Any) -> None:
    serde = FaithfulSerializer()
    typed = serde.dumps_typed(value)
    assert difference(value, serde.loads_typed(typed)) is None
    if typed[0] == "msgpack":
        assert typed == JsonPlusSerializer().dumps_typed(value)
