"""Sessions in one stream: looked up, followed, written to. On the engine's event loop alone."""

from __future__ import annotations

__all__ = ("Store",)

import logging
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream.blocks import Blocks
from compass_agent.log.jetstream.cache import CachedSession, Snapshot
from compass_agent.log.jetstream.faults import DamagedError, EngineError, FullError
from compass_agent.log.jetstream.heads import SessionState
from compass_agent.log.jetstream.lookups import (
    decoded,
    joined,
    snapshot_of,
    with_lost_since,
    without_last,
)
from compass_agent.log.jetstream.records import (
    Message,
    Subjects,
    decode,
    encode_record,
    encode_sheet,
    follow,
)
from compass_agent.log.jetstream.replicas import of_replicas

if TYPE_CHECKING:
    from collections.abc import Callable

    from nats.aio.msg import Msg

    from compass_agent.log.jetstream.engine import Engine
    from compass_agent.log.jetstream.heads import KeptEpoch
    from compass_agent.log.jetstream.waiting import Stored
    from compass_agent.log.rules import Frames
    from compass_agent.log.wake import Wake

_SESSIONS = 4096
_LAG_TRIES, _LAG_S = 20, 0.05
_SURE = 3
"""Who asks the leader so often, and is told the same, need not ask again."""

_logger = logging.getLogger("compass_agent.log")


