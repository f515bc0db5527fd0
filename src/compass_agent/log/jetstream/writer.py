"""Writes to sessions, each message fenced by the place of the one before it."""

from __future__ import annotations

__all__ = ("Writer",)

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream.faults import ConflictError, FullError
from compass_agent.log.jetstream.heads import KeptEpoch, SessionState
from compass_agent.log.jetstream.losses import with_told_end
from compass_agent.log.jetstream.pages import within
from compass_agent.log.jetstream.steps import sealed_by, step
from compass_agent.log.jetstream.turns import Turns
from compass_agent.log.rules import bytes_of, close_head

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Sequence

    from compass_agent.log.jetstream.cache import CachedSession
    from compass_agent.log.jetstream.steps import Step
    from compass_agent.log.jetstream.store import Store
    from compass_agent.wire import Answer, Batch, SessionMeta

_AT_ONCE = 64


class Writer:
    """What changes sessions. On the engine's event loop alone."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.make_room: Callable[[CachedSession, int], Awaitable[bool]] = _no_room
        self.settle: Callable[[CachedSession], Awaitable[None]] = _nothing_owed
        self.owed: Container[str] = ()

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None, *, recovered: bool
    ) -> None:
        """As in `AppendLog`."""

        def opened(state: SessionState) -> SessionState | None:
            if state.index(epoch) is not None:
                return None
            now_ms = self._store.now_ms()
            epochs = sealed_by(state.epochs, epoch, meta, now_ms, recovered=recovered)
            return replace(state, epochs=epochs)

        await self.change(session, opened, make=True)

    async def append(self, batch: Batch) -> Answer:
        """As in `AppendLog`."""
        cached = self._store.session(batch.session)
        async with cached.lock:
            if batch.session in self.owed:
                await self.settle(cached)
            return await self._append(cached, batch)

    async def _append(self, cached: CachedSession, batch: Batch) -> Answer:
        begun = looked = False
        fresh: Batch | None = None
        turns = Turns()
        while True:
            looked = looked or cached.known is None
            state = await self._state(cached)
            kept = None if state is None else state.find(batch.epoch)
            if kept is not None and fresh is None:
                batch = fresh = await self._without_stored(cached, kept, batch)
            if kept is not None and kept.head.marks:
                kept = replace(kept, head=with_told_end(kept.head, batch))
            now = kept and step(kept, batch, self._store.now_ms(), begun=begun)
            if not looked and (now is None or now.kept is None):
                # Nothing to store, by what may be old news.
                looked, fresh = True, None
                await self._store.look_up(cached)
                continue
            if state is None or kept is None or now is None:
                raise OperationError(ErrorCode.NOT_FOUND)
            if now.kept is None:
                return _answered(now)
            if not await self._stored(cached, state, kept, now):
                looked, fresh = False, None
                await turns.lost()
                continue
            if now.answer is not None:
                return now.answer
            begun, turns = True, Turns()
            if not now.priority:
                batch = _without(batch, {seq for seq, _ in now.frames})

    async def _without_stored(self, cached: CachedSession, kept: KeptEpoch, batch: Batch) -> Batch:
        """Return the batch without trace that is stored already, of which the sender does not know.

        A lane that takes two records may have been stored in part when an answer was lost. What is
        stored is not late. A batch that was answered is answered likewise again.
        """
        head, trace = kept.head, batch.trace
        answered = bool(head.told) and batch.number <= head.told[-1].batch
        if answered or not trace or trace[0][0] > head.through:
            return batch
        last = min(trace[-1][0], head.through)
        there = await self._there(cached, kept, [seq for seq, _ in trace if seq <= last])
        return _without(batch, there)

    async def renew(self, epochs: Sequence[tuple[str, str]], until_ms: int) -> None:
        """Say until when the writers of these (session, epoch) live."""
        limit = anyio.Semaphore(_AT_ONCE)
        failed: list[OperationError] = []

        async def one(session: str, epoch: str) -> None:
            async with limit:
                try:
                    await self.change(session, lambda state: _renewed(state, epoch, until_ms))
                except OperationError as error:
                    failed.append(error)

        async with anyio.create_task_group() as tasks:
            for session, epoch in epochs:
                tasks.start_soon(one, session, epoch)
        if failed:
            raise failed[0]

    async def close_below(self, session: str, epoch: str) -> None:
        """As in `ReadLog`: one write, and only on what was looked at."""

        def closed(state: SessionState) -> SessionState | None:
            kept = state.find(epoch)
            head = close_head(kept.head, self._store.now_ms()) if kept else None
            if kept is None or head is None:
                return None
            return state.with_epoch(replace(kept, head=head))

        await self.change(session, closed)

    async def change(
        self,
        session: str,
        changed: Callable[[SessionState], SessionState | None],
        *,
        make: bool = False,
    ) -> SessionState | None:
        """Store what `changed` makes of a session; while others write, it is asked again.

        Args:
            session: The session's id.
            changed: Returns the state to store; None: nothing is to be changed.
            make: Where there is no such session, make it.

        Returns:
            What was stored; None: nothing was.

        Raises:
            OperationError: As `Engine.publish`.
        """
        cached = self._store.session(session)
        async with cached.lock:
            looked, turns = False, Turns()
            while True:
                looked = looked or cached.known is None
                state = await self._state(cached)
                after = changed(state or SessionState()) if state is not None or make else None
                if after is None:
                    if looked:
                        return None
                    looked = True
                    await self._store.look_up(cached)
                    continue
                try:
                    await self._store.put_sheet(cached, replace(after, loose=None))
                except ConflictError:
                    looked = False
                    await turns.lost()
                    continue
                return after

    async def _state(self, cached: CachedSession) -> SessionState | None:
        known = cached.known or await self._store.look_up(cached)
        return known.state

    async def _stored(
        self, cached: CachedSession, state: SessionState, kept: KeptEpoch, now: Step
    ) -> bool:
        """Store a step; False: look at the session again, then try again."""
        try:
            await self._store_step(cached, state, kept, now)
        except ConflictError:
            return False
        except FullError:
            if await self._has_room(cached, bytes_of(now.frames)):
                return False
            raise
        return True

    async def _there(self, cached: CachedSession, kept: KeptEpoch, seqs: list[int]) -> set[int]:
        """Return those of the places, which ascend, at which there is something already."""
        try:
            there = await within(self._store, cached, kept.head.epoch, seqs[0], seqs[-1])
        except OperationError as error:
            if error.code is not ErrorCode.PERMISSION_DENIED:
                raise
            # A user that may not read. Its trace goes up in order, so that is what is there.
            return {seq for seq in seqs if seq <= kept.top}
        return there.intersection(seqs)

    async def _has_room(self, cached: CachedSession, size: int) -> bool:
        """Make room; False: there is none, or it is not for this user to make."""
        try:
            return await self.make_room(cached, size)
        except OperationError as error:
            if error.code is not ErrorCode.PERMISSION_DENIED:
                raise
            return False

    async def _store_step(
        self, cached: CachedSession, state: SessionState, kept: KeptEpoch, now: Step
    ) -> None:
        after = now.kept or kept
        if now.frames and not now.priority and now.frames[0][0] <= kept.top:
            there = await self._there(cached, kept, [seq for seq, _ in now.frames])
            fresh = [frame for frame in now.frames if frame[0] not in there]
            now = replace(now, size=None)
        else:
            fresh = now.frames
        after = after.holding(kept.head.frames + len(fresh))
        size = state.size + (bytes_of(fresh) if now.size is None else now.size)
        if not fresh:
            done = SessionState(state.with_epoch(after).epochs, state.arrivals, size)
            await self._store.put_sheet(cached, done)
            return
        lane = "trace"
        if now.priority:
            lane = "behind" if now.behind else "priority"
        # As it stands before: whose epochs these are decides whether they are written down first.
        before = SessionState(state.epochs, state.arrivals, size, loose=state.loose)
        await self._store.put_record(cached, before, after, fresh, lane)


def _without(batch: Batch, stored: set[int]) -> Batch:
    """Return the batch without the trace at these places."""
    if stored.isdisjoint(seq for seq, _ in batch.trace):
        return batch
    return replace(batch, trace=[frame for frame in batch.trace if frame[0] not in stored])


async def _no_room(_cached: CachedSession, _size: int) -> bool:
    return False


async def _nothing_owed(_cached: CachedSession) -> None:
    pass


def _answered(now: Step) -> Answer:
    if now.answer is None:  # Not so: a step that stores nothing is the last one.
        raise OperationError(ErrorCode.STORAGE_FAILED)
    return now.answer


def _renewed(state: SessionState, epoch: str, until_ms: int) -> SessionState | None:
    kept = state.find(epoch)
    if kept is None or kept.head.lease_ms == until_ms:
        return None
    return state.with_epoch(replace(kept, head=replace(kept.head, lease_ms=until_ms)))
