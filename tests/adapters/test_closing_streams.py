"""Closing an SDK's stream never hides how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Any

import pytest

from compass_agent import open_session
from compass_agent.adapters import openai, openai_agents
from compass_agent.adapters.sources import items_of
from compass_agent.testing import capture_frames

GOOD = {"choices": [{"index": 0, "delta": {"content": "Good"}, "finish_reason": "stop"}]}
BROKE = ConnectionResetError("the source broke")
CLOSED = RuntimeError("closing broke")


class Source:
    """A stream with one item; it may raise after it."""

    def __init__(self, error: BaseException | None, items: Sequence[Any] = (GOOD,)) -> None:
        self._items = list(items)
        self._error = error
        self.closed: int = 0

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._items:
            return self._items.pop()
        raise self._error or StopAsyncIteration


class ClosedAtOnce(Source):
    def close(self) -> None:
        self.closed += 1


class CloseBreaks(Source):
    def close(self) -> None:
        self.closed += 1
        raise CLOSED


class CloseBreaksLater(Source):
    async def aclose(self) -> None:
        self.closed += 1
        raise CLOSED


class LeavingBreaks(Source):
    async def __aenter__(self) -> Source:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.closed += 1
        raise CLOSED


class LeavingHides(Source):
    async def __aenter__(self) -> Source:
        return self

    async def __aexit__(self, *_: object) -> bool:
        self.closed += 1
        return True


class CloseStopsItsReader(Source):
    """Its closing raises the cancellation of a task of its own."""

    async def aclose(self) -> None:
        self.closed += 1
        reader = asyncio.ensure_future(asyncio.Event().wait())
        reader.cancel()
        await reader


class LeavingStopsItsReader(CloseStopsItsReader):
    async def __aenter__(self) -> Source:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("error", [None, BROKE])
@pytest.mark.parametrize("make", [CloseStopsItsReader, LeavingStopsItsReader])
async def test_a_stream_that_stops_its_own_reader_was_not_stopped(
    make: Callable[[BaseException | None], Source], error: BaseException | None
) -> None:
    source, caught = make(error), None
    try:
        async for _ in items_of(source):
            pass
    except BaseException as raised:  # noqa: BLE001 - whatever it is, it is compared
        caught = raised
    assert (caught, source.closed) == (error, 1)


@pytest.mark.parametrize("error", [None, BROKE])
@pytest.mark.parametrize(
    "make", [ClosedAtOnce, CloseBreaks, CloseBreaksLater, LeavingBreaks, LeavingHides]
)
async def test_closing_a_stream_changes_nothing_of_how_it_ended(
    make: Callable[[BaseException | None], Source], error: BaseException | None
) -> None:
    source, raised = make(error), None
    with capture_frames() as frames:
        try:
            async with open_session("s1") as session:
                await session.drive(openai.events(source))
        except BaseException as caught:  # noqa: BLE001 - it is looked at
            raised = caught
    assert raised is error
    assert source.closed == 1
    assert [told.message for told in frames.errors()] == ([str(error)] if error else [])
    assert frames.states()[-1] == ("ERRORED" if error else "STOPPED")


async def test_a_run_of_openai_agents_that_cannot_be_closed_raises_its_own_failure() -> None:
    class Run(CloseBreaksLater):
        def stream_events(self) -> Any:
            return self

        def cancel(self) -> None: ...

    with pytest.raises(ConnectionResetError) as raised:
        async for _ in openai_agents.events(Run(BROKE)):
            pass
    assert raised.value is BROKE


async def test_events_that_cannot_be_closed_end_as_they_did() -> None:
    for error in (None, BROKE):
        given, raised = CloseBreaksLater(error, items=[]), None
        async with open_session("s1") as session:
            try:
                await session.drive(given)
            except ConnectionResetError as caught:
                raised = caught
        assert raised is error


async def test_a_stream_that_is_left_in_the_middle_is_left() -> None:
    source = LeavingHides(None)
    items = items_of(source)
    await anext(items)
    await items.aclose()
    assert source.closed == 1
