"""What is told of a NATS engine that does not do what was asked, beside the failure's own line."""

from __future__ import annotations

__all__ = ("tell_engine", "tell_stream")

from typing import TYPE_CHECKING

from compass_agent.cli.talk import say
from compass_agent.errors.codes import OperationError
from compass_agent.errors.groups import only_exception
from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.faults import EngineError

if TYPE_CHECKING:
    from compass_agent.log import SessionLog


def tell_engine(error: Exception) -> None:
    """Say what the engine has against what was asked of it, if it was that."""
    found = only_exception(error)
    if isinstance(found, EngineError) and found.reason:
        say(found.reason)


async def tell_stream(log: SessionLog) -> None:
    """Say that the engine is away, or has no such stream: it may come, so it is no failure yet."""
    if isinstance(log, JetStreamLog):
        try:
            await log.check()
        except OperationError as error:
            tell_engine(error)
