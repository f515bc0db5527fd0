"""Reads back what a session left in its log."""

from __future__ import annotations

__all__ = ("frames_in", "lines_in", "read_items")

from typing import TYPE_CHECKING

import anyio

from compass_agent.log import open_log
from compass_agent.wire import FrameItem, decode_frame
from reading_frames import described

if TYPE_CHECKING:
    from compass_agent.frames import SessionFrame
    from compass_agent.wire import Item


async def read_items(url: str, session: str) -> list[Item]:
    """Everything that is stored of a session, without following it."""
    log = open_log(url)
    try:
        return [item async for page in log.read(session, follow=False) for item in page.items]
    finally:
        await log.aclose()


def frames_in(url: str, session: str) -> list[SessionFrame]:
    """The frames of a session."""
    items = anyio.run(read_items, url, session)
    return [decode_frame(item.data) for item in items if isinstance(item, FrameItem)]


def lines_in(url: str, session: str) -> list[str]:
    """The frames of a session, one line each."""
    return described(frames_in(url, session))
