"""Messages as they were stored, and what those of one session say together. Pure."""

from __future__ import annotations

__all__ = ("decoded", "joined")

from typing import TYPE_CHECKING

from compass_agent.errors.codes import OperationError
from compass_agent.log.jetstream.faults import DamagedError
from compass_agent.log.jetstream.records import Message, decode, follow

if TYPE_CHECKING:
    from compass_agent.log.jetstream.heads import SessionState
    from compass_agent.log.jetstream.waiting import Stored


def decoded(session: str, stored: Stored) -> Message:
    """Return the message of the session.

    Raises:
        DamagedError: It is none of ours, or of a later version.
    """
    try:
        return decode(stored.pos, stored.payload)
    except OperationError as error:
        where = f"place {stored.pos} holds no message of this version"
        raise DamagedError(session, where) from error


def joined(session: str, head: Stored | None, last: Stored | None) -> SessionState | None:
    """Return what the sheet and the last message of a session say together, if they fit."""
    if head is None or last is None:
        return None
    sheet = decoded(session, head)
    if sheet.pos == last.pos:
        return sheet.state
    message = decoded(session, last)
    fits = message.epoch is not None and sheet.state.find(message.epoch) is not None
    return follow(sheet.state, message) if fits else None
