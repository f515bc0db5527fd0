"""How a session stands after what was read of it."""

from __future__ import annotations

__all__ = ("Outcome",)

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.view.words import ERRORED, STARTING, WORKING
from compass_agent.wire import End, FrameItem, Reset, StateSignal, decode_frame

if TYPE_CHECKING:
    from compass_agent.frames import SessionError
    from compass_agent.wire import Item


@dataclass(slots=True)
class Outcome:
    """Follows state and last failure; later work clears the failure before it.

    Attributes:
        state: The number of the last AgentSessionState; None: none was read.
        error: The last SessionError of the current work; None: there was none.
        ended: Whether the last epoch ended.
    """

    state: int | None = None
    error: SessionError | None = None
    ended: bool = False

    def push(self, item: Item) -> None:
        """Take one item. A late frame tells of the past and changes nothing.

        Raises:
            OperationError: `unsupported_input`, when the item holds bytes that are no frame.
        """
        match item:
            case FrameItem(late=False):
                frame = decode_frame(item.data)
                if frame.state:
                    self.state = frame.state
                    if frame.state in {STARTING, WORKING}:
                        self.error = None
                if frame.typed_event.HasField("session_error"):
                    self.error = frame.typed_event.session_error
            case End():
                self.state, self.ended = item.state, True
            case StateSignal():
                # A failed agent that is gone is still a failed agent.
                if self.state != ERRORED:
                    self.state = item.state
            case Reset():
                self.state, self.error, self.ended = None, None, False
            case _:
                pass
