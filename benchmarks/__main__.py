"""``python -m benchmarks``: compare, print tables, and write what is asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console

from benchmarks.chat import CHANNELS
from benchmarks.comparing import FULL, PARTS, QUICK, QUICK_PARTS, compare
from benchmarks.drawing import draw, to_lines
from benchmarks.peers import PEERS, Peer
from benchmarks.reporting import grids, to_page, to_rich
from benchmarks.results import Results

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = _parser()
    options = parser.parse_args(arguments)
    peers = _chosen(options.savers)
    if not peers:
        parser.error(f"no saver is called so; there are: {', '.join(peer.name for peer in PEERS)}")
    scale = QUICK if options.quick else FULL
    if options.turns:
        scale = scale.with_turns(options.turns)
    parts = options.parts or (QUICK_PARTS if options.quick else PARTS)
    with Console(stderr=True).status("starting") as status:
        results = compare(peers, options.channels, scale, parts, status.update)
    _print(results)
    _write(results, options)
    return 0


def _print(results: Results) -> None:
    # A file or a pipe has no width; the widest table needs this much.
    console = Console(width=None if sys.stdout.isatty() else 240)
    for grid in grids(results):
        console.print(to_rich(grid))
    for line in to_lines(results):
        console.print(line, highlight=False, no_wrap=True)


def _write(results: Results, options: argparse.Namespace) -> None:
    if options.markdown:
        page = options.markdown.read_text("utf-8") if options.markdown.exists() else ""
        options.markdown.write_text(to_page(results, _command(options), page), "utf-8")
    if options.json:
        options.json.write_text(results.to_json(), "utf-8")
    if options.png:
        draw(results, options.png)


def _command(options: argparse.Namespace) -> str:
    """Return what makes the same figures; where they are written is nobody else's business."""
    asked = {
        "--turns": options.turns and ",".join(map(str, options.turns)),
        "--savers": options.savers != ["*"] and f"'{','.join(options.savers)}'",
        "--channels": options.channels != list(CHANNELS) and ",".join(options.channels),
        "--parts": options.parts and ",".join(options.parts),
    }
    given = [f"{name} {value}" for name, value in asked.items() if value]
    return " ".join(["python -m benchmarks", *(["--quick"] if options.quick else []), *given])


def _chosen(patterns: list[str]) -> list[Peer]:
    return [
        peer
        for peer in PEERS
        if any(fnmatchcase(peer.name.lower(), pattern.lower()) for pattern in patterns)
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    scale = ", ".join(map(str, FULL.turns))
    names = ", ".join(peer.name for peer in PEERS)
    parser.add_argument(
        "--turns", type=_numbers, help=f"lengths to measure at; {scale} if not given"
    )
    parser.add_argument("--savers", type=_words, default=["*"], help=f"names or patterns: {names}")
    parser.add_argument("--channels", type=_some(CHANNELS), default=list(CHANNELS))
    parser.add_argument("--parts", type=_some(PARTS), help=", ".join(PARTS))
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small numbers and no processes of their own: under a minute",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure")
    parser.add_argument("--png", type=Path, metavar="FILE", help="draw the curves of growth")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write the tables, into the page if it has marks for them",
    )
    return parser


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(sorted({int(word) for word in text.split(",")}))
    if numbers[0] < 1:
        message = "turns start at 1"
        raise argparse.ArgumentTypeError(message)
    return numbers


def _some(known: tuple[str, ...]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        words = _words(text)
        if unknown := set(words) - set(known):
            message = f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}"
            raise argparse.ArgumentTypeError(message)
        return words

    return parse


if __name__ == "__main__":
    sys.exit(main())
