"""Messages as they were stored, and what those of one session say together. Pure."""

from __future__ import annotations

__all__ = ("decoded", "joined", "snapshot_of", "with_lost_since", "without_last")

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.errors.codes import OperationError
from compass_agent.log.epoch import Mark
from compass_agent.log.jetstream.cache import Snapshot
from compass_agent.log.jetstream.faults import DamagedError
from compass_agent.log.jetstream.losses import with_lost_end
from compass_agent.log.jetstream.records import Message, decode, follow
from compass_agent.wire import GapReason

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


def snapshot_of(message: Message, state: SessionState, sheet: Message) -> Snapshot:
    """Return what is known of a session behind `message`, and behind its sheet."""
    return Snapshot(message.pos, None if state.gone else state, sheet.harmed)


def joined(session: str, head: Stored | None, last: Stored | None) -> Snapshot | None:
    """Return what the sheet and the last message of a session say together, if they fit."""
    if head is None or last is None:
        return None
    sheet = decoded(session, head)
    if sheet.pos == last.pos:
        return snapshot_of(sheet, sheet.state, sheet)
    message = decoded(session, last)
    fits = message.epoch is not None and sheet.state.find(message.epoch) is not None
    return snapshot_of(message, follow(sheet.state, message), sheet) if fits else None


def with_lost_since(state: SessionState, before: SessionState) -> SessionState:
    """Return the session when more of it was stored before: what is missing of that is lost."""
    for kept in state.epochs:
        older = before.find(kept.head.epoch)
        first, last = kept.head.through + 1, older.head.through if older else 0
        lost = Mark(first, last, GapReason.LOG_LOSS)
        if first <= last and lost not in kept.head.marks:
            head = replace(kept.head, marks=(*kept.head.marks, lost))
            state = state.with_epoch(replace(kept, head=head))
    return state


def without_last(messages: list[Message], lost: set[str]) -> SessionState | None:
    """Return what a session's messages from its sheet on say together, when a later one is lost.

    Args:
        messages: The sheet, and the records behind it.
        lost: The epochs of which the engine lost the newest record of a block and lane.
    """
    state = messages[0].state
    for message in messages[1:]:
        if message.epoch is None or state.find(message.epoch) is None:
            return None
        state = follow(state, message)
    for kept in state.epochs:
        if kept.head.epoch in lost:
            state = state.with_epoch(replace(kept, head=with_lost_end(kept.head)))
    return state
