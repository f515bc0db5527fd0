"""`compass tail` of 100,000 frames against a loop that parses and writes the same lines."""

from __future__ import annotations

__all__ = ("printing_rows",)

import contextlib
import io
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from measure import Row, compare

from compass_agent.cli import main
from compass_agent.frames import FrameBuilder, SessionFrame
from compass_agent.log import open_log
from compass_agent.wire import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

_BATCH = 256
_EPOCH = "0" * 16
_LINE = 40
"""Pieces of a message, every tenth of which ends a line; behind each message stands a notice."""


def printing_rows(frames: int = 100_000) -> list[Row]:
    """Print a session from the log, read and all, as text and as JSON."""
    ready = _frames(frames)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:{Path(folder) / 'log.db'}"
        anyio.run(_record, url, ready)
        command = ["tail", "s", "--log", url, "--no-follow"]
        text, lines = _printed(command)[0], _printed([*command, "--json"])[0].splitlines()

        def plain_text() -> float:
            """Parse each frame, find its words, write what it adds to the text."""
            pieces, size = text, len(text) // frames
            out = io.StringIO()
            before = time.perf_counter()
            for place, data in enumerate(ready):
                event = SessionFrame.FromString(data).typed_event
                if event.WhichOneof("event") == "assistant_text":
                    assert event.assistant_text.text
                out.write(pieces[place * size : (place + 1) * size])
            return frames / (time.perf_counter() - before)

        def plain_json() -> float:
            out = io.StringIO()
            before = time.perf_counter()
            for line in lines:
                assert json.loads(line)
                out.write(line + "\n")
            return frames / (time.perf_counter() - before)

        return [
            compare("tail as text", plain_text, lambda: frames / _printed(command)[1], limit=0.25),
            compare(
                "tail as JSON",
                plain_json,
                lambda: frames / _printed([*command, "--json"])[1],
                limit=0.25,
            ),
        ]


def _printed(command: list[str]) -> tuple[str, float]:
    out = io.StringIO()
    before = time.perf_counter()
    with contextlib.redirect_stdout(out):
        assert main(command) == 0
    return out.getvalue(), time.perf_counter() - before


def _frames(count: int) -> list[bytes]:
    build = FrameBuilder(lambda: 1_764_000_000_000)
    made: list[SessionFrame] = []
    for number in range(count):
        message, piece = divmod(number, _LINE)
        if piece == _LINE - 1:
            made.append(build.notice(f"message {message} is complete"))
        else:
            end = "\n" if piece % 10 == 9 else " "
            made.append(build.assistant_text(f"piece {piece} of a message{end}", str(message)))
    return [frame.SerializeToString() for frame in made]


async def _record(url: str, ready: Sequence[bytes]) -> None:
    log = open_log(url)
    await log.open("s", _EPOCH)
    for first in range(0, len(ready), _BATCH):
        part = ready[first : first + _BATCH]
        trace = [(first + place, data) for place, data in enumerate(part, 1)]
        await log.append(Batch("s", _EPOCH, first // _BATCH + 1, [], trace, trace[-1][0]))
    await log.aclose()
