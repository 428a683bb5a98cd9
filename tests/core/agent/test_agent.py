from __future__ import annotations

import asyncio
from queue import Queue
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from naas_abi_core.errors import TurnTooLong
from naas_abi_core.services.agent import Agent, AgentConfiguration, AgentSharedState
from naas_abi_core.services.agent.demonstration import DemonstrationChatModel
from naas_abi_core.services.agent.events import MAX_TOOL_RESPONSE, AgentEvent
from tests.core.agent.models import ScriptedModel, asks

Memory = BaseCheckpointSaver[Any]


def roll_dice(sides: int) -> str:
    """Roll a die."""
    if sides < 1:
        raise ValueError("a die has sides")
    return f"4 of {sides}"


def demonstration(memory: Memory, **kwargs: Any) -> Agent:
    return Agent(
        "dice",
        "Rolls dice",
        DemonstrationChatModel(),
        tools=[roll_dice],
        memory=memory,
        **kwargs,
    )


def scripted(memory: Memory, *script: Any, **kwargs: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(script=list(script))
    return Agent("a", "d", model, [roll_dice], memory, **kwargs), model


def kinds(agent: Agent) -> list[str]:
    return [message.type for message in agent.snapshot().values["messages"]]


def test_remembers_in_another_object_over_the_same_memory(memory: Memory) -> None:
    demonstration(memory).invoke("My name is Ada")
    assert demonstration(memory).invoke("What is my name?") == "[demonstration] Your name is Ada."


def test_threads_do_not_know_of_each_other(memory: Memory) -> None:
    demonstration(memory, state=AgentSharedState("one")).invoke("My name is Ada")
    reply = demonstration(memory, state=AgentSharedState("two")).invoke("What is my name?")
    assert reply == "[demonstration] You have not told me your name."


def test_a_turn_with_a_tool_is_four_messages_and_five_checkpoints(memory: Memory) -> None:
    agent = demonstration(memory)
    assert agent.invoke("Roll a die with 6 sides").endswith("roll_dice answered: 4 of 6")
    assert kinds(agent) == ["human", "ai", "tool", "ai"]
    assert len(list(memory.list({"configurable": {"thread_id": "1"}}))) == 5


def test_another_thread_from_the_next_turn_on(memory: Memory) -> None:
    agent = demonstration(memory)
    agent.invoke("My name is Ada")
    agent.state.set_thread_id("2")
    assert "not told" in agent.invoke("What is my name?")
    agent.state.set_thread_id("1")
    assert "Ada" in agent.invoke("What is my name?")


@pytest.mark.parametrize("thread_id", ["", 1, None, True])
def test_a_thread_id_is_text(thread_id: Any) -> None:
    with pytest.raises(ValueError, match="thread_id must be text"):
        AgentSharedState(thread_id)


@pytest.mark.parametrize(
    ("name", "sanitized"),
    [("support", "support"), ("Ada's bot!", "Ada_s_bot_"), ("a-b_c", "a-b_c")],
)
def test_names_are_sanitized(memory: Memory, name: str, sanitized: str) -> None:
    assert Agent(name, "", DemonstrationChatModel(), memory=memory).name == sanitized


@pytest.mark.parametrize("name", ["", "!!", "_"])
def test_a_name_of_nothing_is_refused(memory: Memory, name: str) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        Agent(name, "", DemonstrationChatModel(), memory=memory)


def test_the_callers_list_of_tools_is_copied(memory: Memory) -> None:
    tools: list[Any] = [roll_dice]
    agent = Agent("a", "d", DemonstrationChatModel(), tools=tools, memory=memory)
    assert tools == [roll_dice]
    tools.clear()
    assert "4 of 6" in agent.duplicate().invoke("roll 6")


def test_agents_never_share_a_default_state(memory: Memory) -> None:
    first, second = demonstration(memory), demonstration(memory)
    first.state.set_thread_id("other")
    assert second.state.thread_id == "1"


def test_a_duplicate_shares_all_but_the_state(memory: Memory) -> None:
    agent = demonstration(memory, state=AgentSharedState("one", supervisor_agent="boss"))
    agent.marker = object()  # type: ignore[attr-defined]  # a subclass may carry its own
    twin = agent.duplicate(agent_shared_state=AgentSharedState("two"))
    assert (twin.checkpointer, twin.chat_model, twin.tools) == (
        agent.checkpointer,
        agent.chat_model,
        agent.tools,
    )
    assert twin.marker is agent.marker  # type: ignore[attr-defined]  # as above
    assert agent.duplicate().state.thread_id == "1"
    twin.invoke("My name is Ada")
    assert agent.snapshot().values == {}
    assert twin.snapshot().values["current_active_agent"] == "dice"


def test_state_channels_say_who_answers(memory: Memory) -> None:
    state = AgentSharedState("t", current_active_agent="helper", supervisor_agent="boss")
    agent = demonstration(
        memory, state=state, configuration=AgentConfiguration(system_prompt="Be kind")
    )
    agent.invoke("hello")
    values = agent.snapshot().values
    assert values["system_prompt"] == "Be kind"
    assert values["current_active_agent"] == "helper"
    assert values["supervisor_agent"] == "boss"


def test_channels_that_do_not_change_are_written_once(memory: Memory) -> None:
    agent = demonstration(memory, configuration=AgentConfiguration(system_prompt="Be kind"))
    agent.invoke("hello")
    before = agent.snapshot().config
    agent.invoke("hello again")
    versions = [
        memory.get_tuple(config).checkpoint["channel_versions"]  # type: ignore[union-attr]  # stored
        for config in (before, agent.snapshot().config)
    ]
    for channel in ("system_prompt", "current_active_agent"):
        assert versions[0][channel] == versions[1][channel]
    assert versions[0]["messages"] != versions[1]["messages"]


def test_the_model_is_shown_the_system_prompt(memory: Memory) -> None:
    agent, model = scripted(
        memory, AIMessage("hi"), configuration=AgentConfiguration(system_prompt="Be kind")
    )
    agent.invoke("hello")
    assert model.shown[0][0] == SystemMessage("Be kind")


def test_a_system_prompt_may_follow_the_conversation(memory: Memory) -> None:
    def prompt(messages: Any) -> str:
        return f"{len(messages)} so far"

    agent, model = scripted(
        memory,
        AIMessage("one"),
        AIMessage("two"),
        configuration=AgentConfiguration(system_prompt=prompt),
    )
    agent.invoke("hello")
    agent.invoke("hello")
    assert [shown[0].content for shown in model.shown] == ["1 so far", "3 so far"]
    assert agent.snapshot().values["system_prompt"] == "3 so far"


def test_a_tools_error_is_told_to_the_model(memory: Memory) -> None:
    agent, model = scripted(memory, asks(("roll_dice", {"sides": 0})), AIMessage("sorry"))
    assert agent.invoke("roll") == "sorry"
    told = model.shown[1][-1]
    assert told.status == "error"  # type: ignore[attr-defined]  # a ToolMessage
    assert "ValueError: a die has sides" in str(told.content)


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [("no_such_tool", {}, "no_such_tool"), ("roll_dice", {"sides": "many"}, "sides")],
)
def test_a_wrong_call_is_told_to_the_model(
    memory: Memory, name: str, args: dict[str, Any], told: str
) -> None:
    agent, model = scripted(memory, asks((name, args)), AIMessage("sorry"))
    assert agent.invoke("roll") == "sorry"
    assert told in str(model.shown[1][-1].content)


