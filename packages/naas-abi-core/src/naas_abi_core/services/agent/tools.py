"""The node that runs tools. What goes wrong in a tool is told to the model, not to the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langgraph.prebuilt import ToolNode

__all__ = ["CALL_TOOLS", "Tool", "tools_step"]

#: Name of the node in the graph.
CALL_TOOLS = "call_tools"

#: A LangChain tool, a documented function, or a provider's own tool as its wire description.
Tool: TypeAlias = "BaseTool | Any"


class _ToolExited(RuntimeError):
    """A tool raised ``SystemExit``, as command line programs do that were made into tools."""


def tools_step(tools: Sequence[Tool]) -> ToolNode | None:
    """The node for these tools; None if there is nothing to run here.

    Tools described by a dict run at the provider, so they are offered to the model only.
    """
    runnable = [_kept_from_exiting(tool) for tool in tools if not isinstance(tool, dict)]
    if not runnable:
        return None
    return ToolNode(runnable, name=CALL_TOOLS, handle_tool_errors=_describe)


def _describe(error: Exception) -> str:
    told = str(error) if isinstance(error, _ToolExited) else f"{type(error).__name__}: {error}"
    return f"Error: {told}. Correct the arguments or go on without this tool."


def _kept_from_exiting(tool: Any) -> BaseTool:
    """``tool`` with ``SystemExit`` turned into an error like any other.

    It is caught where the tool's own code ends: asyncio lets it end the event loop as soon as it
    leaves a task, and a tool runs in a task of its own.
    """
    own: BaseTool = tool if isinstance(tool, BaseTool) else as_tool(tool)
    kept = own.model_copy()
    # Past pydantic, which takes no new attributes; the state a tool keeps stays with ``own``.
    object.__setattr__(kept, "_run", _blocking(own._run))  # noqa: SLF001 -- tools are extended here
    if type(own)._arun is not BaseTool._arun:  # noqa: SLF001 -- tools are extended here
        object.__setattr__(kept, "_arun", _asynchronous(own._arun))  # noqa: SLF001 -- as above
    return kept


def _blocking(run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    def run_kept(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*args, **kwargs)
        except SystemExit as end:
            raise _ToolExited(_told(end)) from end

    return run_kept


def _asynchronous(run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    async def run_kept(*args: Any, **kwargs: Any) -> Any:
        try:
            return await run(*args, **kwargs)
        except SystemExit as end:
            raise _ToolExited(_told(end)) from end

    return run_kept


def _told(end: SystemExit) -> str:
    return f"the tool tried to end the program (SystemExit: {end.code})"
