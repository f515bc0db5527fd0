"""The log on NATS JetStream, for asyncio and trio: its work is done by a thread of its own."""

from __future__ import annotations

__all__ = ("JetStreamLog",)

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from compass_agent.errors.codes import OperationError
from compass_agent.frames import check_session_id
from compass_agent.log.jetstream.engine import Engine
from compass_agent.log.jetstream.keeper import Keeper
from compass_agent.log.jetstream.pages import look_behind
from compass_agent.log.jetstream.records import Subjects
from compass_agent.log.jetstream.store import Store
from compass_agent.log.jetstream.thread import LoopThread
from compass_agent.log.jetstream.writer import Writer
from compass_agent.log.retention import Pruned, Retention
from compass_agent.log.rules import check_epoch
from compass_agent.log.stream import PageStream, wall_ms
from compass_agent.log.wake import Wake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compass_agent.frames import Cursor
    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place, View
    from compass_agent.wire import Answer, Batch, SessionMeta

_TIDY_S = 10.0


class JetStreamLog:
    """Implements `AppendLog` and `ReadLog`; any number of processes may share the stream.

    Making one asks for nothing yet: the connection is made when it is first needed, and anew
    whenever it breaks.

    Args:
        servers: The URLs of the servers, `nats://HOST:PORT`.
        stream: The stream's name; its subjects begin with it.
        retention: What is kept while this log object appends; None: what `Retention()` says.
        options: More for the client's `connect`, such as credentials.
        now_ms: Gives milliseconds since 1970-01-01 UTC.
        ahead_s: How long to wait for a watermark that is below a reader's cursor, in seconds.
        one_loop: The first call comes from the asyncio loop on which the log is to work, without a
            thread of its own; that loop runs until the log was closed. On trio it has no effect.
    """

    def __init__(
        self,
        servers: list[str],
        stream: str = "compass",
        *,
        retention: Retention | None = None,
        options: dict[str, Any] | None = None,
        now_ms: Callable[[], int] | None = None,
        ahead_s: float = 2.0,
        one_loop: bool = False,
    ) -> None:
        self.wake = Wake()
        self.now_ms = now_ms or wall_ms
        self.ahead_s = ahead_s
        self.retention = retention or Retention()
        self._engine = Engine(servers, stream, self._lost, options)
        self._store = Store(self._engine, Subjects(stream), self.wake, self.now_ms)
        self._writer = Writer(self._store)
        self._keeper = Keeper(self._store, self._writer, self.retention)
        self._thread = LoopThread(self._tidy, one_loop=one_loop)

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As in `AppendLog`."""
        check_session_id(session)
        check_epoch(epoch)
        await self._thread.run(lambda: self._writer.open(session, epoch, meta, recovered=recovered))

    async def append(self, batch: Batch) -> Answer:
        """As in `AppendLog`."""
        answer = await self._thread.run(lambda: self._writer.append(batch))
        if self._keeper.appended(batch):
            self._thread.spawn(lambda: self._keeper.tend(batch.session))
        return answer

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """As in `AppendLog`."""
        known = [*epochs]
        until = self.now_ms() + round(seconds * 1000)
        await self._thread.run(lambda: self._writer.renew(known, until))

    def read(
        self,
        session: str,
        after: Cursor | None = None,
        *,
        follow: bool = True,
        page_frames: int = 4096,
    ) -> PageStream:
        """As in `ReadLog`."""
        return PageStream(self, session, after, follow=follow, page_frames=page_frames)

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        """As in `Source`."""
        store = self._store
        return await self._thread.run(
            lambda: look_behind(store, store.session(session), place, page_frames)
        )

    async def ask(self) -> None:
        """As in `Source`: the engine tells by itself."""

    async def check(self) -> None:
        """Ask for the stream.

        Raises:
            EngineError: It is not there, or cannot be reached; `reason` says why.
        """
        await self._thread.run(self._engine.bytes)

    async def sessions(self) -> list[SessionSummary]:
        """As in `ReadLog`."""
        return await self._thread.run(self._keeper.sessions)

    async def delete(self, session: str) -> None:
        """As in `ReadLog`."""
        await self._thread.run(lambda: self._keeper.delete(session))

    async def prune(self, retention: Retention | None = None, *, dry_run: bool = False) -> Pruned:
        """As in `KeepLog`."""
        return await self._thread.run(lambda: self._keeper.prune(retention, dry_run=dry_run))

    async def close_below(self, session: str, epoch: str) -> None:
        """As in `ReadLog`."""
        await self._thread.run(lambda: self._writer.close_below(session, epoch))

    async def aclose(self) -> None:
        """As in `ReadLog`. What is asked of the log later is `unavailable`."""
        with anyio.CancelScope(shield=True):
            await self._thread.stop(self._engine.aclose)
        self.wake.fire()

    async def _tidy(self) -> None:
        while True:
            await anyio.sleep(_TIDY_S)
            with suppress(OperationError):
                await self._store.tidy()

    def _lost(self) -> None:
        self._store.lost()
