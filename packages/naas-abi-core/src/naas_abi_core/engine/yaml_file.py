"""Reads one YAML file into plain values, and remembers the line of every key.

Stricter than YAML: only safe types, text keys, and no key twice in one mapping, because the second
would silently replace the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from naas_abi_core.errors import ConfigurationError, Problem

__all__ = ["MAX_VALUES", "KeyPath", "YamlFile", "dotted", "read_yaml"]

#: Values of a file at most, each counted as often as aliases repeat it: a few lines of aliases of
#: aliases would otherwise stand for more than any memory holds.
MAX_VALUES: Final = 100_000

#: Where a value sits: mapping keys and list positions from the top.
KeyPath: TypeAlias = "tuple[str | int, ...]"


@dataclass(frozen=True, slots=True)
class YamlFile:
    """The values of a file, and the line, from 1, on which each key stands."""

    path: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]

    def line(self, key: KeyPath) -> int | None:
        """The line of ``key``, or of the nearest enclosing key that is in the file."""
        while key:
            if key in self.lines:
                return self.lines[key]
            key = key[:-1]
        return None


def dotted(key: KeyPath) -> str:
    """``("modules", 0, "config")`` as people write it: ``modules[0].config``."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_yaml(path: Path) -> YamlFile:
    """Read ``path``; an empty file is an empty mapping.

    Raises:
        ConfigurationError: it cannot be read, is not YAML, not a mapping, or not as strict as
            this module asks.
    """
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(_unreadable(path, error)) from error
    except yaml.YAMLError as error:
        raise ConfigurationError(_malformed(path, error)) from error
    try:
        node = loader.get_single_node()
        lines: dict[KeyPath, int] = {}
        if node is not None:
            _check(node, (), path, lines)
        data = {} if node is None else loader.construct_document(node)
    except ConfigurationError:  # a ValueError too
        raise
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-99-99
        raise ConfigurationError(_malformed(path, error)) from error
    except RecursionError as error:
        what = "it is nested too deeply, or an anchor contains itself"
        raise ConfigurationError(Problem(what, file=path, mend="Write it flatter.")) from error
    finally:
        loader.dispose()
    return YamlFile(path, _as_mapping(data, path), lines)


def _as_mapping(data: object, path: Path) -> dict[str, Any]:
    if data is None:
        return {}
    if isinstance(data, dict):
        return data
    kind = "a list" if isinstance(data, list) else "a single value"
    what = f"it holds {kind}, not keys and values"
    mend = "Write keys such as 'default_agent: NAME'."
    raise ConfigurationError(Problem(what, file=path, line=1, mend=mend))


def _check(node: yaml.Node, key: KeyPath, path: Path, lines: dict[KeyPath, int]) -> None:
    """Walk the tree before values are made of it: there a second key is still visible."""
    if len(lines) > MAX_VALUES:
        what = f"it holds more than {MAX_VALUES:,} values once its aliases are put in"
        mend = "Remove aliases (*name) that repeat other aliases."
        raise ConfigurationError(Problem(what, file=path, mend=mend))
    if isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            lines[(*key, position)] = child.start_mark.line + 1
            _check(child, (*key, position), path, lines)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key_node, child in node.value:
            line = key_node.start_mark.line + 1
            merged = key_node.tag == "tag:yaml.org,2002:merge"
            name = "<<" if merged else _name(key_node, key, path)
            if name in seen:
                first = lines[(*key, name)]
                raise ConfigurationError(
                    Problem(
                        f"this key is already on line {first}",
                        dotted((*key, name)),
                        path,
                        line,
                        "Keep one of the two.",
                    )
                )
            seen.add(name)
            lines[(*key, name)] = line
            _check(child, (*key, name), path, lines)


def _name(node: yaml.Node, key: KeyPath, path: Path) -> str:
    if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
        return str(node.value)
    shown = repr(node.value) if isinstance(node, yaml.ScalarNode) else "a list or mapping"
    raise ConfigurationError(
        Problem(
            f"YAML does not read the key {shown} as text",
            dotted(key),
            path,
            node.start_mark.line + 1,
            "Put the key between quotes.",
        )
    )


def _unreadable(path: Path, error: Exception) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem("no such file", file=path, mend="Check the path, or run 'abi new project'.")
    if isinstance(error, OSError):
        what = f"it cannot be read: {error.strerror or error}"
        return Problem(what, file=path, mend="Check that it is a file you may read.")
    return Problem("it is not UTF-8 text", file=path, mend="Save it as UTF-8.")


def _malformed(path: Path, error: Exception) -> Problem:
    """PyYAML's sentence without its quotation of the file, which may hold a secret."""
    line, told = None, "a value cannot be understood"
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        told = error.problem or error.context or told
        if isinstance(error, yaml.constructor.ConstructorError) and "tag" in told:
            told = "YAML tags (!...) are not allowed here"
    return Problem(
        f"it is not valid YAML: {told}",
        file=path,
        line=line,
        mend="Check the indentation, colons and quotes on this line and the one before.",
    )
