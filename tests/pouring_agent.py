"""An agent in a process of its own that publishes as much as it is told, and times each call.

It takes lines on its standard input: `open SESSION`, `pour COUNT BYTES PER_SECOND`, `close`; after
each it prints one line of JSON: for `pour`, how many microseconds the calls took.
"""

from __future__ import annotations

__all__ = ("PouringAgent", "stamp_of")

import json
import selectors
import subprocess
import sys
import time
from array import array
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from compass_agent import FrameSink, open_session
from compass_agent.runtime.parts import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from compass_agent.frames import SessionFrame

_STAMP = 20
# Frames that are told at once, so that waiting in between is not what is measured.
_BURST_S = 0.005


class PouringAgent:
    """The process; use it as a context manager."""

    def __init__(self, log: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, log],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:
            self.process.kill()

    def do(self, *words: object) -> Any:
        """Have one line done; return what it prints."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(*words, file=self.process.stdin)
        return json.loads(self.process.stdout.readline())


def stamp_of(text: str) -> float:
    """The moment, by the machine's monotonic clock, at which this text was told."""
    return int(text[:_STAMP]) / 1e9


def _text(size: int) -> Iterator[str]:
    padding = "x" * (size - _STAMP)
    while True:
        yield f"{time.monotonic_ns():0{_STAMP}d}{padding}"


class _TimedSink(FrameSink):
    """Notes the nanoseconds that each `emit` takes."""

    spent = array("Q")

    def emit(self, frame: SessionFrame) -> None:
        before = time.perf_counter_ns()
        super().emit(frame)
        self.spent.append(time.perf_counter_ns() - before)


def _pour(feed: Any, count: int, size: int, per_second: int) -> array[int]:
    """Feed so many deltas at this rate; return the nanoseconds that each `emit` took."""
    _TimedSink.spent = array("Q")
    fed = 0
    texts = _text(size)
    begin = time.monotonic()
    with selectors.DefaultSelector() as nothing:
        while fed < count:
            due = min(count, int((time.monotonic() - begin) * per_second) + 1)
            for _ in range(due - fed):
                step = {"type": "text_delta", "delta": next(texts)}
                feed({"type": "message_update", "assistantMessageEvent": step})
            fed = due
            nothing.select(_BURST_S)
    return _TimedSink.spent


def _summary(spent: array[int]) -> dict[str, float]:
    """The microseconds that half of the calls took at most, 999 of 1,000, and all."""
    ordered = array("Q", sorted(spent))
    places = {"p50": len(ordered) // 2, "p999": len(ordered) * 999 // 1000, "most": -1}
    return {name: ordered[place] / 1e3 for name, place in places.items()}


def _serve(log: str) -> None:
    with ExitStack() as sessions:
        session: Any = None
        for line in sys.stdin:
            command, *words = line.split()
            told: Any = True
            if command == "open":
                session = sessions.enter_context(open_session(*words, log=log, close_timeout=60.0))
            elif command == "pour":
                told = _summary(_pour(session.feed, *map(int, words)))
            else:
                sessions.close()
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    PARTS.sink = _TimedSink
    _serve(sys.argv[1])
