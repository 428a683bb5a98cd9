"""Prints hook calls and answers to stderr. Values that may hold secrets are never printed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pluggy

__all__ = ["trace_calls"]


def trace_calls(manager: pluggy.PluginManager) -> None:
    """Print every call of every hook of ``manager``: arguments, who is asked, and the answer."""

    def before(
        hook_name: str, implementations: Sequence[pluggy.HookImpl], arguments: Mapping[str, Any]
    ) -> None:
        given = ", ".join(f"{name}={_shown(name, value)}" for name, value in arguments.items())
        asked = ", ".join(each.plugin_name for each in reversed(implementations)) or "nobody"
        print(f"{hook_name}({given}) asks {asked}", file=sys.stderr)  # noqa: T201 -- its purpose

    def after(
        outcome: pluggy.Result[Any],
        hook_name: str,
        _implementations: Sequence[pluggy.HookImpl],
        _arguments: Mapping[str, Any],
    ) -> None:
        error = outcome.exception
        told = _answer(outcome.get_result()) if error is None else f"raised {type(error).__name__}"
        print(f"{hook_name} -> {told}", file=sys.stderr)  # noqa: T201 -- its purpose

    manager.add_hookcall_monitoring(before, after)


def _shown(name: str, value: object) -> str:
    """Names are shown; of settings only their keys, of anything else only its type."""
    if name == "name":
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(map(str, value)) + "}"
    return type(value).__name__


def _answer(answer: object) -> str:
    if answer is None:
        return "no answer"
    source = getattr(answer, "source", None)
    kind = type(answer).__name__
    return f"{kind} {source!r}" if isinstance(source, str) else kind
