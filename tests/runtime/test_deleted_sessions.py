"""A session that is deleted while its writer lives begins anew with what it tells next."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent import Session
from compass_agent.log import open_log
from compass_agent.runtime.journals import journal_folder
from compass_agent.wire import End, FrameItem, Gap, GapReason, decode_frame
from stored import read_items

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 20


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'log.db'}"


def until_answered(session: Session) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while (counted := session.statistics().priority).delivered < counted.emitted:
        assert time.monotonic() < give_up, counted
        threading.Event().wait(0.01)


def deleted(url: str) -> None:
    async def delete() -> None:
        log = open_log(url)
        await log.delete("s1")
        await log.aclose()

    anyio.run(delete)


def told(url: str) -> list[str]:
    out: list[str] = []
    for item in anyio.run(read_items, url, "s1"):
        match item:
            case FrameItem():
                event = decode_frame(item.data).typed_event
                out.append(event.session_injection.message_id or str(item.seq))
            case Gap():
                out.append(f"{GapReason(item.reason).name} {item.first_seq}-{item.last_seq}")
            case End():
                out.append("end")
            case _:
                out.append(type(item).__name__)
    return out


def test_what_is_told_after_a_deletion_is_seen_and_the_rest_is_told_as_lost(url: str) -> None:
    with Session("s1", log=url, close_timeout=PATIENCE_S) as session:
        session.inject("steer", "before", "@ada")
        until_answered(session)
        deleted(url)
        session.inject("steer", "after", "@ada")
        until_answered(session)
    assert told(url) == ["LOG_LOSS 1-2", "after", "4", "end"]
    assert list(journal_folder().iterdir()) == []


def test_a_writer_that_was_replaced_does_not_take_a_deleted_session_back(url: str) -> None:
    with Session("s1", log=url, close_timeout=PATIENCE_S) as older:
        until_answered(older)
        with Session("s1", log=url, close_timeout=PATIENCE_S) as newer:
            newer.inject("steer", "newer 1", "@ada")
            until_answered(newer)
            older.inject("steer", "older 1", "@ada")
            until_answered(older)
            deleted(url)
            newer.inject("steer", "newer 2", "@ada")
            until_answered(newer)
            older.inject("steer", "older 2", "@ada")
            until_answered(older)
            newer.notice("trace is taken")
            newer.inject("steer", "newer 3", "@ada")
            until_answered(newer)
        assert not newer.statistics().fenced
        assert newer.statistics().trace.lost == 0
    assert told(url)[:2] == ["LOG_LOSS 1-2", "older 2"]
    assert told(url)[-5:] == ["newer 2", "4", "newer 3", "6", "end"]
