"""Encodes short pieces of text: what comes hundreds of times a second, without a frame each."""

from __future__ import annotations

__all__ = ("SHORT_CHARS", "PieceEncoder")

from typing import TYPE_CHECKING

from compass.v1.compass_pb2 import SessionFrame
from compass_agent.errors.shapes import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from compass.v1.compass_pb2 import SessionAssistantText, SessionEvent, SessionThinking

    # What is the same in all pieces, what is filled in, and what encodes the whole.
    _Form: TypeAlias = tuple[
        str, SessionEvent, SessionAssistantText | SessionThinking, Callable[[], bytes]
    ]

SHORT_CHARS = 256
"""A longer text gets a frame of its own: a form keeps the memory of all that was written in it."""

_USES = 64
"""So many pieces are written in one form: together at most 64 KiB."""


class PieceEncoder:
    """Writes pieces of one kind in a form, a frame that is filled in again for each of them.

    The bytes are those of the frame that `FrameBuilder` builds; making its three messages would
    cost as much as all the rest.

    Args:
        kind: The event that holds the text.
    """

    __slots__ = ("_form", "_kind", "_left")

    def __init__(self, kind: Literal["assistant_text", "thinking"]) -> None:
        self._kind = kind
        self._form: _Form | None = None
        self._left = 0

    def encode(self, number: int, at_unix_ms: int, text: str, message_id: str) -> bytes:
        """Return the bytes of the frame of one piece.

        Args:
            number: Of the event.
            at_unix_ms: Its time, in milliseconds since 1970-01-01 UTC.
            text: At most `SHORT_CHARS` characters.
            message_id: Of the message that it is a piece of.
        """
        # The form is taken out while it is in use: a signal handler may call this within a call.
        form, self._form = self._form, None
        if form is None or form[0] != message_id or not self._left:
            form = self._new_form(message_id)
        _, event, part, serialise = form
        self._left -= 1
        event.event_id = str(number)
        event.at_unix_ms = at_unix_ms
        try:
            part.text = text
        except UnicodeEncodeError:
            part.text = valid_text(text)
        data = serialise()
        self._form = form
        return data

    def _new_form(self, message_id: str) -> _Form:
        frame = SessionFrame()
        event = frame.typed_event
        part = event.thinking if self._kind == "thinking" else event.assistant_text
        part.message_id = message_id
        self._left = _USES
        return message_id, event, part, frame.SerializeToString
