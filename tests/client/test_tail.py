"""A tail in plain Python reads a hub as its log reads, and goes on over any interruption."""

from __future__ import annotations

import gc
import math
import pickle
from typing import TYPE_CHECKING, NoReturn

import anyio
import pytest

import compass_subscriber.v1 as subscriber
from compass_agent.client import (
    Frame,
    Tail,
    TailError,
    tail,
)
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor, InvalidCursorError
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.view import fold
from compass_agent.wire import FrameItem
from tail_reading import rest, stored
from writing_logs import E1, E2, S, aborted, batch, end, failed, state, told

if TYPE_CHECKING:
    from pathlib import Path

    from compass_agent.wire import Item

TWO_EPOCHS = (
    batch(1, priority={1: failed("no"), 3: state(5)}, trace=[2, 6], through=6),
    end(2, 8, 3),
    batch(1, priority={2: aborted("stop")}, trace=[1, 4], through=5, epoch=E2),
)


def bare(items: list[Item]) -> list[Item]:
    """Without the lane, which a hub does not tell."""
    return [one._replace(priority=False) if isinstance(one, FrameItem) else one for one in items]


@pytest.mark.requirement("G-CLIENT-3")
@pytest.mark.parametrize("after", [None, Cursor(E1, 2), Cursor(E2, 0), Cursor("f" * 16, 4)])
async def test_a_tail_yields_what_the_log_does(place: Path, after: Cursor | None) -> None:
    log = MemoryLog()
    await stored(log, *TWO_EPOCHS)
    near = [item async for page in log.read(S, after, follow=False) for item in page.items]
    async with running_hub(log, unix=place):
        reading = tail(f"unix:{place}", S, after, follow=False)
        items = await rest(reading)
    assert items == bare(near)
    assert fold(items) == fold(near)
    assert reading.cursor == Cursor(E2, 5)


@pytest.mark.requirement("G-CLIENT-3")
async def test_a_frame_has_its_content_as_the_subscriber_lane_has_it(place: Path) -> None:
    log = MemoryLog()
    await stored(log, *TWO_EPOCHS)
    async with running_hub(log, unix=place), tail(f"unix:{place}", S) as reading:
        failure, words, errored = [await anext(reading) for _ in range(3)]
        assert str(reading.cursor) == f"{E1}-3"
    assert isinstance(failure, Frame)
    assert isinstance(failure.content, subscriber.SessionError)
    assert (failure.content.message, failure.content.status) == ("no", None)
    assert (failure.kind, failure.state) == ("session_error", 0)
    assert (failure.seq, failure.epoch, failure.cursor) == (1, E1, Cursor(E1, 1))
    assert failure.event is not None
    assert failure.event.session_error == failure.content
    assert isinstance(words, Frame)
    assert words.content == subscriber.SessionAssistantText(text="t2", message_id="m1")
    assert isinstance(errored, Frame)
    assert (errored.kind, errored.content, errored.event) == (None, None, None)
    assert errored.state is subscriber.AgentSessionState.ERRORED


async def test_a_frame_that_is_late_moves_no_cursor() -> None:
    late = Frame(E1, 3, state(3), late=True)
    assert late.cursor is None


def test_the_error_of_a_tail_survives_a_pickle() -> None:
    error = TailError("unavailable", retry_after_s=2.0, cursor=Cursor(E1, 3))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (copy.code, copy.retry_after_s, copy.cursor) == (error.code, 2.0, Cursor(E1, 3))


@pytest.mark.requirement("G-CLIENT-1")
async def test_what_a_hub_refuses_is_told_by_its_code(place: Path) -> None:
    log = MemoryLog(ahead_s=0.1)
    await stored(log, batch(1, trace=[1], through=1))
    async with running_hub(log, unix=place):
        for reading, code in (
            (tail(f"unix:{place}", "nobody"), ErrorCode.NOT_FOUND),
            (tail(f"unix:{place}", S, kinds=["nonsense"]), ErrorCode.UNSUPPORTED_INPUT),
            (tail(f"unix:{place}", S, f"{E1}-7"), ErrorCode.CONFLICT),
        ):
            with anyio.fail_after(20), pytest.raises(TailError) as caught:
                await anext(reading)
            assert caught.value.code is code


class Refusing(MemoryLog):
    """A log that fails each reading in the same way."""

    code = ErrorCode.INTERNAL

    def read(self, *_: object, **__: object) -> NoReturn:
        raise OperationError(self.code)


@pytest.mark.requirement("G-CLIENT-1", "G-HUB-7")
@pytest.mark.parametrize("code", ErrorCode)
async def test_each_code_crosses_as_it_is(place: Path, code: ErrorCode) -> None:
    log = Refusing()
    log.code = code
    async with running_hub(log, unix=place):
        with anyio.fail_after(20), pytest.raises(TailError) as caught:
            await anext(tail(f"unix:{place}", S, patience_s=0.0))
    assert caught.value.code is code


async def test_one_kind_may_be_given_as_a_text(place: Path) -> None:
    log = MemoryLog()
    await stored(log, batch(1, priority={2: failed("one")}, trace=[1], through=2), end(2, 2, 2))
    async with running_hub(log, unix=place):
        items = await rest(tail(f"unix:{place}", S, kinds="session_error"))
    assert told(items) == ["t2", "end 2 4"]


async def test_a_hub_by_tcp_takes_the_token_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1), end(2, 1))
    file = tmp_path / "token"
    file.write_text("s3cret-and-longer\n", "ascii")
    async with running_hub(log, listen="127.0.0.1:0", token="s3cret-and-longer") as hub:  # noqa: S106 - a test's
        url = f"grpc://{hub.targets[0]}"
        with anyio.fail_after(20), pytest.raises(TailError) as caught:
            await anext(tail(url, S))
        assert caught.value.code is ErrorCode.PERMISSION_DENIED
        given = tail(url, S, token="s3cret-and-longer")  # noqa: S106 - as above
        assert told(await rest(given)) == ["t1", "end 1 4"]
        monkeypatch.setenv("COMPASS_TOKEN_FILE", str(file))
        assert told(await rest(tail(url, S))) == ["t1", "end 1 4"]
        assert "s3cret" not in repr(vars(tail(url, S)))


@pytest.mark.parametrize(
    "url", ["memory:", "sqlite:x.db", "http://h:1", "grpc://h", "grpc://h:65536"]
)
def test_what_is_no_hub_is_refused_at_once(url: str) -> None:
    with pytest.raises(OperationError) as caught:
        tail(url, S)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


def test_what_names_no_session_and_no_place_is_refused_at_once() -> None:
    with pytest.raises(OperationError):
        tail("unix:", "a/b")
    with pytest.raises(OperationError):
        tail("grpc://h:1", S, token="a\nb")  # noqa: S106 - no secret
    with pytest.raises(InvalidCursorError):
        tail("unix:", S, "7")


async def test_a_tail_that_is_let_go_of_leaves_no_reader_at_the_hub(place: Path) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1))
    async with running_hub(log, unix=place) as hub:
        async for item in tail(f"unix:{place}", S):
            assert isinstance(item, Frame)
            break
        gc.collect()
        with anyio.fail_after(10):
            while hub.subscribers.count:
                await anyio.lowlevel.checkpoint()


def test_for_ever_is_a_patience() -> None:
    assert isinstance(tail("unix:", S, patience_s=math.inf), Tail)
