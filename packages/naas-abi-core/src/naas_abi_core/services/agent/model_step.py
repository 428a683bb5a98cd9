"""The node that asks the chat model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableLambda

from naas_abi_core.services.agent.history import answered
from naas_abi_core.services.agent.state import AgentSharedState, AgentState, SystemPrompt

__all__ = ["CALL_MODEL", "ModelStep"]

#: Name of the node in the graph.
CALL_MODEL = "call_model"


@final
class ModelStep:
    """Shows the model the conversation and records what it replied.

    The system prompt and who answers are written only when they change: a channel that is
    written costs bytes at every step.
    """

    def __init__(
        self,
        name: str,
        model: Runnable[LanguageModelInput, AIMessage],
        system_prompt: SystemPrompt,
        shared: AgentSharedState,
    ) -> None:
        self._name = name
        self._model = model
        self._system_prompt = system_prompt
        self._shared = shared

    def node(self) -> Runnable[AgentState, AgentState]:
        """This step as a graph node, for blocking and asynchronous runs."""
        return RunnableLambda(self._run, afunc=self._arun, name=CALL_MODEL)

    def _run(self, state: AgentState) -> AgentState:
        prompt = self._render(state.get("messages", []))
        return self._update(state, prompt, self._model.invoke(_shown(prompt, state)))

    async def _arun(self, state: AgentState) -> AgentState:
        prompt = self._render(state.get("messages", []))
        return self._update(state, prompt, await self._model.ainvoke(_shown(prompt, state)))

    def _render(self, messages: Sequence[BaseMessage]) -> str:
        prompt = self._system_prompt
        return prompt if isinstance(prompt, str) else prompt(messages)

    def _update(self, state: AgentState, prompt: str, reply: AIMessage) -> AgentState:
        update = AgentState(messages=[reply])
        if state.get("system_prompt", "") != prompt:
            update["system_prompt"] = prompt
        active = self._shared.current_active_agent or self._name
        if state.get("current_active_agent") != active:
            update["current_active_agent"] = active
        if state.get("supervisor_agent") != self._shared.supervisor_agent:
            update["supervisor_agent"] = self._shared.supervisor_agent
        return update


def _shown(prompt: str, state: AgentState) -> list[BaseMessage]:
    system = [SystemMessage(prompt)] if prompt else []
    return [*system, *answered(state.get("messages", []))]
