"""Epochs as rows of the table `epochs`, and back."""

from __future__ import annotations

__all__ = ("COLUMNS", "INSERT", "UPDATE", "from_row", "to_row")

import json
from typing import TYPE_CHECKING, Any

from compass_agent.log.epoch import EpochHead
from compass_agent.log.values import (
    answers_from_values,
    answers_to_values,
    end_from_values,
    end_to_values,
    marks_from_values,
    marks_to_values,
)
from compass_agent.wire import SessionMeta

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
    end = end_to_values(head.end)
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
        end and json.dumps(end),
        json.dumps(marks_to_values(head.marks)),
        json.dumps(answers_to_values(head.told)),
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
        end=end_from_values(finish and json.loads(finish)),
        marks=marks_from_values(json.loads(marks)),
        told=answers_from_values(json.loads(told)),
    )
