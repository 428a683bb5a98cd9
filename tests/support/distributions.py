"""Installs small distributions into a folder, as an installer would leave them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

__all__ = ["install_plugin"]


def install_plugin(site: Path, name: str, code: str) -> None:
    """Install the distribution ``name``, whose module of that name is a plugin, into ``site``."""
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[naas_abi]\n{name}-plugin = {name}\n")
    (site / f"{name}.py").write_text(dedent(code), encoding="utf-8")
