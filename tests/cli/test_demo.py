from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from naas_abi_cli.demo.checking import Check, checks_of, costs_of
from naas_abi_cli.demo.protocol import Acknowledged, InTool, Stored, Verified, parse
from naas_abi_cli.demo.script import MESSAGES_PER_TURN, found_entry, said, topic
from naas_abi_cli.demo.supervising import Observed
from tests.cli.conftest import Abi

TURNS = 14


def observed() -> Observed:
    """What a run tells in which every claim holds."""
    killed = TURNS - 1
    stored = [
        Stored(turn, 24, 20_000, 1, 1000 * turn, Acknowledged(f"{turn}-{at}", "d"))
        for turn in range(1, TURNS + 1)
        for at in range(5)
    ]
    stored = [dataclasses.replace(each, size=4000) for each in stored]
    survivors = [
        each.checkpoint
        for each in stored
        if each.checkpoint and (each.turn < killed or int(each.checkpoint.checkpoint_id[-1]) < 3)
        and each.turn <= killed
    ]  # fmt: skip
    transcript = [
        message
        for turn in range(1, TURNS + 1)
        for message in (
            ["human", said(turn)],
            ["ai", ""],
            ["tool", found_entry(topic(turn))],
            ["ai", "It says " + found_entry(topic(turn))],
        )
    ]
    return Observed(
        turns=TURNS,
        killed_turn=killed,
        stored=stored,
        survivors=survivors,
        kill_status=-9,
        verified=Verified(len(survivors)),
        verified_at_end=Verified(len(stored)),
        resumed=killed,
        transcript=transcript,
    )


def judged(run: Observed) -> list[Check]:
    return checks_of(run, costs_of(run))


def test_every_claim_of_a_good_run_holds() -> None:
    checks = judged(observed())
    assert [check.claim for check in checks if check.held is not True] == []
    assert len(checks) == 8


def _lose_one(run: Observed) -> None:
    assert run.verified
    run.verified = Verified(run.verified.loaded - 1, ["lost"])


def _lose_one_at_the_end(run: Observed) -> None:
    run.verified_at_end = None


def _survive_the_kill(run: Observed) -> None:
    run.kill_status = 0


def _be_killed_before_the_tool(run: Observed) -> None:
    run.survivors.pop()


def _resume_nothing(run: Observed) -> None:
    run.resumed = None


def _say_something_else(run: Observed) -> None:
    run.transcript[6] = ["tool", "nothing"]


def _forget_a_message(run: Observed) -> None:
    run.transcript.pop()


def _write_twice(run: Observed) -> None:
    run.stored[3] = dataclasses.replace(run.stored[3], transactions=2)


def _write_much(run: Observed) -> None:
    run.stored = [dataclasses.replace(each, size=6000) for each in run.stored]


def _grow(run: Observed) -> None:
    run.stored = [dataclasses.replace(each, size=4000 + 30 * each.turn) for each in run.stored]


BREAKAGES = [
    (_lose_one, "is there after it"),
    (_lose_one_at_the_end, "is there at its end"),
    (_survive_the_kill, "killed inside the tool call"),
    (_be_killed_before_the_tool, "killed inside the tool call"),
    (_resume_nothing, "finished the interrupted turn"),
    (_say_something_else, "message by message"),
    (_forget_a_message, "message by message"),
    (_write_twice, "one transaction"),
    (_write_much, "28 KB"),
    (_grow, "turns 10 to 14 write"),
]


@pytest.mark.parametrize(("breakage", "claim"), BREAKAGES)
def test_a_claim_that_does_not_hold_fails(breakage: object, claim: str) -> None:
    run = observed()
    breakage(run)  # type: ignore[operator]  # one of the functions above
    failed = [check.claim for check in judged(run) if check.held is False]
    assert [claim for each in failed if claim in each] == [claim]


def test_too_few_turns_make_no_claim_about_flatness() -> None:
    run = observed()
    run.stored = [each for each in run.stored if each.turn < 12]
    assert [check.held for check in judged(run)][-1] is None


def test_texts_are_unique_and_of_one_length() -> None:
    texts = [said(turn) for turn in range(1, 200)] + [
        found_entry(topic(turn)) for turn in range(1, 200)
    ]
    assert len(set(texts)) == len(texts)
    assert {len(text) for text in texts} == {len(said(1)), len(found_entry(topic(1)))}


@pytest.mark.parametrize(
    "line", ["", "no json", "[]", '{"event": "Nothing"}', '{"event": "InTool"}']
)
def test_lines_that_are_no_events(line: str) -> None:
    with pytest.raises(ValueError, match="not an event"):
        parse(line)
    assert parse('{"event": "InTool", "turn": 3}') == InTool(3)


def test_the_demonstration(script: Abi, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    ended = script("demo", "--turns", "4", "--keep", str(kept), NO_COLOR="1", COLUMNS="80")
    assert ended.code == 0, ended.out + ended.err
    assert ended.out.count("✓") == 7
    assert ended.out.count("✗") == 0
    assert "- late turns write what early ones write\n  too few turns to say" in ended.out
    assert "Killed it inside the tool call of turn 3." in ended.err
    assert "\x1b" not in ended.out + ended.err
    assert max(map(len, ended.out.splitlines())) <= 80
    shown = script("thread", "show", "demo", "--json", "--config", str(kept / "config.yaml"))
    assert len(shown.json["messages"]) == 4 * MESSAGES_PER_TURN
    again = script("demo", "--turns", "4", "--keep", str(kept))
    assert (again.code, "nothing is overwritten" in again.err) == (2, True)


def test_the_demonstration_leaves_nothing_behind(script: Abi, tmp_path: Path) -> None:
    ended = script("demo", "--turns", "4", "--json", TMPDIR=str(tmp_path), POSTGRES_URL="nonsense")
    assert ended.code == 0, ended.out + ended.err
    told = ended.json
    assert (told["turns"], told["killed_in_turn"], told["passed"]) == (4, 3, True)
    assert [cost["turn"] for cost in told["per_turn"]] == [1, 2, 3, 4]
    assert all(3000 < cost["text_bytes"] < 4000 for cost in told["per_turn"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_whole_demonstration_is_flat_and_quick(script: Abi) -> None:
    told = script("demo", "--json").json
    assert told["passed"]
    assert all(check["held"] for check in told["checks"])


def test_a_process_that_fails_is_told(script: Abi, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if any('naas_abi_cli.demo.child' in each for each in sys.orig_argv):\n"
        "    sys.exit('it broke')\n"
    )
    ended = script("demo", "--turns", "4", PYTHONPATH=str(tmp_path))
    assert ended.code == 1
    assert "it ended before it could be killed" in ended.err
    assert "it broke" in ended.err
