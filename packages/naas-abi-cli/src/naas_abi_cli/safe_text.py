"""Makes stored text safe to print. What a model or a person wrote must not steer a terminal."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["safe", "safe_line"]

#: C0 but tab and newline, DEL, C1, line and paragraph separators, the marks that reorder text
#: (their use to disguise text: Unicode TR 36, section 3.2), and lone surrogates.
_STEERING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff]"
)


def safe(text: str) -> str:
    """``text`` with what could steer a terminal written as an escape: ESC becomes backslash x1b."""
    return _STEERING.sub(lambda match: _escape(match.group()), text)


def safe_line(text: str, limit: int | None = None) -> str:
    """``text`` on one line, cut to ``limit`` characters."""
    line = safe(text).replace("\n", "\\n").replace("\t", "\\t")
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
