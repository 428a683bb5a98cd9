"""The node that runs tools. What goes wrong in a tool is told to the model, not to the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

__all__ = ["CALL_TOOLS", "Tool", "tools_step"]

#: Name of the node in the graph.
CALL_TOOLS = "call_tools"

#: A LangChain tool, a documented function, or a provider's own tool as its wire description.
Tool: TypeAlias = "BaseTool | Any"


def tools_step(tools: Sequence[Tool]) -> ToolNode | None:
    """The node for these tools; None if there is nothing to run here.

    Tools described by a dict run at the provider, so they are offered to the model only.
    """
    runnable = [tool for tool in tools if not isinstance(tool, dict)]
    if not runnable:
        return None
    return ToolNode(runnable, name=CALL_TOOLS, handle_tool_errors=_describe)


def _describe(error: Exception) -> str:
    return (
        f"Error: {type(error).__name__}: {error}. Correct the arguments or go on without this tool."
    )
