"""What a tail yields: frames whose content is of the subscriber lane, and what stands among them.

A frame is kept as the agent encoded it and decoded when somebody looks into it: the lane is plain
Python, and reads some ten thousand frames a second.
"""

from __future__ import annotations

__all__ = ("Frame", "TailItem", "items_of")

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import betterproto2

from compass_agent.frames import Cursor
from compass_agent.wire import CaughtUp, End, FrameItem, Gap, Reset, StateSignal
from compass_agent.wire.received import items_from_bytes
from compass_subscriber.v1 import (
    AgentSessionState,
    SessionAssistantText,
    SessionError,
    SessionEvent,
    SessionFrame,
    SessionInjection,
    SessionNotice,
    SessionPlan,
    SessionPrompt,
    SessionThinking,
    SessionToolCall,
    SessionToolCallUpdate,
)

if TYPE_CHECKING:
    from compass_agent.wire import Item

_Content: TypeAlias = (
    SessionAssistantText
    | SessionError
    | SessionInjection
    | SessionNotice
    | SessionPlan
    | SessionPrompt
    | SessionThinking
    | SessionToolCall
    | SessionToolCallUpdate
)


class Frame(FrameItem):
    """A frame at its place: an event, or a transition, or both.

    It is a `FrameItem`, so what takes the items of a log takes it too.

    Attributes:
        epoch: The epoch of `seq`: one opening of the session by one writer.
        seq: The frame's place in its epoch.
        data: The encoded SessionFrame, with what this version does not know of it.
        late: It arrived after its place was read: it moves no cursor.
    """

    @cached_property
    def decoded(self) -> SessionFrame:
        """The frame, as the subscriber lane has it."""
        return SessionFrame.parse(self.data)

    @property
    def event(self) -> SessionEvent | None:
        """What happened, or None when the frame is a transition alone."""
        return self.decoded.typed_event

    @property
    def state(self) -> AgentSessionState:
        """The new state, or UNSPECIFIED when there is no transition."""
        return self.decoded.state

    @property
    def kind(self) -> str | None:
        """The name of what happened, such as `"session_error"`.

        None: there is no event, or one of a kind that this version does not know.
        """
        event = self.event
        return None if event is None else betterproto2.which_one_of(event, "event")[0] or None

    @property
    def content(self) -> _Content | None:
        """The message of that kind, such as a `SessionError`; None as for `kind`."""
        event = self.event
        return None if event is None else betterproto2.which_one_of(event, "event")[1]

    @property
    def cursor(self) -> Cursor | None:
        """The place behind which a tail goes on, or None when the frame is late, and moves none."""
        return None if self.late else Cursor(self.epoch, self.seq)


TailItem: TypeAlias = Frame | Gap | Reset | End | StateSignal | CaughtUp


def items_of(data: bytes) -> list[TailItem]:
    """Return what one message of the stream holds, in order.

    Raises:
        OperationError: `unavailable`, when the bytes are no such message.
    """
    return [_typed(item) for item in items_from_bytes(data)]


def _typed(item: Item) -> TailItem:
    return Frame(*item) if isinstance(item, FrameItem) else item
