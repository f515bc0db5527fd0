"""What the server makes of a failure, told beside the frame that holds it.

A frame is what the agent sent, and stays that; title, advice and whether trying again helps follow
from it, and stand next to it, so that no reader has to work them out.
"""

from __future__ import annotations

__all__ = ("cause_of", "causes_of")

from typing import TYPE_CHECKING, Any

from compass_agent.services.as_json import cause_to_dict
from compass_agent.view.failure import explain
from compass_agent.wire import FrameItem, decode_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.wire import Item


def cause_of(item: FrameItem) -> dict[str, Any] | None:
    """Return what `item` says of a failure, in the form of `lastError`; None: it holds none."""
    event = decode_frame(item.data).typed_event
    if event.WhichOneof("event") != "session_error":
        return None
    return cause_to_dict(explain(event.session_error))


def causes_of(items: Iterable[Item]) -> dict[str, dict[str, Any]]:
    """Return the failures among `items`, by their places, `EPOCH-SEQ`."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        cause = cause_of(item) if isinstance(item, FrameItem) else None
        if isinstance(item, FrameItem) and cause is not None:
            found[f"{item.epoch}-{item.seq}"] = cause
    return found