def test_rounds_are_bounded_and_the_thread_goes_on(memory: Memory) -> None:
    loop = [asks(("roll_dice", {"sides": 6}), call_id=str(at)) for at in range(9)]
    agent, model = scripted(memory, *loop, configuration=AgentConfiguration(recursion_limit=5))
    with pytest.raises(TurnTooLong, match=r"thread '1'.* no reply after 5 steps.*recursion_limit"):
        agent.invoke("roll for ever")
    model.script = [AIMessage("stopped")]
    assert agent.invoke("stop") == "stopped"
    assert model.shown[-1][-1].content == "stop"


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="recursion_limit"):
        AgentConfiguration(recursion_limit=0)


def test_a_failing_model_does_not_wedge_the_thread(memory: Memory) -> None:
    agent, model = scripted(memory, RuntimeError("503"), AIMessage("hi"))
    with pytest.raises(RuntimeError, match="503"):
        agent.invoke("first")
    assert agent.invoke("second") == "hi"
    assert [message.content for message in model.shown[-1]] == ["first", "second"]


def test_events_of_a_turn(memory: Memory) -> None:
    events = list(demonstration(memory).stream_invoke("Roll a die with 6 sides"))
    text = "[demonstration] roll_dice answered: 4 of 6"
    assert [(event["event"], event["data"]) for event in events] == [
        ("call_model", "dice"),
        ("tool_usage", "roll_dice"),
        ("tool_response", "4 of 6"),
        ("call_model", "dice"),
        ("ai_message", text),
        ("message", text),
        ("done", "[DONE]"),
    ]


