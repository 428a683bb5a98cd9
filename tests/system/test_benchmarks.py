"""A smoke run of the benchmarks: the shape of what they tell, never how long anything took."""

from __future__ import annotations

import json
import math
import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from benchmarks import __main__ as command
from benchmarks import comparing
from benchmarks.chat import CHANNELS, build_graph, config, question, text
from benchmarks.comparing import QUICK_PARTS, Scale, compare, new_store
from benchmarks.conversing import open_conversing
from benchmarks.drawing import draw, smoothed, to_lines
from benchmarks.growing import Grown, grow, rotated
from benchmarks.peers import PEERS, find_peer
from benchmarks.reporting import BEGIN, END, grids, to_page, to_rich
from benchmarks.results import MEASURES, Results, Subject
from benchmarks.stores import DSN_VARIABLE
from benchmarks.targets import TARGETS, judge

TINY = Scale(
    turns=(1, 2),
    repeats=1,
    counted=2,
    large=50_000,
    crowd=3,
    crowd_turns=1,
    listed=4,
    remembered=1,
    threads=2,
)
PRESENT = [peer for peer in PEERS if not peer.missing]


@pytest.fixture(scope="module")
def results(postgres_server: str) -> Iterator[Results]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DSN_VARIABLE, postgres_server)
        yield compare(PEERS, CHANNELS, TINY, QUICK_PARTS, lambda _: None)


def test_every_saver_is_measured_at_every_length(results: Results) -> None:
    measures = ["turn, first fifth", "turn, last fifth", "load, cold", "load, warm", "list of 50"]
    for channel in CHANNELS:
        for peer in PRESENT:
            subject = Subject(peer.name, channel)
            disk = ["disk a turn"]
            stored = {"sqlite": disk, "nats": disk, "postgresql": [*disk, "log a turn"]}
            for turns in TINY.turns:
                for measure in [*measures, *stored.get(peer.store, [])]:
                    value = results.value(subject, measure, turns)
                    assert value is not None, (subject, measure, turns)
                    assert value > 0 or measure == "disk a turn", (subject, measure, turns)
            assert len(results.curves[subject]) == max(TINY.turns)
    assert {figure.subject.saver for figure in results.figures} == {p.name for p in PRESENT}


def test_every_other_measure_is_taken_where_it_applies(results: Results) -> None:
    for peer in PRESENT:
        subject = Subject(peer.name)
        for measure in ("large result, turn", "large result, load", "conversations at once"):
            assert (results.value(subject, measure) or 0) > 0, (peer.name, measure)
        listed = results.value(subject, "list of threads")
        assert (listed is None) is peer.is_async, peer.name
    taken = {figure.measure for figure in results.figures}
    assert set(MEASURES) - taken == {"peak memory", "many threads, memory"}


def test_no_conversation_at_once_fails(results: Results) -> None:
    errors = [f for f in results.figures if f.measure == "conversations at once, errors"]
    assert len(errors) == len(PRESENT) * len(CHANNELS)
    assert {figure.value for figure in errors} == {0}


def test_calls_of_documents_are_counted_apart(results: Results) -> None:
    for peer in PRESENT:
        calls = results.value(Subject(peer.name), "calls a put")
        assert (calls is None) is (not peer.is_counted or peer.name == "InMemorySaver"), peer.name
    memory, sqlite = (
        {f.measure: f.value for f in results.figures if f.subject.saver == name and not f.turns}
        for name in ("Documents-memory", "Documents-SQLite")
    )
    # What is asked for is decided above the store.
    for measure in ("calls a put", "transactions a put", "round trips a put", "calls a load"):
        assert memory[measure] == sqlite[measure] >= 1
    assert memory["round trips a load"] <= memory["calls a load"]
    assert memory["documents a turn"] == sqlite["documents a turn"] >= 4


def test_requests_over_nats_are_as_few_as_calls_in_process(results: Results) -> None:
    for measure in ("calls a put", "round trips a put", "calls a load", "round trips a load"):
        remote, here = (
            results.value(Subject(name), measure) for name in ("Documents-NATS", "Documents-SQLite")
        )
        assert remote == here, measure


def test_what_is_missing_is_said(results: Results) -> None:
    missing = {peer.name for peer in PEERS if peer.missing}
    assert {name for name in results.left_out if name in {peer.name for peer in PEERS}} == missing


