"""Memory of a process that uses one saver: measured in a process of its own, which this starts.

What a server keeps is not counted. Memory is what stays resident, beyond what was resident after
the first conversation: LangGraph, drivers and imports are everybody's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import psutil

from benchmarks.conversing import open_conversing
from benchmarks.peers import Peer, find_peer
from benchmarks.results import Results, Subject
from benchmarks.stores import DSN_VARIABLE

__all__ = ["footprint"]

MEGABYTE: Final = 1_000_000
_STATUS: Final = Path("/proc/self/status")
_FORGET_PEAK: Final = Path("/proc/self/clear_refs")


def footprint(
    peer: Peer, subject: Subject, turns: int, threads: int, server: str | None, results: Results
) -> None:
    """Measure a long conversation's peak and what many threads leave, each in a new process."""
    results.add(subject, "peak memory", _apart(peer, subject, "peak", turns, server))
    if subject.channel == "list":
        grown = _apart(peer, subject, "threads", threads, server)
        results.add(subject, "many threads, memory", grown)


def _apart(peer: Peer, subject: Subject, what: str, count: int, server: str | None) -> float:
    command = [sys.executable, "-m", "benchmarks.footprint"]
    answer = subprocess.run(
        [*command, peer.name, subject.channel, what, str(count)],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **({DSN_VARIABLE: server} if server else {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(json.loads(answer.stdout))


def _measure(name: str, channel: str, what: str, count: int) -> float:
    from benchmarks.comparing import new_store

    peer = find_peer(name)
    with new_store(peer, None, os.environ.get(DSN_VARIABLE)) as store:
        conversing = open_conversing(peer, store, channel)
        try:
            conversing.turn("warming up", 0)
            before = _resident()
            _start_peak()
            for number in range(count):
                if what == "peak":
                    conversing.turn("long", number)
                else:
                    conversing.turn(f"thread-{number}", 0)
            return ((_peak() if what == "peak" else _resident()) - before) / MEGABYTE
        finally:
            conversing.close()


def _resident() -> int:
    return psutil.Process().memory_info().rss


def _start_peak() -> None:
    if _FORGET_PEAK.exists():
        _FORGET_PEAK.write_text("5")


def _peak() -> int:
    """The highest ever, since ``_start_peak`` where the system can forget.

    ``ru_maxrss`` on Linux starts with the parent's, whose peak would be taken for ours.
    """
    if _STATUS.exists():
        lines = _STATUS.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    _, saver, channel, what, count = sys.argv
    print(json.dumps(_measure(saver, channel, what, int(count))))
