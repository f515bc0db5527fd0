"""A session's thread does not log the ends of calls that a closed event loop left behind."""

from __future__ import annotations

import asyncio
import threading

import grpc
import pytest
from grpc import aio

from compass_agent.runtime.late_calls import expect_late_calls
from hubs import short_folder

METHOD = "/test.Late/Answer"


class Held(grpc.GenericRpcHandler):
    """Answers "held" when it is let go, and anything else at once."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.go = asyncio.Event()

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        del handler_call_details
        return grpc.unary_unary_rpc_method_handler(self.answer)

    async def answer(self, request: bytes, _: object) -> bytes:
        if request == b"held":
            self.came.set()
            await self.go.wait()
        return request


async def left_behind(target: str, came: threading.Event) -> None:
    """Have a call under way on a loop that is closed before the call ends."""
    loop = asyncio.new_event_loop()
    channels: list[aio.Channel] = []

    async def begin() -> None:
        channels.append(aio.insecure_channel(target))
        ask: aio.UnaryUnaryMultiCallable[bytes, bytes] = channels[0].unary_unary(METHOD)
        call = ask(b"held")
        assert await asyncio.to_thread(came.wait, 5)
        assert not call.done()

    await asyncio.to_thread(loop.run_until_complete, begin())
    loop.close()


@pytest.mark.parametrize("expected", [True, False])
def test_the_end_of_a_call_whose_loop_is_closed_is_not_logged(
    caplog: pytest.LogCaptureFixture, expected: bool
) -> None:
    async def main() -> None:
        if expected:
            expect_late_calls()
        held, server = Held(), aio.server()
        server.add_generic_rpc_handlers([held])
        target = f"unix:{place}"
        server.add_insecure_port(target)
        await server.start()
        await left_behind(target, held.came)
        held.go.set()
        async with aio.insecure_channel(target) as channel:
            # The late one comes before the last of these is answered.
            for _ in range(50):
                assert await channel.unary_unary(METHOD)(b"now") == b"now"
        await server.stop(None)

    with short_folder() as folder:
        place = folder / "s"
        asyncio.run(main())
    logged = [str(record.exc_info and record.exc_info[1]) for record in caplog.records]
    # Without it gRPC has the loop log it, or there would be nothing to pass over.
    assert logged == ([] if expected else ["Event loop is closed"])


def test_any_other_failure_of_a_callback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("Event loop is closed")

    async def main() -> None:
        expect_late_calls()
        passed = asyncio.Event()
        asyncio.get_running_loop().call_soon(fail)
        asyncio.get_running_loop().call_soon(passed.set)
        await passed.wait()

    asyncio.run(main())
    assert [record.name for record in caplog.records] == ["asyncio"]
