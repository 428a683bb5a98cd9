"""How the demonstration model finds the tool a person names, and its arguments. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import ToolCall
from langchain_core.messages.tool import tool_call

__all__ = ["tool_call_for"]

#: Words of a tool's name that people leave out.
_LEFT_OUT: Final = frozenset({"do", "fetch", "get", "make", "run", "tool"})


def tool_call_for(text: str, tools: Sequence[dict[str, Any]], call_id: str) -> ToolCall | None:
    """A call of the first of ``tools`` (in OpenAI's form) that ``text`` names, or None."""
    for tool in tools:
        function = tool.get("function", {})
        end = _named_until(text, str(function.get("name", "")))
        if end is not None:
            arguments = _arguments(text, text[end:], function.get("parameters", {}))
            return tool_call(name=function["name"], args=arguments, id=call_id)
    return None


def _named_until(text: str, name: str) -> int | None:
    """Where the tool's name ends in ``text``: written out, all its words, or as a command."""
    words = [word for word in re.split(r"[_\W]+", name.lower()) if word]
    telling = [word for word in words if word not in _LEFT_OUT] or words
    if not telling:
        return None
    lowered = text.lower()
    written = re.search(r"\b" + r"[_\s-]".join(map(re.escape, words)) + r"\b", lowered)
    if written:
        return written.end()
    found = [re.search(rf"\b{re.escape(word)}\b", lowered) for word in telling]
    if all(found):
        return max(match.end() for match in found if match)
    command = re.match(rf"\W*(?:please )?{re.escape(telling[0])}\b", lowered)
    return command.end() if command else None


def _arguments(text: str, rest: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Numbers in the order they stand, quoted text, or what follows the tool's name."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
    quoted = re.findall(r"[\"“']([^\"”']+)[\"”']", text)
    required = schema.get("required", [])
    arguments: dict[str, Any] = {}
    for key, described in schema.get("properties", {}).items():
        kind = described.get("type", "string")
        if kind in {"integer", "number"} and (numbers or key in required):
            arguments[key] = _number(numbers.pop(0) if numbers else "1", kind)
        elif kind == "string" and (quoted or key in required):
            arguments[key] = quoted.pop(0) if quoted else _choice(text, rest, described)
        elif key in required:
            arguments[key] = {"boolean": True, "array": [], "object": {}}.get(kind)
    return arguments


def _number(text: str, kind: str) -> int | float:
    return int(float(text)) if kind == "integer" else float(text)


def _choice(text: str, rest: str, described: dict[str, Any]) -> str:
    choices = [str(choice) for choice in described.get("enum", [])]
    if choices:
        return next((choice for choice in choices if choice.lower() in text.lower()), choices[0])
    return re.sub(r"^\W*(?:(?:in|for|about|at|of|on|the)\b\s*)*", "", rest).strip(" ?.!") or text