def test_a_turn_that_fails_has_no_mark_of_success(memory: Memory) -> None:
    agent, _ = scripted(memory, RuntimeError("503"))
    events: list[AgentEvent] = []
    with pytest.raises(RuntimeError, match="503"):
        events.extend(agent.stream_invoke("hello"))
    assert "done" not in [event["event"] for event in events]


def test_the_final_text_comes_by_lines_and_long_results_are_cut(memory: Memory) -> None:
    def long_text() -> str:
        """Return much text."""
        return "x" * (MAX_TOOL_RESPONSE + 1)

    model = ScriptedModel(script=[asks(("long_text", {})), AIMessage("one\ntwo")])
    events = list(Agent("a", "d", model, [long_text], memory).stream_invoke("go"))
    assert [event["data"] for event in events if event["event"] == "message"] == ["one", "two"]
    (response,) = [event["data"] for event in events if event["event"] == "tool_response"]
    assert response == "x" * MAX_TOOL_RESPONSE


@pytest.mark.parametrize("run", ["invoke", "ainvoke", "stream_invoke", "astream_invoke", "astream"])
def test_callbacks_and_queue_hear_every_way_to_run_a_turn(memory: Memory, run: str) -> None:
    heard: list[tuple[str, str]] = []
    configuration = AgentConfiguration(
        on_tool_usage=lambda message: heard.append(("usage", message.type)),
        on_tool_response=lambda message: heard.append(("response", str(message.content))),
        on_ai_message=lambda message, agent: heard.append((agent, str(message.content))),
    )
    queue: Queue[AgentEvent] = Queue()
    agent = demonstration(memory, configuration=configuration).duplicate(queue)
    turn = getattr(agent, run)("roll 6")
    if run.startswith("astream"):
        asyncio.run(_collect(turn))
    elif run == "ainvoke":
        asyncio.run(turn)
    elif run != "invoke":
        list(turn)
    text = "[demonstration] roll_dice answered: 4 of 6"
    assert heard == [("usage", "ai"), ("response", "4 of 6"), ("dice", text)]
    told = [queue.get_nowait()["event"] for _ in range(queue.qsize())]
    assert told == ["tool_usage", "tool_response", "call_model", "ai_message"]


async def _collect(stream: Any) -> list[Any]:
    return [item async for item in stream]


def test_both_ways_to_run_a_turn_give_the_same(memory: Memory) -> None:
    blocking = demonstration(memory, state=AgentSharedState("blocking"))
    asynchronous = demonstration(memory, state=AgentSharedState("asynchronous"))
    assert blocking.invoke("roll 6") == asyncio.run(asynchronous.ainvoke("roll 6"))
    assert list(blocking.stream_invoke("roll 7")) == asyncio.run(
        _collect(asynchronous.astream_invoke("roll 7"))
    )
    shapes = [
        [(namespace, list(said)) for namespace, said in chunks]
        for chunks in (
            blocking.stream("roll 8"),
            asyncio.run(_collect(asynchronous.astream("roll 8"))),
        )
    ]
    assert (
        shapes[0] == shapes[1] == [((), ["call_model"]), ((), ["call_tools"]), ((), ["call_model"])]
    )


def test_stream_gives_langgraphs_chunks_in_the_modes_asked_for(memory: Memory) -> None:
    agent = demonstration(memory)
    chunks = list(agent.stream("What is my name?", stream_mode=["messages", "updates"]))
    tokens = [said[0].content for _, mode, said in chunks if mode == "messages"]
    assert "".join(tokens) == "[demonstration] You have not told me your name."
    assert len(tokens) > 3
    assert [mode for _, mode, _ in chunks][-1] == "updates"
    assert all(mode == "values" for _, mode, _ in agent.stream("x", stream_mode=["values"]))


def test_a_provider_side_tool_is_offered_and_not_run_here(memory: Memory) -> None:
    model = ScriptedModel(script=[AIMessage("found")])
    agent = Agent("a", "d", model, tools=[{"type": "web_search"}], memory=memory)
    assert agent.invoke("search") == "found"


def test_a_class_without_a_factory_says_so() -> None:
    class Silent(Agent):
        pass

    with pytest.raises(NotImplementedError, match="Silent does not define New"):
        Silent.New()


def test_messages_bring_their_ids(memory: Memory) -> None:
    agent = demonstration(memory)
    agent.invoke("roll 6")
    messages: list[BaseMessage] = agent.snapshot().values["messages"]
    assert len({message.id for message in messages}) == 4
    assert None not in {message.id for message in messages}
