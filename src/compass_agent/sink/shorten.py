"""Shortens a frame that is too large to travel."""

from __future__ import annotations

__all__ = ("MAX_FRAME_BYTES", "shorten")

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from compass_agent.frames import SessionFrame

# A frame has to fit into one gRPC message of 4 MiB beside others, and a page of them into memory.
MAX_FRAME_BYTES = 512 * 1024

# Left for the marks, and for what is no text.
_RESERVE = 4 * 1024

# Shorter texts cannot be what makes a frame large.
_WORTH_CUTTING = 1024


def shorten(frame: SessionFrame) -> bytes:
    """Return the bytes of a copy of `frame` that fits into MAX_FRAME_BYTES.

    Its longest texts are cut at a character border and marked `…(+N bytes)`; entries of a plan or
    diffs of a tool call that are still too many are left out from the end.
    """
    copy = type(frame)()
    copy.CopyFrom(frame)
    event = copy.typed_event
    update = event.tool_call_update
    if event.HasField("tool_call_update") and not update.HasField("full_output_chars"):
        full = len(update.output)
        _fit(copy)
        if len(update.output) < full:
            update.full_output_chars = full
    else:
        _fit(copy)
    return copy.SerializeToString()


def _fit(frame: SessionFrame) -> None:
    limit = MAX_FRAME_BYTES - _RESERVE
    while (excess := frame.ByteSize() - limit) > 0:
        if not _cut_longest_text(frame, excess) and not _drop_last_half(frame):
            return


def _drop_last_half(frame: SessionFrame) -> bool:
    """Leave out half of the entries or diffs; False: there are none."""
    entries = frame.typed_event.plan.entries
    diffs = frame.typed_event.tool_call_update.diffs
    if entries:
        del entries[len(entries) // 2 :]
    elif diffs:
        del diffs[len(diffs) // 2 :]
    else:
        return False
    return True


def _cut_longest_text(frame: SessionFrame, excess: int) -> bool:
    """Cut the longest text by `excess` bytes, as far as it goes; False: none is worth cutting."""
    texts = [
        (value.encode(), message, field.name)
        for message in _messages(frame)
        for field, value in message.ListFields()
        if isinstance(value, str) and len(value.encode()) >= _WORTH_CUTTING
    ]
    if not texts:
        return False
    data, message, name = max(texts, key=lambda text: len(text[0]))
    kept = data[: max(_WORTH_CUTTING // 2, len(data) - excess - 32)].decode("utf-8", "ignore")
    setattr(message, name, f"{kept}…(+{len(data) - len(kept.encode())} bytes)")
    return True


def _messages(frame: SessionFrame) -> list[Message]:
    """Return the messages of `frame` that hold texts."""
    event = frame.typed_event
    kind = event.WhichOneof("event")
    if kind is None:
        return []
    content: Message = getattr(event, kind)
    return [content, *event.plan.entries, *event.tool_call_update.diffs]
