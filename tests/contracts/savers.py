"""What every checkpoint saver does, held against ours and against LangGraph's own in-memory one.

Where LangGraph's reference is itself at fault, the right value is stated in the tests of our
saver instead. Each test is run through the sync and the async methods.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.support.checkpoints import checkpoint_id, config, make_checkpoint

STEP: Any = {"source": "loop", "step": 1, "parents": {}}


class Sync:
    """A saver through its sync methods."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self.saver = saver

    def put(self, at: Any, checkpoint: Any, metadata: Any = STEP) -> Any:
        return self.saver.put(at, checkpoint, metadata, checkpoint["channel_versions"])

    def put_writes(self, at: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.saver.put_writes(at, writes, task_id, task_path)

    def get_tuple(self, at: Any) -> Any:
        return self.saver.get_tuple(at)

    def list(self, at: Any, **arguments: Any) -> list[Any]:
        return list(self.saver.list(at, **arguments))

    def delete_thread(self, thread_id: str) -> None:
        self.saver.delete_thread(thread_id)


class Async(Sync):
    """A saver through its async methods, each call in a loop of its own."""

    def put(self, at: Any, checkpoint: Any, metadata: Any = STEP) -> Any:
        return asyncio.run(
            self.saver.aput(at, checkpoint, metadata, checkpoint["channel_versions"])
        )

    def put_writes(self, at: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        asyncio.run(self.saver.aput_writes(at, writes, task_id, task_path))

    def get_tuple(self, at: Any) -> Any:
        return asyncio.run(self.saver.aget_tuple(at))

    def list(self, at: Any, **arguments: Any) -> list[Any]:
        async def collect() -> list[Any]:
            return [item async for item in self.saver.alist(at, **arguments)]

        return asyncio.run(collect())

    def delete_thread(self, thread_id: str) -> None:
        asyncio.run(self.saver.adelete_thread(thread_id))


def numbers(found: list[Any]) -> list[int]:
    return [int(item.checkpoint["id"][-4:]) for item in found]


class SaverContract:
    """Give a ``saver`` fixture; every test then holds."""

    @pytest.fixture(params=[Sync, Async], ids=["sync", "async"])
    def calls(self, request: pytest.FixtureRequest, saver: BaseCheckpointSaver[Any]) -> Sync:
        calls: Sync = request.param(saver)
        return calls

    def test_what_was_put_is_loaded(self, calls: Sync) -> None:
        values = {
            "messages": [HumanMessage("hi", id="1"), AIMessage("hello " * 100, id="2")],
            "count": 3,
            "nothing": None,
            "nested": {"a": [1, {"b": b"\x00\xff"}]},
            "empty": [],
        }
        checkpoint = make_checkpoint(1, values)
        returned = calls.put(config(), checkpoint, {"source": "input", "step": -1, "parents": {}})
        assert returned == config(number=1)
        loaded = calls.get_tuple(config())
        assert loaded.config == config(number=1)
        assert loaded.checkpoint == checkpoint
        assert loaded.metadata == {"source": "input", "step": -1, "parents": {}}
        assert loaded.parent_config is None
        assert loaded.pending_writes == []

    @pytest.mark.parametrize(
        "value",
        [
            "nul\0 in text",
            float("inf"),
            float("-inf"),
            -0.0,
            2**63 - 1,
            -(2**63),
            b"\xff\x00",
            b"",
        ],
        ids=repr,
    )
    def test_values_are_exact(self, calls: Sync, value: Any) -> None:
        """C014, C017, C019: in state, in a list, and in a pending write."""
        calls.put(config(), make_checkpoint(1, {"one": value, "many": [value, "x" * 2000]}))
        calls.put_writes(config(number=1), [("a", value)], "task-1")
        loaded = calls.get_tuple(config())
        values = loaded.checkpoint["channel_values"]
        for found in (values["one"], values["many"][0], loaded.pending_writes[0][2]):
            assert type(found) is type(value)
            assert repr(found) == repr(value)

    def test_nan_is_kept(self, calls: Sync) -> None:
        """C017."""
        calls.put(config(), make_checkpoint(1, {"n": float("nan")}), {**STEP, "n": float("nan")})
        loaded = calls.get_tuple(config())
        assert repr(loaded.checkpoint["channel_values"]["n"]) == "nan"
        assert repr(loaded.metadata["n"]) == "nan"

    def test_nothing_stored_loads_as_none(self, calls: Sync) -> None:
        assert calls.get_tuple(config("absent")) is None
        assert calls.get_tuple(config("absent", 1)) is None
        assert calls.list(config("absent")) == []

    def test_latest_is_the_greatest_id_and_each_is_found_by_id(self, calls: Sync) -> None:
        for number in (1, 3, 2):
            calls.put(config(), make_checkpoint(number, {"n": number}))
        assert calls.get_tuple(config()).checkpoint["channel_values"] == {"n": 3}
        for number in (1, 2, 3):
            loaded = calls.get_tuple(config(number=number))
            assert loaded.checkpoint["channel_values"] == {"n": number}
        assert calls.get_tuple(config(number=4)) is None

    def test_the_parent_is_the_checkpoint_the_config_named(self, calls: Sync) -> None:
        calls.put(config(), make_checkpoint(1, {}))
        calls.put(config(number=1), make_checkpoint(2, {}))
        assert calls.get_tuple(config()).parent_config == config(number=1)

    def test_channels_not_written_lately_are_complete(self, calls: Sync) -> None:
        """C056: one channel last changed long ago, another every step."""
        calls.put(
            config(),
            make_checkpoint(1, {"messages": ["m" * 2000], "n": 0}, {"messages": 1, "n": 1}),
        )
        for number in range(2, 40):
            values = {"messages": ["m" * 2000], "n": number}
            calls.put(
                config(number=number - 1),
                make_checkpoint(number, values, {"messages": 1, "n": number}),
            )
        for number in (2, 20, 39):
            loaded = calls.get_tuple(config(number=number)).checkpoint["channel_values"]
            assert loaded == {"messages": ["m" * 2000], "n": number}

    def test_a_channel_that_left_the_state_is_gone(self, calls: Sync) -> None:
        calls.put(config(), make_checkpoint(1, {"a": 1, "b": 2}))
        calls.put(config(number=1), make_checkpoint(2, {"a": 1}, {"a": 1, "b": 2}))
        assert calls.get_tuple(config()).checkpoint["channel_values"] == {"a": 1}

    def test_scalars_of_the_config_are_copied_into_metadata(self, calls: Sync) -> None:
        at = config()
        at["configurable"]["user"] = "u-1"
        at["configurable"]["__private"] = "x"
        at["metadata"] = {"run_id": "r-1", "skipped": ["not", "scalar"]}
        calls.put(at, make_checkpoint(1, {}), {"source": "input", "step": -1, "parents": {}})
        metadata = calls.get_tuple(config()).metadata
        assert metadata == {
            "source": "input",
            "step": -1,
            "parents": {},
            "user": "u-1",
            "run_id": "r-1",
        }

    def test_metadata_of_every_shape_comes_back(self, calls: Sync) -> None:
        """C072."""
        metadata: Any = {
            "source": "update",
            "step": 2,
            "parents": {},
            "nested": {"a": {"b": [1, None]}},
            "empty": {},
            "none": None,
            "message": HumanMessage("hi", id="m"),
        }
        calls.put(config(), make_checkpoint(1, {}), metadata)
        assert calls.get_tuple(config()).metadata == metadata

    def test_namespaces_are_apart(self, calls: Sync) -> None:
        """C049: the root namespace is a namespace, an absent key is all of them."""
        for number, checkpoint_ns in enumerate(("", "child:1", "child:2"), start=1):
            calls.put(config(checkpoint_ns=checkpoint_ns), make_checkpoint(number, {"n": number}))
        assert numbers(calls.list(config())) == [1]
        assert numbers(calls.list(config(checkpoint_ns="child:2"))) == [3]
        everywhere: Any = {"configurable": {"thread_id": "t-1"}}
        assert sorted(numbers(calls.list(everywhere))) == [1, 2, 3]
        assert calls.get_tuple(config()).checkpoint["channel_values"] == {"n": 1}
        assert calls.get_tuple(config(checkpoint_ns="child:1")).checkpoint["channel_values"] == {
            "n": 2
        }

    def test_before_works_across_namespaces(self, calls: Sync) -> None:
        """C045: only child checkpoints older than the parent's id."""
        for number in (2, 4, 6):
            calls.put(config(checkpoint_ns="child:1"), make_checkpoint(number, {}))
        calls.put(config(), make_checkpoint(5, {}))
        found = calls.list(config(checkpoint_ns="child:1"), before=config(number=5))
        assert numbers(found) == [4, 2]

    def test_pending_writes_come_in_the_order_they_are_applied_in(self, calls: Sync) -> None:
        """C039: by task path, then task, then position, whatever order they arrive in."""
        calls.put(config(), make_checkpoint(1, {}))
        calls.put_writes(config(number=1), [("a", "3"), ("b", "4")], "task-a", "~2")
        calls.put_writes(config(number=1), [("a", "1"), ("a", "2")], "task-z", "~1")
        calls.put_writes(config(number=1), [("a", "0")], "task-m")
        written = [value for _, _, value in calls.get_tuple(config()).pending_writes]
        assert written == ["0", "1", "2", "3", "4"]
        (listed,) = calls.list(config())
        assert [value for _, _, value in listed.pending_writes] == written

    def test_repeated_writes_are_stored_once(self, calls: Sync) -> None:
        """C033."""
        calls.put(config(), make_checkpoint(1, {}))
        for value in ("first", "second"):
            calls.put_writes(config(number=1), [("a", value)], "task-1")
        assert calls.get_tuple(config()).pending_writes == [("task-1", "a", "first")]

    def test_special_writes_have_slots_of_their_own(self, calls: Sync) -> None:
        """C031."""
        calls.put(config(), make_checkpoint(1, {}))
        calls.put_writes(config(number=1), [("a", 1), ("b", 2)], "task-1")
        calls.put_writes(config(number=1), [("__interrupt__", "old question")], "task-1")
        calls.put_writes(config(number=1), [("__interrupt__", "question")], "task-1")
        calls.put_writes(config(number=1), [("__resume__", "answer")], "task-1")
        calls.put_writes(config(number=1), [("__error__", "broke")], "task-1")
        stored = {channel: value for _, channel, value in calls.get_tuple(config()).pending_writes}
        assert stored == {
            "a": 1,
            "b": 2,
            "__interrupt__": "question",
            "__resume__": "answer",
            "__error__": "broke",
        }

    @pytest.mark.parametrize("order", ["write first", "checkpoint first", "checkpoint twice"])
    def test_an_interrupt_is_visible_in_every_order(self, calls: Sync, order: str) -> None:
        """C030."""
        checkpoint = make_checkpoint(1, {"a": 1})
        if order != "write first":
            calls.put(config(), checkpoint)
        calls.put_writes(config(number=1), [("__interrupt__", "ask")], "task-1")
        if order != "checkpoint first":
            calls.put(config(), checkpoint)
        assert calls.get_tuple(config()).pending_writes == [("task-1", "__interrupt__", "ask")]

    def test_writes_of_other_checkpoints_do_not_show(self, calls: Sync) -> None:
        for number in (1, 2):
            calls.put(config(), make_checkpoint(number, {}))
            calls.put_writes(config(number=number), [("a", number)], "task-1")
        calls.put_writes(config("other", 1), [("a", "other")], "task-1")
        assert calls.get_tuple(config(number=1)).pending_writes == [("task-1", "a", 1)]
        assert calls.get_tuple(config(number=2)).pending_writes == [("task-1", "a", 2)]

    def test_list_is_newest_first_and_cut_by_before_and_limit(self, calls: Sync) -> None:
        for number in range(1, 8):
            calls.put(config(), make_checkpoint(number, {"n": number}))
        assert numbers(calls.list(config())) == [7, 6, 5, 4, 3, 2, 1]
        assert numbers(calls.list(config(), before=config(number=4))) == [3, 2, 1]
        assert numbers(calls.list(config(), limit=2)) == [7, 6]
        assert numbers(calls.list(config(), before=config(number=4), limit=1)) == [3]
        assert numbers(calls.list(config(number=3))) == [3]
        assert calls.list(config(), limit=0) == []

    def test_more_checkpoints_than_a_page(self, calls: Sync) -> None:
        for number in range(1, 66):
            calls.put(
                config(),
                make_checkpoint(number, {"n": number, "big": "b" * 2000}, {"n": number, "big": 1}),
            )
        assert numbers(calls.list(config())) == list(range(65, 0, -1))
        assert numbers(calls.list(config(), limit=41)) == list(range(65, 24, -1))

    def test_before_without_an_id_cuts_nothing(self, calls: Sync) -> None:
        """C066."""
        calls.put(config(), make_checkpoint(1, {}))
        empty: Any = {}
        no_id: Any = {"configurable": {}}
        for before in (None, empty, no_id):
            assert numbers(calls.list(config(), before=before)) == [1]

    def test_before_compares_ids_of_any_thread(self, calls: Sync) -> None:
        """C066: an id that is not stored, or is another thread's, still cuts."""
        for number in (1, 3):
            calls.put(config(), make_checkpoint(number, {}))
        calls.put(config("other"), make_checkpoint(2, {}))
        assert numbers(calls.list(config(), before=config("other", 2))) == [1]

    def test_no_config_lists_every_thread(self, calls: Sync) -> None:
        for thread_id in ("t-1", "t-2"):
            calls.put(config(thread_id), make_checkpoint(1, {}))
        found = calls.list(None)
        assert sorted(item.config["configurable"]["thread_id"] for item in found) == ["t-1", "t-2"]

    def test_filter_by_metadata(self, calls: Sync) -> None:
        """C059: only matches; an unknown key matches nothing, alone or beside a known one."""
        for number in range(1, 5):
            metadata = {"source": "loop", "step": number, "parents": {}}
            if number == 2:
                metadata["tenant"] = "acme"
            calls.put(config(), make_checkpoint(number, {}), metadata)
        assert numbers(calls.list(config(), filter={"step": 3})) == [3]
        assert numbers(calls.list(config(), filter={"tenant": "acme"})) == [2]
        assert numbers(calls.list(config(), filter={"tenant": "acme", "step": 2})) == [2]
        assert calls.list(config(), filter={"tenant": "acme", "step": 3}) == []
        assert calls.list(config(), filter={"unknown": "x"}) == []
        assert numbers(calls.list(config(), filter={})) == [4, 3, 2, 1]

    def test_filter_comes_before_limit(self, calls: Sync) -> None:
        """C063, C064: many newer checkpoints do not match."""
        calls.put(
            config(),
            make_checkpoint(1, {"n": "whole" * 500}),
            {"source": "input", "step": -1, "parents": {}},
        )
        for number in range(2, 60):
            calls.put(config(number=number - 1), make_checkpoint(number, {"n": number}))
        (found,) = calls.list(config(), filter={"source": "input"}, limit=1)
        assert found.checkpoint["channel_values"] == {"n": "whole" * 500}
        assert numbers(calls.list(config(), filter={"source": "loop"}, limit=2)) == [59, 58]

    @pytest.mark.parametrize(
        "key", ["a'b", 'a"b', "a.b", "a[0]", "$.a", "a;--", "k" * 5000, "%", "a b"]
    )
    def test_a_filter_key_is_only_a_key(self, calls: Sync, key: str) -> None:
        """C067."""
        calls.put(config(), make_checkpoint(1, {}), {**STEP, key: "x' OR 1=1 --"})
        calls.put(config(), make_checkpoint(2, {}), STEP)
        assert numbers(calls.list(config(), filter={key: "x' OR 1=1 --"})) == [1]
        assert calls.list(config(), filter={key: "y"}) == []

    def test_two_children_of_one_checkpoint_are_both_kept(self, calls: Sync) -> None:
        """C048, C087."""
        calls.put(config(), make_checkpoint(1, {"n": 1}))
        for number in (2, 3):
            calls.put(config(number=1), make_checkpoint(number, {"n": number}))
        assert [item.parent_config for item in calls.list(config())] == [config(number=1)] * 2 + [
            None
        ]
        assert calls.get_tuple(config()).checkpoint["id"] == checkpoint_id(3)

    def test_what_was_passed_is_what_is_stored(self, calls: Sync) -> None:
        """C088: the caller's objects are not kept, and what is loaded is the caller's own."""
        messages = [HumanMessage("hi", id="1")]
        checkpoint = make_checkpoint(1, {"messages": messages})
        calls.put(config(), checkpoint)
        messages[0].content = "changed"
        messages.append(HumanMessage("more", id="2"))
        loaded = calls.get_tuple(config()).checkpoint["channel_values"]["messages"]
        assert [message.content for message in loaded] == ["hi"]
        loaded[0].content = "changed too"
        again = calls.get_tuple(config()).checkpoint["channel_values"]["messages"]
        assert [message.content for message in again] == ["hi"]

    def test_a_message_changed_in_place_is_stored_changed(self, calls: Sync) -> None:
        messages = [
            HumanMessage(f"message {number} " + "m" * 200, id=str(number)) for number in range(40)
        ]
        calls.put(config(), make_checkpoint(1, {"messages": messages}))
        messages[3].content = "edited"
        calls.put(config(number=1), make_checkpoint(2, {"messages": messages}))
        loaded = calls.get_tuple(config()).checkpoint["channel_values"]["messages"]
        assert loaded[3].content == "edited"
        before = calls.get_tuple(config(number=1)).checkpoint["channel_values"]["messages"]
        assert before[3].content.startswith("message 3")

    def test_a_save_does_not_wait_for_a_paused_listing(self, calls: Sync) -> None:
        """C069."""
        for number in range(1, 60):
            calls.put(config(), make_checkpoint(number, {"n": number}))
        listing = calls.saver.list(config())
        first = next(listing)
        calls.put(config(), make_checkpoint(60, {}))
        assert numbers([first, *listing]) == list(range(59, 0, -1))

    def test_deleting_a_thread_touches_no_other(self, calls: Sync) -> None:
        for thread_id in ("t-1", "t-2"):
            calls.put(config(thread_id), make_checkpoint(1, {"messages": ["m" * 2000]}))
            calls.put(config(thread_id, checkpoint_ns="child:1"), make_checkpoint(2, {}))
            calls.put_writes(config(thread_id, 1), [("a", 1)], "task-1")
        calls.delete_thread("t-1")
        assert calls.get_tuple(config("t-1")) is None
        assert calls.get_tuple(config("t-1", checkpoint_ns="child:1")) is None
        assert calls.list({"configurable": {"thread_id": "t-1"}}) == []
        assert calls.get_tuple(config("t-2")).pending_writes == [("task-1", "a", 1)]
        calls.delete_thread("t-1")
        calls.put(config("t-1"), make_checkpoint(3, {"n": 3}))
        assert calls.get_tuple(config("t-1")).pending_writes == []

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            (("a:b", "c"), ("a", "b:c")),
            (("a|b", "c"), ("a", "b|c")),
            (("a/b", ""), ("a", "/b")),
            (('a","b', ""), ("a", '","b')),
            (("a", ""), ("a ", "")),
            (("a", ""), ("A", "")),
            (("é", ""), ("e\u0301", "")),
        ],
    )
    def test_ids_do_not_collide(
        self, calls: Sync, left: tuple[str, str], right: tuple[str, str]
    ) -> None:
        """C129."""
        for number, (thread_id, checkpoint_ns) in enumerate((left, right), start=1):
            at = config(thread_id, checkpoint_ns=checkpoint_ns)
            calls.put(at, make_checkpoint(number, {"n": number}))
        for number, (thread_id, checkpoint_ns) in enumerate((left, right), start=1):
            at = config(thread_id, checkpoint_ns=checkpoint_ns)
            assert numbers(calls.list(at)) == [number]

    @pytest.mark.parametrize("length", [255, 2_700, 10_000, 100_000])
    def test_long_ids(self, calls: Sync, length: int) -> None:
        """C126."""
        thread_id = "t" * length
        namespace = "|".join(f"node:{level}" for level in range(20))
        calls.put(config(thread_id), make_checkpoint(1, {"n": 1}))
        calls.put(config(thread_id, checkpoint_ns=namespace), make_checkpoint(2, {"n": 2}))
        assert calls.get_tuple(config(thread_id)).checkpoint["channel_values"] == {"n": 1}
        assert numbers(calls.list(config(thread_id, checkpoint_ns=namespace))) == [2]
        assert calls.get_tuple(config("t" * (length - 1))) is None
