"""Items of a session as server-sent events.

A frame is an event without a name, with its cursor as the id; a gap, a reset and an end are named
events that have one too. Before a frame that holds a failure, an event `cause` says what to make of
it. `data` is one line of JSON in ASCII, so that no character in it can end
the line, whatever the agent wrote.
"""

from __future__ import annotations

__all__ = ("Encoder", "event")

import json
from typing import TYPE_CHECKING

from compass_agent.services.http.causes import cause_of
from compass_agent.services.reading import place_of_item
from compass_agent.wire import CaughtUp, End, FrameItem, Gap, Reset, item_to_json

if TYPE_CHECKING:
    from compass_agent.wire import Item

_FAILURE = '"sessionError"'
_LARGEST_CACHE = 16 * 1024 * 1024
_NAMES: dict[type, str] = {Gap: "gap", Reset: "reset", End: "end", CaughtUp: "caught_up"}

_Key = tuple[str, str, int]


def event(name: str, data: dict[str, object] | str, mark: str = "") -> bytes:
    """Return one event.

    Args:
        name: What listeners listen to; empty: a message.
        data: An object, or one line of JSON.
        mark: The id, which a client sends back when it comes again; empty: none.
    """
    line = data if isinstance(data, str) else json.dumps(data)
    head = (f"id: {mark}\n" if mark else "") + (f"event: {name}\n" if name else "")
    return f"{head}data: {line}\n\n".encode()


class Encoder:
    """Encodes items. A frame is encoded once for all its readers, as long as it is kept here.

    Args:
        largest: How many bytes are kept, in all.
    """

    def __init__(self, largest: int = _LARGEST_CACHE) -> None:
        self._largest = largest
        self._size = 0
        self._kept: dict[_Key, tuple[bytes, bytes]] = {}

    def item(self, session: str, item: Item, *, marked: bool = True, last: bool = True) -> bytes:
        """Return the event of `item`.

        Args:
            session: Its session.
            item: What to encode.
            marked: Give it an id, when it has a place.
            last: Nothing of the session follows; the end of a run that others follow is `ended`, so
                that who closes on `end` has read all.

        Raises:
            OperationError: `unsupported_input`, when the item holds bytes that are no frame.
        """
        if isinstance(item, FrameItem):
            before, data = _made(session, item) if item.late else self._frame(session, item)
            if marked and not item.late:
                return b"%bid: %b-%d\n%b" % (before, item.epoch.encode(), item.seq, data)
            return before + data
        name = _NAMES.get(type(item), "")
        if name == "end" and not last:
            name = "ended"
        place = place_of_item(item) if marked else None
        return event(name, item_to_json(session, item), "" if place is None else str(place))

    def _frame(self, session: str, item: FrameItem) -> tuple[bytes, bytes]:
        """Return what stands before the frame's id, and the frame."""
        key = (session, item.epoch, item.seq)
        found = self._kept.get(key)
        if found is None:
            found = _made(session, item)
            self._keep(key, found)
        return found

    def _keep(self, key: _Key, data: tuple[bytes, bytes]) -> None:
        """Keep what was encoded last; what was first goes first."""
        self._kept[key] = data
        self._size += sum(map(len, data))
        while self._size > self._largest:
            oldest = next(iter(self._kept))
            self._size -= sum(map(len, self._kept.pop(oldest)))


def _made(session: str, item: FrameItem) -> tuple[bytes, bytes]:
    """Return what is told before a frame's event, and the event without an id."""
    line = item_to_json(session, item)
    # Only a few frames hold a failure, and nearly all others are seen not to by their text.
    cause = cause_of(item) if _FAILURE in line else None
    place = {"sessionId": session, "epoch": item.epoch, "seq": str(item.seq)}
    before = b"" if cause is None else event("cause", {**place, **cause})
    return before, event("", line)
