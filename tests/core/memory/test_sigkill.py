"""SIGKILL at random moments of a running chat loses no acknowledged checkpoint."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "kills", [10, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(300)])]
)
def test_what_was_acknowledged_survives(kills: int, tmp_path: Path) -> None:
    program = ROOT / "tests" / "support" / "killed_chat.py"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", program, tmp_path / "documents.sqlite", str(kills), "7"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["kills"] == kills
    assert report["acknowledged"] > 2 * kills
    assert report["turns"] > kills // 2
