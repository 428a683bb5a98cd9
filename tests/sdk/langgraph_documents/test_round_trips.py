"""Whatever LangGraph's serializer keeps, any history of puts keeps, from any checkpoint."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from naas_abi_sdk.langgraph_documents import Recall
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import Codec, config, make_checkpoint

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=20)
    | st.binary(max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=10,
)
#: Long enough to leave the checkpoint document, long enough to be split.
LONG = st.builds(
    lambda text, times: text * times,
    st.text("abcdé", min_size=1, max_size=9),
    st.sampled_from([300, 40_000]),
)


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, Any]:
    """One change of a list: the shapes that move chunks about."""
    kind = draw(
        st.sampled_from(["append", "front", "drop first", "drop last", "edit", "clear", "grow"])
    )
    return kind, draw(st.text("xyz", min_size=1, max_size=80) | VALUES)


def edited(items: list[Any], kind: str, value: Any) -> list[Any]:
    middle = len(items) // 2
    return {
        "append": [*items, value],
        "front": [value, *items],
        "drop first": items[1:],
        "drop last": items[:-1],
        "edit": [*items[:middle], value, *items[middle + 1 :]],
        "clear": [],
        "grow": [*items, *[f"{value}-{number}" for number in range(40)]],
    }[kind]


STEPS = st.lists(
    st.tuples(edits(), st.none() | VALUES | LONG, st.integers(1, 3), st.booleans()),
    min_size=1,
    max_size=8,
)


@given(STEPS, st.sampled_from([50, 200_000]))
@settings(max_examples=60, deadline=None)
def test_every_checkpoint_of_any_history_loads_as_it_was_put(steps: Any, capacity: int) -> None:
    documents = MemoryDocuments().for_namespace("n")
    codec = Codec(documents, recall=Recall(capacity))
    put: list[Any] = []
    items: list[Any] = []
    for number, ((kind, value), other, back, restart) in enumerate(steps, start=1):
        items = edited(items, kind, value)
        parent = max(0, number - back)
        values = {"items": items, "other": other, "fixed": "f" * 1500}
        versions = {"items": number, "other": number, "fixed": 1}
        if restart:
            codec = Codec(documents, recall=Recall(capacity))
            codec.get_tuple(config(number=parent or None))
        checkpoint = make_checkpoint(number, values, versions)
        codec.put(config(number=parent or None), checkpoint)
        put.append(checkpoint)
    reader = Codec(documents)
    for number, checkpoint in enumerate(put, start=1):
        assert reader.get_tuple(config(number=number)).checkpoint == checkpoint
    assert [item.checkpoint for item in reader.history(config())] == put[::-1]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "__interrupt__", "__resume__"]), VALUES | LONG),
        max_size=5,
    )
)
@settings(max_examples=60, deadline=None)
def test_pending_writes_come_back_as_they_were(writes: Any) -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {}))
    codec.put_writes(config(number=1), writes)
    special = {channel: value for channel, value in writes if channel.startswith("__")}
    ordinary = [(channel, value) for channel, value in writes if not channel.startswith("__")]
    loaded = [(channel, value) for _, channel, value in codec.get_tuple(config()).pending_writes]
    assert [write for write in loaded if not write[0].startswith("__")] == ordinary
    assert {write[0]: write[1] for write in loaded if write[0].startswith("__")} == special


def test_a_growing_list_costs_the_same_each_step() -> None:
    """But for the blob's list of chunks: 70 bytes for every 32 elements until 256 are gathered."""
    store = MemoryDocuments()
    codec = Codec(store.for_namespace("n"))
    messages = [f"message {number} " + "m" * 500 for number in range(200)]
    sizes = []
    for number in range(1, 201):
        before = _size(store)
        codec.put(
            config(number=number - 1 or None),
            make_checkpoint(number, {"messages": messages[:number]}),
        )
        sizes.append(_size(store) - before)
    per_chunk = [sum(sizes[start : start + 32]) for start in range(32, 192, 32)]
    growth = [after - before for before, after in pairwise(per_chunk)]
    assert max(growth) < 32 * 75
    assert per_chunk[0] / 32 < 3_500


def _size(store: MemoryDocuments) -> int:
    return sum(
        len(text)
        for collections in store.snapshot().values()
        for documents in collections.values()
        for text in documents.values()
    )
