"""Entries of items that stand for themselves: no other item changes what they say."""

from __future__ import annotations

__all__ = ("Place", "place_of", "single_entry", "unknown_entry", "unplaced_entry")

from typing import TYPE_CHECKING, Literal, TypedDict, assert_never

from compass_agent.frames import SessionInjectionKind
from compass_agent.view.entries import (
    Ended,
    Entry,
    Injection,
    Missing,
    Notice,
    Plan,
    PlanStep,
    Prompt,
    Restart,
    StateChange,
    Unknown,
)
from compass_agent.view.words import step_status
from compass_agent.wire import End, Gap, Reset, StateSignal

if TYPE_CHECKING:
    from compass_agent.frames import SessionEvent
    from compass_agent.wire import FrameItem

_INJECTIONS: dict[int, Literal["steer", "deliver"]] = {
    SessionInjectionKind.SESSION_INJECTION_KIND_STEER: "steer",
    SessionInjectionKind.SESSION_INJECTION_KIND_DELIVER: "deliver",
}


class Place(TypedDict):
    """Where and when an entry begins: the fields that all entries have."""

    epoch: str
    seq: int
    last_seq: int
    at_ms: int | None
    late: bool


def place_of(item: FrameItem, event: SessionEvent) -> Place:
    """Return the place of an entry that begins with `item`; a time of 0 was not told."""
    return Place(
        epoch=item.epoch,
        seq=item.seq,
        last_seq=item.seq,
        at_ms=event.at_unix_ms or None,
        late=item.late,
    )


def single_entry(item: FrameItem, event: SessionEvent) -> Entry:
    """Return the entry of an event that is neither message, nor tool call, nor failure."""
    place = place_of(item, event)
    match event.WhichOneof("event"):
        case "plan":
            steps = tuple(
                PlanStep(entry.content, step_status(entry.status)) for entry in event.plan.entries
            )
            return Plan(**place, steps=steps)
        case "notice":
            notice = event.notice
            link = notice.link if notice.HasField("link") else None
            return Notice(**place, text=notice.text, link=link)
        case "prompt":
            return Prompt(**place, text=event.prompt.text, message_id=event.prompt.message_id)
        case "session_injection":
            injection = event.session_injection
            return Injection(
                **place,
                kind=_INJECTIONS.get(injection.op_kind, "unknown"),
                message_id=injection.message_id,
                from_handle=injection.from_handle,
                traceparent=injection.traceparent,
            )
        case _:
            return unknown_entry(item, event)


def unknown_entry(item: FrameItem, event: SessionEvent) -> Unknown:
    """Return the entry of a frame that holds nothing this version knows."""
    return Unknown(**place_of(item, event), event_id=event.event_id, size=len(item.data))


def unplaced_entry(item: Gap | Reset | End | StateSignal) -> Entry:
    """Return the entry of an item that is no frame."""
    match item:
        case Gap():
            return Missing(
                epoch=item.epoch,
                seq=item.first_seq,
                last_seq=item.last_seq,
                at_ms=None,
                count=item.count,
                reason=item.reason,
            )
        case Reset():
            return Restart(epoch=item.epoch, seq=0, last_seq=0, at_ms=None, reason=item.reason)
        case End():
            return Ended(
                epoch=item.epoch,
                seq=item.last_seq,
                last_seq=item.last_seq,
                at_ms=None,
                state=item.state,
                reason=item.reason,
            )
        case StateSignal():
            return StateChange(
                epoch=item.epoch, seq=0, last_seq=0, at_ms=None, state=item.state, signal=True
            )
        case _:
            assert_never(item)
