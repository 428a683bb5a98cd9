"""Which values of a run's configuration are copied into a checkpoint's metadata.

LangGraph copies every text and number of ``configurable`` and ``metadata`` there, for filters. Keys
of services are passed the same way, so what has the name of a secret is not copied.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, Final

__all__ = ["looks_secret", "with_copied_keys"]

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS: Final = frozenset(
    (
        *("apikey", "auth", "authorization", "bearer", "cookie", "cookies", "credential"),
        *("credentials", "dsn", "jwt", "passphrase", "passwd", "password", "pat", "pwd"),
        *("secret", "secrets", "signature", "token", "tokens"),
    )
)
#: A ``key`` is one to something after these words; alone it may be the key of a document.
_OF_A_KEY: Final = frozenset(
    (
        *("access", "anthropic", "api", "encryption", "master", "openai", "private"),
        *("secret", "service", "signing", "ssh"),
    )
)


def looks_secret(name: str) -> bool:
    """Whether a key has the name of a secret: ``api_key``, ``authToken``, ``DB-PASSWORD``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not _SECRET_WORDS.isdisjoint(words):
        return True
    return any(before in _OF_A_KEY and word in ("key", "keys") for before, word in pairwise(words))


def with_copied_keys(config: Mapping[str, Any], allowed: Collection[str] | None) -> dict[str, Any]:
    """``config`` with those keys only that may be copied.

    Args:
        config: A run's configuration.
        allowed: The keys that may be copied; None for all that do not look like a secret's.
    """

    def kept(name: str) -> bool:
        return not looks_secret(name) if allowed is None else name in allowed

    return {
        **config,
        **{
            part: {name: value for name, value in config[part].items() if kept(str(name))}
            for part in ("configurable", "metadata")
            if config.get(part)
        },
    }
