"""Puts the pieces of a large frame together (`rpc_chunk` lines of oh-my-pi)."""

from __future__ import annotations

__all__ = ("ChunkAssembler", "ChunkError")

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compass_agent.adapters.lines import LARGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_OPEN = 8
_MOST_PIECES = 65_536


class ChunkError(ValueError):
    """A piece does not fit; the text says why."""


@dataclass(slots=True)
class _Frame:
    count: int
    pieces: dict[int, bytes] = field(default_factory=dict[int, bytes])
    size: int = 0


class ChunkAssembler:
    """Collects pieces by the id of their frame; bounded in frames, pieces and bytes."""

    def __init__(self) -> None:
        self._frames: dict[str, _Frame] = {}

    def add(self, event: Mapping[str, object]) -> bytes | None:
        """Take one piece; return the frame when it is complete.

        Raises:
            ChunkError: The piece does not fit; what was collected of its frame is dropped.
        """
        name = event.get("chunkId")
        key = name if isinstance(name, str) else repr(name)
        try:
            return self._add(key, event)
        except ChunkError:
            self._frames.pop(key, None)
            raise

    def left(self) -> list[tuple[int, int]]:
        """Forget the frames that are not complete; return (pieces, count) of each."""
        left = [(len(frame.pieces), frame.count) for frame in self._frames.values()]
        self._frames.clear()
        return left

    def _add(self, key: str, event: Mapping[str, object]) -> bytes | None:
        index, count = _whole(event.get("index")), _whole(event.get("count"))
        if not 0 <= index < count <= _MOST_PIECES:
            raise ChunkError("its place is out of range")
        frame = self._frames.get(key)
        if frame is None:
            if len(self._frames) >= _MOST_OPEN:
                raise ChunkError("too many frames are open")
            frame = self._frames[key] = _Frame(count)
        if frame.count != count or index in frame.pieces:
            raise ChunkError("it does not fit the pieces before it")
        piece = _decoded(event.get("data"))
        frame.size += len(piece)
        if frame.size > LARGEST_LINE:
            raise ChunkError("the frame is too large")
        frame.pieces[index] = piece
        if len(frame.pieces) < count:
            return None
        del self._frames[key]
        return b"".join(frame.pieces[i] for i in range(count))


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ChunkError("its place is no number")
    return value


def _decoded(data: object) -> bytes:
    if not isinstance(data, str):
        raise ChunkError("it has no data")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ChunkError("its data is no base64") from error
