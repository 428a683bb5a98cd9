"""``abi thread``: the conversations a project remembers."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from naas_abi_cli import output
from naas_abi_cli.errors import CommandFailed, WrongCall
from naas_abi_cli.options import ConfigOption, JsonOption, ThreadArgument
from naas_abi_cli.safe_text import safe_line

if TYPE_CHECKING:
    from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver

__all__ = ["app"]

#: Characters of a thread's id in a table; ``--json`` gives all of it.
_ID_SHOWN: Final = 80

app = typer.Typer(help="Conversations the project's agents remember.", no_args_is_help=True)


@app.command("list")
def list_threads(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """List conversations, the most recently used first. No message is read."""
    from naas_abi_cli.project import document_saver, open_engine

    with open_engine(config) as engine, output.progress("Reading threads…"):
        found = [asdict(summary) for summary in document_saver(engine).threads()]
    if json:
        output.print_json([_dated(each) for each in found])
    elif not found:
        output.print_text("No conversation is stored yet. Start one with 'abi chat'.")
    else:
        rows = [
            (
                safe_line(each["thread_id"], _ID_SHOWN),
                each["checkpoints"],
                _local(each["updated_at"]),
            )
            for each in found
        ]
        output.print_table(["thread", "#checkpoints", "last used"], rows)


@app.command()
def show(
    thread_id: ThreadArgument,
    *,
    checkpoint: Annotated[
        str | None, typer.Option(help="Show the state at this checkpoint; the newest by default.")
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show the messages of a conversation as the agent would see them now."""
    from naas_abi_cli.messages import as_plain, print_messages
    from naas_abi_cli.project import checked_thread, document_saver, open_engine

    wanted = {"thread_id": checked_thread(thread_id), "checkpoint_ns": ""}
    if checkpoint is not None:
        wanted["checkpoint_id"] = checkpoint
    with open_engine(config) as engine, output.progress("Reading the thread…"):
        stored = document_saver(engine).get_tuple({"configurable": wanted})
    if stored is None:
        raise _missing(thread_id, checkpoint)
    values = stored.checkpoint["channel_values"]
    messages = [as_plain(message) for message in values.get("messages", [])]
    shown: dict[str, Any] = {
        "thread_id": thread_id,
        "checkpoint_id": stored.checkpoint["id"],
        "messages": messages,
        "channels": sorted(values),
        "pending_writes": len(stored.pending_writes or ()),
    }
    if json:
        output.print_json(shown)
        return
    print_messages(messages)
    if not messages:
        output.print_text(f"No messages; its channels are {', '.join(shown['channels'])}.")


@app.command()
def history(
    thread_id: ThreadArgument,
    *,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Show at most this many, the newest.")
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the checkpoints of a conversation, newest first. No message is read."""
    from naas_abi_cli.history import checkpoint_history
    from naas_abi_cli.project import (
        agent_documents,
        checked_thread,
        document_saver,
        open_engine,
    )
    from naas_abi_core.services.agent.memory.saver import ENGINE_AGENT_ID

    with open_engine(config) as engine, output.progress("Reading the history…"):
        found = checkpoint_history(
            agent_documents(engine),
            ENGINE_AGENT_ID,
            checked_thread(thread_id),
            document_saver(engine).serde,
        )
    if not found:
        raise _missing(thread_id)
    rows = [asdict(summary) for summary in found[:limit]]
    if json:
        output.print_json([_dated(row) for row in rows])
        return
    columns = ["#step", "source", "stored", "#bytes", "checkpoint", "subgraph"]
    if not any(row["namespace"] for row in rows):
        columns.pop()
    cells = [
        (
            "" if row["step"] is None else row["step"],
            row["source"],
            _local(row["stored_at"]),
            row["size"],
            row["checkpoint_id"],
            row["namespace"],
        )[: len(columns)]
        for row in rows
    ]
    output.print_table(columns, cells)


@app.command()
def delete(
    thread_id: ThreadArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Delete a conversation with everything it stored. This cannot be undone."""
    from naas_abi_cli.project import checked_thread, document_saver, open_engine

    checked_thread(thread_id)
    with open_engine(config) as engine:
        saver = document_saver(engine)
        if not _is_stored(saver, thread_id):
            raise _missing(thread_id)
        if not yes:
            _confirm(thread_id)
        with output.progress("Deleting…"):
            saver.delete_thread(thread_id)
    if json:
        output.print_json({"deleted": thread_id})
    else:
        output.print_text(f"Deleted thread {thread_id}.")


def _is_stored(saver: DocumentCheckpointSaver, thread_id: str) -> bool:
    return thread_id in saver.thread_ids()


def _confirm(thread_id: str) -> None:
    if not sys.stdin.isatty():
        raise WrongCall(
            "deleting is not confirmed and nobody can be asked",
            where=f"thread {thread_id!r}",
            mend="Add --yes.",
        )
    question = f"Delete thread {safe_line(thread_id)} for good?"
    if not typer.confirm(question, err=True):
        raise CommandFailed("nothing was deleted", where=f"thread {thread_id!r}")


def _missing(thread_id: str, checkpoint: str | None = None) -> CommandFailed:
    if checkpoint is not None:
        return CommandFailed(
            f"it has no checkpoint {checkpoint!r}, or does not exist",
            where=f"thread {thread_id!r}",
            mend="'abi thread history' lists its checkpoints.",
        )
    return CommandFailed(
        "there is no such thread",
        where=f"thread {thread_id!r}",
        mend="'abi thread list' shows which there are.",
    )


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value.isoformat() if hasattr(value, "isoformat") else value
        for key, value in row.items()
    }


def _local(moment: Any) -> str:
    return str(moment.astimezone().strftime("%Y-%m-%d %H:%M:%S"))
