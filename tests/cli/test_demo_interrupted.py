"""However the demonstration ends, the process it started ends with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from naas_abi_cli.demo.supervising import write_project
from tests.cli.conftest import ABI, environment, interruptible

FIRST = "First process: the conversation begins.\n"


@contextmanager
def demonstration(kept: Path) -> Iterator[subprocess.Popen[str]]:
    """A demonstration that has just told of its first process; its own is in the same folder."""
    with subprocess.Popen(
        [ABI, "demo", "--turns", "14", "--keep", kept],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,  # noqa: PLW1509 -- it gives the new process its signals only
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == FIRST
            yield process
        finally:
            process.kill()


def children(kept: Path) -> list[str]:
    """The processes that work in the folder."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "args"], capture_output=True, text=True, check=True
    ).stdout
    return [line for line in listed.splitlines() if f"demo.child {kept}" in line]


def wait_until_there_are(count: int, kept: Path) -> None:
    deadline = time.monotonic() + 60
    while len(children(kept)) != count:
        assert time.monotonic() < deadline, children(kept)
        time.sleep(0.02)


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01, 0.05, 0.2])
def test_ctrl_c_ends_both_processes(tmp_path: Path, delay: float) -> None:
    kept = tmp_path / "kept"
    with demonstration(kept) as process:
        time.sleep(delay)  # an interrupt at any moment is right; these are the delicate ones
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert children(kept) == []


def test_ctrl_c_while_the_conversation_runs(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with demonstration(kept) as process:
        wait_until_there_are(1, kept)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert children(kept) == []


def test_the_child_ends_when_nobody_is_left_to_watch_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with demonstration(kept) as process:
        wait_until_there_are(1, kept)
        process.kill()
        process.wait()
        wait_until_there_are(0, kept)


def test_a_child_that_waits_in_a_tool_ends_when_its_stdin_does(tmp_path: Path) -> None:
    config = write_project(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-m", "naas_abi_cli.demo.child", config, "1", "1", "--pause-in", "1"],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            assert any('"InTool"' in line for line in process.stdout)
            process.stdin.close()
            assert process.wait(timeout=30) == 1
        finally:
            process.kill()
