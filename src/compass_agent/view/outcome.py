"""How a session stands after what was read of it."""

from __future__ import annotations

__all__ = ("Outcome", "tells_nothing")

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.view.words import ERRORED, STARTING, WORKING
from compass_agent.wire import End, FrameItem, Reset, StateSignal, decode_frame

if TYPE_CHECKING:
    from compass_agent.frames import SessionError
    from compass_agent.wire import Item


# The first bytes, as encoded, of the two fields that count. A byte that is there may be anything.
_STATE, _SESSION_ERROR = b"\x08", b"\x52"


def tells_nothing(data: bytes) -> bool:
    """Tell, without decoding it, whether an encoded frame has neither a state nor a failure.

    False means that it may have one.
    """
    return _STATE not in data and _SESSION_ERROR not in data


@dataclass(slots=True)
class Outcome:
    """Follows state and last failure; later work that goes well clears the failure before it.

    Attributes:
        state: The number of the last AgentSessionState; None: none was read.
        error: The last SessionError of the current work; None: there was none.
        ended: Whether the last epoch ended.
    """

    state: int | None = None
    error: SessionError | None = None
    ended: bool = False
    _before: SessionError | None = None

    def push(self, item: Item) -> None:
        """Take one item. A late frame tells of the past and changes nothing.

        Raises:
            OperationError: `unsupported_input`, when the item holds bytes that are no frame.
        """
        if isinstance(item, FrameItem):
            if not item.late and not tells_nothing(item.data):
                self._frame(item.data)
            return
        match item:
            case End():
                self.state, self.ended = item.state, True
            case StateSignal():
                # A failed agent that is gone is still a failed agent.
                if self.state != ERRORED:
                    self.state = item.state
            case Reset():
                self.state, self.error, self.ended, self._before = None, None, False, None
            case _:
                pass

    def _frame(self, data: bytes) -> None:
        frame = decode_frame(data)
        if frame.state:
            self._move(frame.state)
        if frame.typed_event.WhichOneof("event") == "session_error":
            self.error, self._before = frame.typed_event.session_error, None

    def _move(self, state: int) -> None:
        self.state = state
        if state in {STARTING, WORKING}:
            self.error, self._before = None, self.error or self._before
        elif state == ERRORED:
            # Work that ends so without a reason of its own, such as a retry that is given up.
            self.error, self._before = self.error or self._before, None
        else:
            self._before = None
