"""The project a command works on: its engine, and the memory of its agents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from naas_abi_cli.errors import CommandFailed, WrongCall
from naas_abi_cli.output import fail_at_end, progress

if TYPE_CHECKING:
    from naas_abi_core.engine.configuration import EngineConfiguration
    from naas_abi_core.engine.engine import Engine
    from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
    from naas_abi_core.services.document.service import DocumentService

__all__ = ["agent_documents", "checked_thread", "document_saver", "loaded", "open_engine"]


@contextmanager
def open_engine(config: Path | None) -> Iterator[Engine]:
    """The loaded engine of a project, which serves nobody else; see :func:`loaded`."""
    with progress("Reading the configuration…"):
        from naas_abi_core.engine.configuration import EngineConfiguration

        configuration = EngineConfiguration.from_file(config)
    with loaded(configuration, serve=False) as engine:
        yield engine


@contextmanager
def loaded(configuration: EngineConfiguration, *, serve: bool) -> Iterator[Engine]:
    """The loaded engine of a configuration; it is shut down at the end, whatever happens.

    A module that fails at shutdown is told after the result, which it does not undo.
    """
    with progress("Loading the project…"):
        from naas_abi_core.engine.engine import Engine
        from naas_abi_core.errors import EngineError

        engine = Engine(configuration, serve=serve)
        engine.load()
    try:
        yield engine
    except BaseException as error:
        engine.__exit__(type(error), error, error.__traceback__)
        raise
    try:
        engine.shutdown()
    except EngineError as error:
        fail_at_end(error)


def document_saver(engine: Engine) -> DocumentCheckpointSaver:
    """The saver whose threads a command can list.

    Raises:
        CommandFailed: agents of this project keep their memory elsewhere, or nowhere.
    """
    from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver

    saver: Any = engine.checkpointer
    if isinstance(saver, DocumentCheckpointSaver):
        return saver
    raise CommandFailed(
        f"agents of this project keep no memory in its document service: {engine.memory_reason}",
        where=str(engine.configuration.file or "configuration"),
        mend="'abi plugins' says what they use. To use the document service, have a module "
        "declare it, and do not set POSTGRES_URL.",
    )


def agent_documents(engine: Engine) -> DocumentService:
    """The documents behind :func:`document_saver`."""
    from naas_abi_core.services.agent.memory.saver import ENGINE_NAMESPACE

    document_saver(engine)
    root = engine.document_root
    assert root is not None
    return root.for_namespace(ENGINE_NAMESPACE)


def checked_thread(thread_id: str) -> str:
    """``thread_id`` if it can be one.

    Raises:
        WrongCall: it is empty, or not text: bytes of the command line that are not UTF-8.
    """
    try:
        thread_id.encode()
    except UnicodeEncodeError as error:
        raise WrongCall(
            f"the thread id {thread_id!r} is not UTF-8 text", mend="Give it as UTF-8."
        ) from error
    if not thread_id:
        raise WrongCall("the thread id is empty", mend="'abi thread list' shows which there are.")
    return thread_id
