"""Epochs as rows of the table `epochs`, and back."""

from __future__ import annotations

__all__ = ("COLUMNS", "INSERT", "UPDATE", "from_row", "to_row")

import json
from typing import TYPE_CHECKING, Any

from compass_agent.errors.codes import ErrorCode
from compass_agent.log.epoch import EpochHead, Mark
from compass_agent.wire import Answer, EndMark, GapReason, SessionMeta

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = (
    "epoch",
    "title",
    "agent",
    "version",
    "opened_ms",
    "updated_ms",
    "lease_ms",
    "sealed",
    "through",
    "last_priority",
    "highest",
    "trimmed",
    "frames",
    "state",
    "resumed",
    "error",
    "finish",
    "marks",
    "told",
)
COLUMNS = ", ".join(_NAMES)
"""The columns that `from_row` takes, in its order."""

INSERT = f"INSERT INTO epochs (session, ord, {COLUMNS}) VALUES (?, ?{', ?' * len(_NAMES)})"  # noqa: S608 - our own names
UPDATE = f"UPDATE epochs SET {', '.join(f'{name} = ?' for name in _NAMES)} WHERE eid = ?"  # noqa: S608 - our own names


def to_row(head: EpochHead) -> tuple[object, ...]:
    """Return the values of `COLUMNS`."""
    end = head.end
    finish = end and json.dumps([end.state, end.reason, end.last_seq, end.prev_priority])
    return (
        head.epoch,
        head.meta.title,
        head.meta.agent,
        head.meta.version,
        head.opened_ms,
        head.updated_ms,
        head.lease_ms,
        head.sealed,
        head.through,
        head.last_priority,
        head.highest,
        head.trimmed,
        head.frames,
        head.state,
        head.resumed,
        head.error,
        finish,
        json.dumps([[mark.first, mark.last, mark.reason] for mark in head.marks]),
        json.dumps([_from_answer(answer) for answer in head.told]),
    )


def from_row(row: Sequence[Any]) -> EpochHead:
    """Return the epoch of these values of `COLUMNS`."""
    epoch, title, agent, version, *numbers, error, finish, marks, told = row
    opened_ms, updated_ms, lease_ms, sealed, through, last_priority, highest, *rest = numbers
    trimmed, frames, state, resumed = rest
    return EpochHead(
        epoch=epoch,
        meta=SessionMeta(title, agent, version),
        opened_ms=opened_ms,
        updated_ms=updated_ms,
        lease_ms=lease_ms,
        sealed=bool(sealed),
        through=through,
        last_priority=last_priority,
        highest=highest,
        trimmed=trimmed,
        frames=frames,
        state=state,
        error=error,
        resumed=bool(resumed),
        end=None if finish is None else EndMark(*json.loads(finish)),
        marks=tuple(Mark(first, last, GapReason(why)) for first, last, why in json.loads(marks)),
        told=tuple(_to_answer(values) for values in json.loads(told)),
    )


def _from_answer(answer: Answer) -> list[object]:
    return [
        answer.batch,
        answer.last_priority,
        answer.through,
        answer.late_trace,
        answer.missing_from,
        answer.sealed,
        answer.code,
    ]


def _to_answer(values: list[Any]) -> Answer:
    *counts, code = values
    return Answer(*counts, code=None if code is None else ErrorCode(code))
