"""What a run told, as the last cells of a row in the tables of docs/agents.md."""

from __future__ import annotations

__all__ = ("COLUMNS", "cells")

from typing import TYPE_CHECKING

from compass_agent.frames import SessionErrorKind
from reading_frames import described, errors_of, states_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.frames import SessionFrame

COLUMNS = "kind | message | status | retry after | frames before it"
_NONE = "-"


def cells(frames: Sequence[SessionFrame]) -> str:
    """Return the cells of `COLUMNS` for the frames of one run."""
    errors = errors_of(frames)
    before = described(frames)
    if errors:
        (error,) = errors
        kind = SessionErrorKind.Name(error.kind).removeprefix("SESSION_ERROR_KIND_")
        message = error.message
        status = str(error.status) if error.HasField("status") else _NONE
        wait = f"{error.retry_after_ms / 1000:g} s" if error.retry_after_ms else _NONE
        place = next(i for i, line in enumerate(before) if line.startswith(f"{kind} "))
        before = before[:place]
    else:
        kind, message, status, wait = _NONE, states_of(frames)[-2], _NONE, _NONE
        before = before[:-2]
    return f"{kind} | {message} | {status} | {wait} | {', '.join(_counted(before))}"


def _counted(lines: list[str]) -> list[str]:
    """Return how many frames of each kind there are, in the order of their first."""
    counts: dict[str, int] = {}
    for line in lines:
        kind = line.split()[0]
        counts[kind] = counts.get(kind, 0) + 1
    return [f"{number} {kind}" for kind, number in counts.items()]
