"""A chat model for trying things out: offline, deterministic, and not a language model.

It answers from the conversation it is given, so that what an agent remembers can be seen without
a key: it repeats what it was told, counts, and calls the tools it is offered. Rules are tried in
the order of their table; the first that fits the last thing a person said answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from naas_abi_core.services.agent.demonstration_tools import tool_call_for

__all__ = ["DEMONSTRATION_LABEL", "DemonstrationChatModel"]

#: Begins every reply, so that none passes for the answer of a language model.
DEMONSTRATION_LABEL: Final = "[demonstration] "

#: Characters of somebody else's text repeated in a reply.
_QUOTED: Final = 600

#: Things recalled in one reply.
_RECALLED: Final = 5


@dataclass(frozen=True, slots=True)
class _Conversation:
    """What the rules look at: the newest message, and what was said before it."""

    last: BaseMessage
    earlier: tuple[str, ...]
    total: int
    results: tuple[ToolMessage, ...]


_Rule: TypeAlias = "tuple[str, Callable[[re.Match[str], _Conversation], str]]"


@final
class DemonstrationChatModel(BaseChatModel):
    """Replies from the conversation alone. Every reply is labelled as a demonstration."""

    @property
    def _llm_type(self) -> str:
        return "demonstration"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools. One is called when the person names it; ``tool_choice`` is ignored."""
        del tool_choice
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager
        reply = _reply(messages, kwargs.get("tools", []))
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        del stop
        reply = _reply(messages, kwargs.get("tools", []))
        for chunk in _chunks(reply):
            token = str(chunk.text)
            if run_manager is not None and token:
                run_manager.on_llm_new_token(token, chunk=ChatGenerationChunk(message=chunk))
            yield ChatGenerationChunk(message=chunk)


def _chunks(reply: AIMessage) -> Iterator[AIMessageChunk]:
    """Word by word, then everything that is not text."""
    for word in re.findall(r"\S+\s*", str(reply.content)):
        yield AIMessageChunk(content=word)
    yield AIMessageChunk(
        content="", tool_calls=reply.tool_calls, response_metadata=reply.response_metadata
    )


def _reply(messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
    conversation = _read(messages)
    metadata = {"model_name": "demonstration", "demonstration": True}
    if not conversation.results:
        text = str(conversation.last.text)
        recalled = _answer(_RECALL, text, conversation)
        call = None if recalled else tool_call_for(text, tools, f"demonstration_{len(messages)}")
        if call is not None:
            return AIMessage("", tool_calls=[call], response_metadata=metadata)
    else:
        recalled = _told_by_tools(conversation)
        text = ""
    told = recalled or _answer(_REMARKS, text, conversation)
    return AIMessage(DEMONSTRATION_LABEL + told, response_metadata=metadata)


def _read(messages: Sequence[BaseMessage]) -> _Conversation:
    spoken = [message for message in messages if not isinstance(message, SystemMessage)]
    people = [message for message in spoken if isinstance(message, HumanMessage)]
    results: list[ToolMessage] = []
    for message in reversed(spoken):
        if not isinstance(message, ToolMessage):
            break
        results.insert(0, message)
    last = people[-1] if people else HumanMessage("")
    earlier = tuple(str(message.text) for message in people[:-1])
    return _Conversation(last, earlier, len(spoken), tuple(results))


def _answer(rules: Sequence[_Rule], text: str, conversation: _Conversation) -> str:
    for pattern, answer in rules:
        match = re.search(pattern, text, re.IGNORECASE | re.DOTALL)
        if match:
            return answer(match, conversation)
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def _told_by_tools(conversation: _Conversation) -> str:
    return " ".join(
        f"{result.name or 'The tool'} answered: {_cut(str(result.text))}"
        for result in conversation.results
    )


def _name(_: re.Match[str], conversation: _Conversation) -> str:
    for text in reversed(conversation.earlier):
        told = re.search(r"\bmy name is ([\w'-]+)", text, re.IGNORECASE)
        if told:
            return f"Your name is {told.group(1)}."
    return "You have not told me your name."


def _about(match: re.Match[str], conversation: _Conversation) -> str:
    subject = match.group(1).strip(" ?.!\"'")
    told = [
        text
        for text in conversation.earlier
        if re.search(rf"\b{re.escape(subject)}", text, re.IGNORECASE) and not text.endswith("?")
    ]
    if not told:
        return f"You told me nothing about {_cut(subject)}."
    quoted = "; ".join(f"“{_cut(text)}”" for text in told[-_RECALLED:])
    return f"You told me about {_cut(subject)}: {quoted}."


def _count(_: re.Match[str], conversation: _Conversation) -> str:
    return (
        f"You sent me {len(conversation.earlier)} messages before this one; with replies and "
        f"tools this conversation has {conversation.total}."
    )


def _first(_: re.Match[str], conversation: _Conversation) -> str:
    if not conversation.earlier:
        return "This is your first message."
    return f"Your first message was “{_cut(conversation.earlier[0])}”."


def _all(_: re.Match[str], conversation: _Conversation) -> str:
    if not conversation.earlier:
        return "You have told me nothing yet."
    return "You told me: " + "; ".join(
        f"“{_cut(text)}”" for text in conversation.earlier[-_RECALLED:]
    )


def _meet(match: re.Match[str], _: _Conversation) -> str:
    return f"Hello {match.group(1)}. Ask me for your name later, in another process if you like."


def _note(_: re.Match[str], conversation: _Conversation) -> str:
    return (
        f"Noted: “{_cut(str(conversation.last.text))}”. I am not a language model; I repeat what "
        f"I am told, count messages and call tools. You sent {len(conversation.earlier)} before."
    )


#: Questions about the conversation, asked before a tool is looked for.
_RECALL: Final[Sequence[_Rule]] = (
    (r"\bwhat(?:'s| is) my name\b|\bwho am i\b", _name),
    (r"\bhow many (?:messages|times)\b", _count),
    (r"\bwhat did i (?:tell|say)\b.*?\babout (.+)", _about),
    (r"\bwhat (?:was|is) my first message\b|\bwhat did i (?:say|tell you) first\b", _first),
    (r"\bwhat (?:do|did) (?:you|i) (?:remember|know|say|tell)\b", _all),
)

#: What is said to everything else.
_REMARKS: Final[Sequence[_Rule]] = (
    (r"\bmy name is ([\w'-]+)", _meet),
    (r"", _note),
)