def test_figures_are_written_with_units_and_without_the_machine(
    results: Results, tmp_path: Path
) -> None:
    written = results.to_json()
    told = json.loads(written)
    assert len(told["figures"]) == len(results.figures)
    assert {figure["unit"] for figure in told["figures"]} <= {"ms", "KB", "MB", ""}
    assert told["environment"]["processors"] == os.cpu_count()
    assert told["scale"]["turns"] == [1, 2]
    page = to_page(results, "python -m benchmarks")
    for output in (written, page):
        assert socket.gethostname() not in output
        assert str(Path.cwd()) not in output
    draw(results, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert len(to_lines(results)) == len(results.curves)
    for grid in grids(results):
        assert to_rich(grid).row_count == len(grid.rows)
        assert {len(row) for row in grid.rows} == {len(grid.columns)}


def test_tables_replace_what_is_between_the_marks_of_a_page(results: Results) -> None:
    page = to_page(results, "command", f"# Title\n\n{BEGIN}\nto be replaced\n{END}\n\nend\n")
    assert page.startswith(f"# Title\n\n{BEGIN}\n")
    assert page.endswith(f"{END}\n\nend\n")
    assert "to be replaced" not in page
    assert "### 2 turns\n\n| saver | turn, first fifth, ms | ratio |" in page
    assert to_page(results, "command", page) == page


def test_a_target_is_a_ratio_of_two_savers_of_one_run() -> None:
    results = Results()
    assert {verdict.met for verdict in judge(results)} == {None}
    results.add(Subject("SqliteSaver"), "turn, last fifth", 10, 200)
    results.add(Subject("Documents-SQLite"), "turn, last fifth", 5, 200)
    results.add(Subject("SqliteSaver", "delta"), "turn, last fifth", 10, 200)
    results.add(Subject("Documents-SQLite", "delta"), "turn, last fifth", 11, 200)
    results.add(Subject("Documents-SQLite"), "conversations at once, errors", 1)
    results.add(Subject("Documents-SQLite-async"), "turn, last fifth", 6, 200)
    results.add(Subject("Documents-NATS"), "turn, last fifth", 9, 200)
    judged = [verdict for verdict in judge(results) if verdict.met is not None]
    assert [(verdict.value, verdict.met) for verdict in judged] == [
        (0.5, True),
        (1.1, False),
        (1, False),
        (1.5, True),
    ]


def test_targets_name_savers_and_measures_there_are() -> None:
    results = Results()
    for channel in CHANNELS:
        for peer in PEERS:
            for measure in MEASURES:
                for turns in (None, 30, 200, 600, 1000):
                    results.add(Subject(peer.name, channel), measure, 1, turns)
    assert len(judge(results)) == len(TARGETS)
    assert all(verdict.value == 1 for verdict in judge(results))


def test_a_measure_must_be_known() -> None:
    with pytest.raises(LookupError, match="'tunr'"):
        Results().add(Subject("SqliteSaver"), "tunr", 1)


def test_a_turn_is_four_messages_of_new_text() -> None:
    with new_store(find_peer("InMemorySaver"), None, None) as store:
        conversing = open_conversing(find_peer("InMemorySaver"), store, "list")
        conversing.turn("t", 0)
        conversing.turn("t", 1)
        messages = conversing.state("t").values["messages"]
        conversing.close()
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"] * 2
    sizes = [
        len(message.content) + len(str(message.tool_calls[0]["args"]["query"]))
        if getattr(message, "tool_calls", None)
        else len(message.content)
        for message in messages
    ]
    assert sum(sizes[:4]) == sum(sizes[4:]) == 3420
    assert len({message.content for message in messages if message.content}) == 6
    assert text("key", 10) == text("key", 10) != text("other", 10)


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_large_result_has_its_size(channel: str) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    graph = build_graph(InMemorySaver(), channel, result_size=12_345)
    values = graph.invoke(question("t", 0), config("t"))
    (result,) = [m for m in values["messages"] if isinstance(m, ToolMessage)]
    assert len(result.content) == 12_345


def test_turns_rotate() -> None:
    items: Any = ["a", "b", "c"]
    assert [list(rotated(items, number)) for number in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]
    assert list(rotated([], 3)) == []


def test_a_saver_that_keeps_copies_stops_where_it_says() -> None:
    peer = replace(find_peer("InMemorySaver"), longest=2)
    results = Results()
    with new_store(peer, None, None) as store:
        grown = [
            Grown(peer, Subject(peer.name, channel), store, open_conversing(peer, store, channel))
            for channel in CHANNELS
        ]
        grow(grown, (2, 3), 1, results, lambda _: None)
        for one in grown:
            one.conversing.close()
    assert {s.channel: len(turns) for s, turns in results.curves.items()} == {"list": 2, "delta": 3}
    assert results.value(Subject(peer.name), "load, warm", 3) is None


def test_smoothing_keeps_the_shape() -> None:
    assert smoothed([1, 1, 9, 5, 5, 5], 2) == [1, 5]
    assert smoothed([1, 2], 40) == [1, 2]
    assert smoothed([], 40) == []


def test_memory_is_measured_in_a_process_of_its_own() -> None:
    scale = replace(TINY, remembered=3)
    peer = find_peer("Documents-SQLite")
    results = compare([peer], ["list"], scale, ["memory"], lambda _: None)
    for measure in ("peak memory", "many threads, memory"):
        value = results.value(Subject(peer.name), measure)
        assert value is not None
        assert math.isfinite(value)
    assert (results.value(Subject(peer.name), "peak memory") or 0) < 200


def test_the_command_writes_what_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "QUICK", TINY)
    asked = ["--quick", "--turns", "3,1", "--savers", "*memory*", "--channels", "list"]
    files = ["--json", f"{tmp_path}/f.json", "--png", f"{tmp_path}/f.png"]
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}", "utf-8")
    assert command.main([*asked, "--parts", "growth", *files, "--markdown", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "3 turns" in printed
    assert "Documents-memory" in printed
    assert "not measured" in printed
    assert {file.name for file in tmp_path.iterdir()} == {"f.json", "f.png", "page.md"}
    told = "`python -m benchmarks --quick --turns 1,3 --savers '*memory*' --channels list"
    assert f"{told} --parts growth`" in page.read_text("utf-8")


@pytest.mark.parametrize(
    "wrong",
    [["--savers", "nobody"], ["--turns", "0"], ["--channels", "both"], ["--parts", "all"]],
)
def test_wrong_arguments_name_what_is_right(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(wrong)
    assert stopped.value.code == 2
    expected = {"--savers": "SqliteSaver", "--turns": "start at 1", "--channels": "list, delta"}
    assert expected.get(wrong[0], ", ".join(comparing.PARTS)) in capsys.readouterr().err
