"""``abi demo``: a conversation outlives the kill of its process, measured and checked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from naas_abi_cli import output
from naas_abi_cli.errors import CommandFailed, WrongCall
from naas_abi_cli.options import JsonOption

__all__ = ["demo"]


def demo(
    *,
    turns: Annotated[
        int, typer.Option(min=4, max=200, help="Turns of the conversation; 14 show flat costs.")
    ] = 30,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the project in this new folder, to look into it afterwards."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a conversation, kill its process in the middle of a turn, go on in a new one.

    Prints what each turn wrote beside what full snapshots would have, and checks every claim it
    makes. Exit code 0 only if all of them held. Needs no network and no key.
    """
    from naas_abi_cli.demo.checking import checks_of, costs_of
    from naas_abi_cli.demo.report import as_plain, print_report
    from naas_abi_cli.demo.supervising import run_conversation, write_project

    with _folder(keep) as folder:
        config = write_project(folder)
        with _telling(turns) as tell:
            observed = run_conversation(config, turns, tell)
    costs = costs_of(observed)
    checks = checks_of(observed, costs)
    if json:
        output.print_json(as_plain(turns, observed.killed_turn, costs, checks))
    else:
        print_report(observed.killed_turn, costs, checks)
    if keep is not None:
        output.note(f"Kept in {keep}. Look: abi thread list --config {keep / 'config.yaml'}")
    failed = [check.claim for check in checks if check.held is False]
    if not failed:
        return
    if json:
        raise typer.Exit(1)
    raise CommandFailed(f"{len(failed)} of {len(checks)} checks failed: {'; '.join(failed)}")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="abi-demo-", ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    try:
        keep.mkdir(parents=True, exist_ok=False)
    except FileExistsError as error:
        raise WrongCall(
            "it exists already and nothing is overwritten",
            where=str(keep),
            mend="Give --keep the name of a new folder.",
        ) from error
    except OSError as error:
        raise CommandFailed(
            f"the folder cannot be made: {error.strerror or error}",
            where=str(keep),
            mend="Give --keep a place you may write to.",
        ) from error
    yield keep


@contextmanager
def _telling(turns: int) -> Iterator[Callable[[str, int], None]]:
    """Shows progress on a terminal; elsewhere one line for each thing that happens."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = output.stderr()
    with Progress(
        TextColumn("turns"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("turns", total=turns)

        def tell(happened: str, done: int) -> None:
            if happened:
                console.print(happened, style="dim")
            if done:
                bar.update(task, completed=done)

        yield tell
