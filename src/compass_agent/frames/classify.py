"""What kind a frame is. The three predicates decide its lane."""

from __future__ import annotations

__all__ = ("event_kind", "is_injection", "is_lifecycle", "is_priority", "is_session_error")

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass.v1.compass_pb2 import SessionFrame


def is_lifecycle(frame: SessionFrame) -> bool:
    """Tell whether the frame is a transition: its state is not UNSPECIFIED."""
    return frame.state != 0


def is_injection(frame: SessionFrame) -> bool:
    """Tell whether the frame is a message that was put into the running agent."""
    return frame.typed_event.HasField("session_injection")


def is_session_error(frame: SessionFrame) -> bool:
    """Tell whether the frame is the content of a failed or stopped turn, of either kind."""
    return frame.typed_event.HasField("session_error")


def is_priority(frame: SessionFrame) -> bool:
    """Tell whether any of the three predicates holds: the frame is never dropped."""
    if frame.state != 0:
        return True
    event = frame.typed_event  # looked up once: each look makes an object
    return event.HasField("session_injection") or event.HasField("session_error")


def event_kind(frame: SessionFrame) -> str | None:
    """Return the oneof name of the frame's event, such as `"assistant_text"`.

    None: the frame holds no event, or one of a kind that this version does not know.
    """
    return frame.typed_event.WhichOneof("event")