class Store:
    """What this process knows of the sessions, and how it gets to know more.

    Args:
        engine: The connection.
        subjects: The names of the subjects.
        wake: The readers to be told.
        now_ms: Gives milliseconds since 1970-01-01 UTC.

    Attributes:
        blocks: Their frames.
    """

    def __init__(
        self, engine: Engine, subjects: Subjects, wake: Wake, now_ms: Callable[[], int]
    ) -> None:
        self.engine = engine
        self.subjects = subjects
        self.wake = wake
        self.now_ms = now_ms
        self._sessions: OrderedDict[str, CachedSession] = OrderedDict()
        self._told: set[str] = set()
        self.blocks = Blocks(engine, subjects)

    def session(self, session: str) -> CachedSession:
        """Return what is known of a session; nothing, if it was not asked for before."""
        found = self._sessions.get(session)
        if found is None:
            found = self._sessions[session] = CachedSession(session)
            self._evict()
        self._sessions.move_to_end(session)
        return found

    def lost(self) -> None:
        """Live messages may be missing: look everything up again that somebody reads."""
        for cached in self._sessions.values():
            cached.forget()
        self.wake.fire()

    async def listen(self, cached: CachedSession) -> None:
        """Have live messages of the session come in from now on."""
        if cached.heard is not None:
            return
        async with cached.lock:
            if cached.heard is None:
                subject = self.subjects.live(cached.session)

                async def heard(message: Msg) -> None:
                    self._hear(cached, message)

                cached.heard = await self.engine.subscribe(subject, heard)
                cached.forget()

    async def tidy(self) -> None:
        """Stop listening where nobody reads, and look again where somebody does.

        A live message that was lost, the last one of a session, is found by this.
        """
        watched = self.wake.watched()
        for cached in [*self._sessions.values()]:
            if cached.heard is None:
                continue
            if cached.session not in watched:
                heard, cached.heard = cached.heard, None
                await heard.unsubscribe()
                cached.drop_frames()
                continue
            try:
                news = await self.refresh(cached)
            except DamagedError:
                news = True  # Its readers look themselves, and are told.
            if news:
                self.wake.fire(cached.session)

    async def snapshot(self, cached: CachedSession) -> Snapshot:
        """Return the session as it is known, or look it up."""
        if cached.known is not None and cached.heard is not None:
            return cached.known
        async with cached.lock:
            return await self.look_up(cached)

    async def refresh(self, cached: CachedSession) -> bool:
        """Look the session up; tell whether that brought news."""
        async with cached.lock:
            before = cached.known
            return await self.look_up(cached) != before

    async def look_up(self, cached: CachedSession) -> Snapshot:
        """Return the session as the stream's leader knows it; the lock is held."""
        found = await self._read_state(cached.session)
        seen, state = cached.seen, found.state
        if seen and seen.state and state and found.pos < seen.pos and not self.engine.may_lag:
            # The engine has come back without what it had stored.
            found = replace(found, state=with_lost_since(state, seen.state))
        cached.learn(found, time.monotonic())
        return cached.known or found

    async def newest(self, sessions: list[str]) -> dict[str, Snapshot | None]:
        """Return those of the sessions of which there is anything; None: it cannot be read.

        A replica that lags may answer, so what comes of it is to be fenced.
        """
        found = await self.engine.lasts([self.subjects.session(one) for one in sessions])
        if found is None and len(sessions) > 1:
            half = len(sessions) // 2
            return await self.newest(sessions[:half]) | await self.newest(sessions[half:])
        sheets: dict[str, Stored] = {}
        last: dict[str, Stored] = {}
        for one in found or ():
            session = self.subjects.session_of(one.subject)
            if one.subject == self.subjects.sheet(session):
                sheets[session] = one
            last[session] = one
        states: dict[str, Snapshot | None] = {}
        for session in sessions:
            try:
                known = joined(session, sheets.get(session), last.get(session))
                if known is None:
                    # Something was written or removed while the engine put the answer together; or
                    # the engine lost what was written last.
                    known = await self._read_state(session)
            except DamagedError as error:
                self.tell(error)
                states[session] = None
                continue
            if known.pos:
                states[session] = known
        return states

    def tell(self, error: DamagedError) -> None:
        """Tell those who run this that a session cannot be read, once."""
        if error.reason not in self._told:
            self._told.add(error.reason)
            _logger.warning("%s", error.reason)

    async def _read_state(self, session: str) -> Snapshot:
        before: list[tuple[int, str]] = []
        while True:
            last = await self.engine.last(self.subjects.session(session))
            known = await self._behind_last(session, last)
            if isinstance(known, Snapshot):
                return known
            before.append((last.pos if last else 0, known))
            if before.count(before[-1]) >= _SURE:
                raise DamagedError(session, known)
            if len(before) >= _LAG_TRIES:
                raise EngineError(ErrorCode.UNAVAILABLE, f"the session {session} is not at rest")
            await anyio.sleep(_LAG_S)

    async def _behind_last(self, session: str, last: Stored | None) -> Snapshot | str:
        """Return what is known behind the last message; or why nothing is, if it stays like that.

        What is written or deleted between two questions looks like that as well.
        """
        if last is None:
            return await self._behind_loss(session)
        message = decoded(session, last)
        if message.epoch is None:
            return snapshot_of(message, message.state, message)
        sheet = await self.engine.last(self.subjects.sheet(session))
        if sheet is None:
            elsewhere = await self._elsewhere(session, last.pos, harmed=True)
            return elsewhere or "there are frames, but of their epochs nothing is known"
        older = decoded(session, sheet)
        if sheet.pos > last.pos:
            return snapshot_of(older, older.state, older)
        if older.state.find(message.epoch) is None:
            return "there are frames of an epoch of which nothing is known"
        return snapshot_of(message, follow(older.state, message), older)

    async def _behind_loss(self, session: str) -> Snapshot | str:
        """Return what is known without the last message; or why nothing is.

        Of what was lost nothing is known but that it stood behind all that is there.
        """
        everything = self.subjects.session(session)
        there = await self.engine.counted(everything)
        if there == {}:
            return Snapshot(0, None)
        sheet = await self.engine.last(self.subjects.sheet(session))
        if sheet is None:
            elsewhere = await self._elsewhere(session, 1, harmed=True) if there else None
            lost = "the engine lost what was written last"
            return elsewhere or (lost if there else Snapshot(0, None))
        if there is None:
            return "the engine lost what was written last, and this user may not look further"
        rest = await self.blocks.of_leader(everything, sheet.pos)
        moved = not rest or rest[0].pos != sheet.pos
        if moved or await self.engine.last(everything) is not None:
            return "others write to it"
        elsewhere = await self._elsewhere(session, rest[-1].pos + 1, harmed=False)
        if elsewhere is not None:
            return elsewhere
        lost = [subject for subject in there if await self.engine.last(subject) is None]
        messages = [decoded(session, one) for one in rest]
        known = without_last(messages, {subject.split(".")[-3] for subject in lost})
        if known is None:
            return "there are frames of an epoch of which nothing is known"
        return replace(snapshot_of(messages[-1], known, messages[0]), newest=0)

    async def _elsewhere(self, session: str, behind: int, *, harmed: bool) -> Snapshot | None:
        """Return what is known by other servers than the leader, up to that place at least."""
        messages = await of_replicas(self.engine, self.subjects, session, behind)
        known = without_last(messages, set()) if messages else None
        if known is None:
            return None
        found = snapshot_of(messages[-1], known, messages[0])
        last = await self.engine.last(self.subjects.session(session))
        if last is not None and last.pos != found.pos:
            return None  # Others write to it.
        newest = None if last is not None else 0
        return replace(found, newest=newest, harmed=found.harmed or harmed)

    async def put_sheet(self, cached: CachedSession, state: SessionState) -> None:
        """Store what is known of all epochs; the lock is held.

        Raises:
            OperationError: As `Engine.publish`.
        """
        prev = cached.known.pos if cached.known else 0
        harmed = cached.known is not None and cached.known.harmed
        payload = encode_sheet(prev, self.now_ms(), state, harmed=harmed)
        subject = self.subjects.sheet(cached.session)
        pos = await self._put(cached, subject, payload, prev, harmed=harmed)
        self._passes(cached, Message(pos, prev, 0, replace(state, loose=None), harmed=harmed))

    async def put_record(
        self, cached: CachedSession, state: SessionState, kept: KeptEpoch, frames: Frames, lane: str
    ) -> None:
        """Store frames, and what is known of their epoch behind them; the lock is held.

        Raises:
            OperationError: As `Engine.publish`.
        """
        if state.loose not in (None, kept.head.epoch):
            before = cached.known.state if cached.known else None
            await self.put_sheet(cached, before or state)
        prev = cached.known.pos if cached.known else 0
        payload = encode_record(prev, self.now_ms(), state, kept, frames, lane)
        subject = self.subjects.record(
            cached.session,
            kept.head.epoch,
            priority=lane != "trace",
            block=self.subjects.block_of(frames[0][0]),
        )
        pos = await self._put(cached, subject, payload, prev)
        if cached.heard is not None:
            self._passes(cached, decode(pos, payload))
            return
        # Nobody reads here: the frames need not be kept, nor taken apart.
        behind = lane == "behind"
        epoch = kept.head.epoch
        arrivals = pos if behind else state.arrivals
        after = SessionState((kept,), arrivals, state.size, loose=epoch)
        seqs = (frames[0][0],)
        self._passes(cached, Message(pos, prev, 0, after, epoch, lane != "trace", behind, seqs))

    async def _put(
        self,
        cached: CachedSession,
        subject: str,
        payload: bytes,
        prev: int,
        *,
        harmed: bool = False,
    ) -> int:
        at = cached.known.fence if cached.known else prev
        fence = (self.subjects.session(cached.session), at)
        try:
            if harmed:
                return await self.engine.publish(subject, payload, fence, harmed=True)
            return await self.engine.publish(subject, payload, fence)
        except FullError:
            raise
        except OperationError:
            # Somebody else wrote, or it may be stored, now or later: only looking tells.
            cached.forget()
            raise

    def _passes(self, cached: CachedSession, message: Message) -> None:
        if cached.passes(message):
            self.wake.fire(cached.session)

    def _hear(self, cached: CachedSession, message: Msg) -> None:
        headers = message.headers or {}
        try:
            passing = decode(int(headers["Nats-Sequence"]), message.data)
        except OperationError:
            cached.forget()  # Who looks it up is told.
            self.wake.fire(cached.session)
        else:
            self._passes(cached, passing)

    def _evict(self) -> None:
        if len(self._sessions) <= _SESSIONS:
            return
        for session, cached in self._sessions.items():
            if cached.heard is None and not cached.lock.locked():
                del self._sessions[session]
                return
