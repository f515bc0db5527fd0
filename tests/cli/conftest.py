"""A session log on disk for the tests of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.frames import new_epoch
from compass_agent.log import open_log
from compass_agent.wire import Batch, EndMark, SessionMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from compass_agent.frames import SessionFrame


@pytest.fixture
def log_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty log, which the command finds by itself."""
    url = f"sqlite:{tmp_path / 'log.db'}"
    monkeypatch.setenv("COMPASS_LOG", url)
    return url


@pytest.fixture
def record(log_url: str) -> Callable[[str, Sequence[SessionFrame], int | None], str]:
    """Returns `record(session, frames, end)`, which writes a session and returns its epoch.

    `end` is the state in which the epoch ends; None: it goes on.
    """

    async def write(session: str, frames: Sequence[SessionFrame], end: int | None) -> str:
        log, epoch = open_log(log_url), new_epoch()
        try:
            await log.open(session, epoch, SessionMeta(f"title of {session}", "pi", "1.0"))
            batch, last = Batch(session, epoch, 1, through=len(frames)), 0
            for seq, frame in enumerate(frames, 1):
                priority = frame.state or frame.typed_event.HasField("session_error")
                lane = batch.priority if priority else batch.trace
                lane.append((seq, frame.SerializeToString()))
                last = seq if priority else last
            answer = await log.append(batch)
            assert answer.code is None
            if end is not None:
                mark = EndMark(end, "closed", len(frames), last)
                answer = await log.append(Batch(session, epoch, 2, through=len(frames), end=mark))
                assert answer.code is None
        finally:
            await log.aclose()
        return epoch

    return lambda session, frames, end: anyio.run(write, session, frames, end)
