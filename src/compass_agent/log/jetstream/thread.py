"""A thread with an asyncio event loop, and calls to it from any other loop, trio's too."""

from __future__ import annotations

__all__ = ("LoopThread",)

import asyncio
import threading
from contextlib import suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio
from anyio.from_thread import start_blocking_portal

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.wake import call_soon

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractContextManager

    from anyio.from_thread import BlockingPortal

_T = TypeVar("_T")


class _Call(Generic[_T]):
    """What a call gave, once it is over."""

    __slots__ = ("done", "error", "result", "soon")

    def __init__(self, soon: Callable[[Callable[[], None]], object]) -> None:
        self.done = anyio.Event()
        self.soon = soon
        self.result: list[_T] = []
        self.error: BaseException | None = None

    async def make(self, work: Callable[[], Coroutine[object, object, _T]]) -> None:
        try:
            self.result.append(await work())
        except asyncio.CancelledError:
            self.error = OperationError(ErrorCode.UNAVAILABLE)
            raise
        except BaseException as error:  # noqa: BLE001 - it is raised where the call was made
            self.error = error
        finally:
            with suppress(RuntimeError):  # The caller's loop has closed under it.
                self.soon(self.done.set)


class LoopThread:
    """Starts with the first call. A hop there and back is made by hand: each append makes one.

    Args:
        always: Runs on the loop for as long as the thread does.
        one_loop: There is no thread, if the first call comes from asyncio: its loop is the one, and
            runs until `stop` was called. A hop costs a quarter of what an append does.
    """

    def __init__(
        self, always: Callable[[], Coroutine[object, object, None]], *, one_loop: bool = False
    ) -> None:
        self._always = always
        self._one_loop = one_loop
        self._lock = threading.Lock()
        self._running: AbstractContextManager[BlockingPortal] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._context = Context()

    @property
    def started(self) -> bool:
        """Whether there was a call yet."""
        return self._loop is not None

    async def run(self, work: Callable[[], Coroutine[object, object, _T]]) -> _T:
        """Have `work` done on the loop. A caller that is cancelled leaves it to go on.

        Raises:
            OperationError: `unavailable`: the thread was stopped.
        """
        loop = self._started()
        if self._one_loop and _running() is loop:
            return await self._here(loop, work)
        call: _Call[_T] = _Call(call_soon())
        try:
            loop.call_soon_threadsafe(self._begin, call.make, work, context=self._context)
        except RuntimeError as error:
            raise OperationError(ErrorCode.UNAVAILABLE) from error
        await call.done.wait()
        if call.error is not None:
            raise call.error
        return call.result[0]

    async def _here(
        self, loop: asyncio.AbstractEventLoop, work: Callable[[], Coroutine[object, object, _T]]
    ) -> _T:
        """As `run`, on the loop that runs here: a task, since a caller may be cancelled."""
        done = loop.create_future()
        task = loop.create_task(work())
        self._tasks.add(task)

        def over(task: asyncio.Task[_T]) -> None:
            self._tasks.discard(task)
            if not task.cancelled():
                task.exception()  # Whoever waited for it may be gone.
            if not done.done():
                done.set_result(None)

        task.add_done_callback(over)
        await done
        if task.cancelled():
            raise OperationError(ErrorCode.UNAVAILABLE)
        return task.result()

    def spawn(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Have `work` done on the loop, with nobody waiting for it."""
        with suppress(RuntimeError):  # It was stopped.
            self._started().call_soon_threadsafe(self._begin, work, context=self._context)

    async def stop(self, last: Callable[[], Coroutine[object, object, None]]) -> None:
        """Run `last`, if there was a call before, and end the thread; calls that wait end, too."""
        if self.started and not self._closed:
            await self.run(last)
        with self._lock:
            self._closed = True
            loop, self._loop = self._loop, None
            running, self._running = self._running, None
        if loop is not None:
            with suppress(RuntimeError):  # It has closed.
                loop.call_soon_threadsafe(self._cancel)
        if running is not None:
            await anyio.to_thread.run_sync(running.__exit__, None, None, None)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise OperationError(ErrorCode.UNAVAILABLE)
            if self._loop is None:
                here = _running() if self._one_loop else None
                self._loop = here or self._start_thread()
                self._loop.call_soon_threadsafe(self._begin, self._always, context=self._context)
            return self._loop

    def _start_thread(self) -> asyncio.AbstractEventLoop:
        self._running = start_blocking_portal("asyncio")
        portal = self._running.__enter__()
        # Not the caller's: in that, anyio would take the caller's loop for the running one.
        self._context = portal.call(copy_context)
        return portal.call(asyncio.get_running_loop)

    def _begin(self, make: Callable[..., Coroutine[object, object, None]], *args: object) -> None:
        task = asyncio.get_running_loop().create_task(make(*args))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


def _running() -> asyncio.AbstractEventLoop | None:
    """Return asyncio's loop that runs here; None: there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
