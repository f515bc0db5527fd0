"""Frames as benches send them: text deltas of a usual length, encoded, some 200 bytes each."""

from __future__ import annotations

__all__ = ("encoded_frames",)

from compass_agent.frames import FrameBuilder

_WORDS = "a longer delta, such as a model sends when it is asked for more than a few words: " * 2


def encoded_frames(count: int) -> list[bytes]:
    """Return `count` encoded SessionFrames."""
    build = FrameBuilder(lambda: 1_764_000_000_000)
    return [build.assistant_text(_WORDS, "m1").SerializeToString() for _ in range(count)]
