"""Frames, batches and what readers receive, and their bytes and JSON."""

from __future__ import annotations

__all__ = (
    "Answer",
    "Batch",
    "CaughtUp",
    "End",
    "EndMark",
    "FrameItem",
    "FrameRun",
    "Gap",
    "GapReason",
    "Item",
    "Page",
    "Reset",
    "ResetReason",
    "SessionMeta",
    "StateSignal",
    "decode_frame",
    "item_to_json",
    "item_to_subscriber_frame",
)

from compass_agent.wire.batch import Answer, Batch, EndMark, SessionMeta
from compass_agent.wire.convert import decode_frame, item_to_json, item_to_subscriber_frame
from compass_agent.wire.items import (
    CaughtUp,
    End,
    FrameItem,
    FrameRun,
    Gap,
    GapReason,
    Item,
    Page,
    Reset,
    ResetReason,
    StateSignal,
)
