"""Messages of a conversation as plain values, and as lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

__all__ = ["as_plain", "print_messages"]

_ROLES: Final = {"human": "person", "ai": "agent", "system": "system", "tool": "tool"}

_STYLES: Final = {"person": "bold", "agent": "green", "tool": "cyan"}


def as_plain(message: BaseMessage) -> dict[str, Any]:
    """What a program needs of a message: role, text, and which tools were asked or answered."""
    plain: dict[str, Any] = {
        "role": _ROLES.get(message.type, message.type),
        "text": str(message.text),
        "id": message.id,
    }
    calls = getattr(message, "tool_calls", None)
    if calls:
        plain["tool_calls"] = [{"name": call["name"], "args": call["args"]} for call in calls]
    if message.type == "tool":
        plain["name"] = message.name
        plain["status"] = getattr(message, "status", "success")
    return plain


def print_messages(messages: Sequence[dict[str, Any]]) -> None:
    """Print plain messages for people."""
    from naas_abi_cli.output import print_text

    for message in messages:
        style = _STYLES.get(message["role"])
        for line in _lines(message):
            print_text(line, style=style)


def _lines(message: dict[str, Any]) -> Iterator[str]:
    who = message["role"]
    if who == "tool":
        failed = " (failed)" if message["status"] == "error" else ""
        who = f"{who} {message['name']}{failed}"
    if message["text"]:
        yield f"{who}: {message['text']}"
    for call in message.get("tool_calls", ()):
        arguments = json.dumps(call["args"], ensure_ascii=False, default=str)
        yield f"{who} asks {call['name']} {arguments}"
