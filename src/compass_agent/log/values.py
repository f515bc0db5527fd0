"""Parts of an epoch as values that JSON has, and back: the same for every log that stores them."""

from __future__ import annotations

__all__ = (
    "answers_from_values",
    "answers_to_values",
    "end_from_values",
    "end_to_values",
    "marks_from_values",
    "marks_to_values",
)

from typing import TYPE_CHECKING, Any

from compass_agent.errors.codes import ErrorCode
from compass_agent.log.epoch import Mark
from compass_agent.wire import Answer, EndMark, GapReason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.log.epoch import Told


def end_to_values(end: EndMark | None) -> list[object] | None:
    """Return what `end_from_values` takes."""
    return end and [end.state, end.reason, end.last_seq, end.prev_priority]


def end_from_values(values: list[Any] | None) -> EndMark | None:
    """Return the end mark that `end_to_values` took apart."""
    return None if values is None else EndMark(*values)


def marks_to_values(marks: Iterable[Mark]) -> list[list[int]]:
    """Return what `marks_from_values` takes."""
    return [[mark.first, mark.last, mark.reason] for mark in marks]


def marks_from_values(values: Iterable[list[int]]) -> tuple[Mark, ...]:
    """Return the marks that `marks_to_values` took apart."""
    return tuple(Mark(first, last, GapReason(why)) for first, last, why in values)


def answers_to_values(told: Told) -> list[list[object]]:
    """Return what `answers_from_values` takes."""
    return [
        [
            answer.batch,
            answer.last_priority,
            answer.through,
            answer.late_trace,
            answer.missing_from,
            answer.sealed,
            answer.code,
        ]
        for answer in told
    ]


def answers_from_values(values: Iterable[list[Any]]) -> Told:
    """Return the answers that `answers_to_values` took apart."""
    return tuple(
        Answer(*numbers, sealed=bool(sealed), code=None if code is None else ErrorCode(code))
        for *numbers, sealed, code in values
    )
