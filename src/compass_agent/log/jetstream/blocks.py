"""The frames of sessions, read by place, and what the engine lost of them."""

from __future__ import annotations

__all__ = ("Blocks",)

import logging
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode
from compass_agent.log.jetstream.faults import EngineError
from compass_agent.log.jetstream.lookups import decoded
from compass_agent.log.jetstream.records import Message

if TYPE_CHECKING:
    from compass_agent.log.jetstream.cache import CachedSession
    from compass_agent.log.jetstream.engine import Engine
    from compass_agent.log.jetstream.records import Subjects
    from compass_agent.log.jetstream.waiting import Stored

_LAG_TRIES, _LAG_S = 20, 0.05

_logger = logging.getLogger("compass_agent.log")


class Blocks:
    """Reads blocks of frames. On the engine's event loop alone.

    Args:
        engine: The connection.
        subjects: The names of the subjects.
    """

    def __init__(self, engine: Engine, subjects: Subjects) -> None:
        self.engine = engine
        self.subjects = subjects
        self._lost: dict[str, dict[str, int]] = {}

    async def block(
        self, cached: CachedSession, epoch: str, block: int, pos: int
    ) -> tuple[list[Message], bool]:
        """Return the records of a block up to place `pos`, and whether they had to be fetched."""
        place = (epoch, block)
        fetched = place not in cached.blocks
        if fetched:
            async with cached.fetching:
                records = cached.blocks.get(place)
                if records is None:
                    records = await self._fetch_block(cached, epoch, block)
        else:
            records = cached.blocks[place]
        return [record for record in records if record.pos <= pos], fetched

    async def names(self, cached: CachedSession) -> dict[str, set[int]]:
        """Return for each epoch the blocks that hold something."""
        if cached.names is not None:
            return cached.names
        found: dict[str, set[int]] = {}
        drops = cached.drops
        passing = cached.fresh = set[tuple[str, int]]()
        for subject in await self.engine.subjects(self.subjects.session(cached.session)):
            *_, epoch, _lane, block = subject.split(".")
            if block.isdigit():
                found.setdefault(epoch, set()).add(int(block))
        for epoch, number in passing:
            found.setdefault(epoch, set()).add(number)
        if cached.heard is not None and cached.drops == drops and cached.fresh is passing:
            cached.names = found
        return found

    async def behind(self, cached: CachedSession, after: int, pos: int, last: int) -> list[Message]:
        """Return the records from behind `after` to `pos` that readers may have passed.

        `last` is the place of the last one that there is up to `pos`.
        """
        if cached.behind_from <= after and cached.known is not None and cached.heard is not None:
            found = cached.behind
        else:
            found = await self._fetch_behind(cached.session, after, last)
        return [one for one in found if one.behind and after < one.pos <= pos]

    async def _fetch_behind(self, session: str, after: int, last: int) -> list[Message]:
        for _ in range(_LAG_TRIES):
            stored = await self.engine.fetch(self.subjects.priority(session), after + 1)
            if stored and stored[-1].pos >= last:
                return [decoded(session, one) for one in stored]
            await anyio.sleep(_LAG_S)
        subject = self.subjects.priority(session)
        at_last = await self.engine.following(subject, last)
        if at_last is None or at_last.pos != last:  # It is lost: there is nothing to wait for.
            return [decoded(session, one) for one in await self.of_leader(subject, after + 1)]
        raise _behind()

    async def _fetch_block(self, cached: CachedSession, epoch: str, block: int) -> list[Message]:
        """Return all records of a block, whichever replica gives them.

        The leader says how many there are. What is stored later passes by, and is kept from before
        it was asked: a record that came in between would be in neither.
        """
        subject = self.subjects.block(cached.session, epoch, block)
        seen: dict[int, Stored] = {}
        for tries in range(_LAG_TRIES + 1):
            passing = cached.coming[epoch, block] = list[Message]()
            counts = await self.engine.subjects(subject)
            if tries < _LAG_TRIES:
                stored = await self.engine.fetch(subject, 1)
                seen.update((one.pos, one) for one in stored)
            else:
                # What the leader has lost, another server may have.
                seen.update((one.pos, one) for one in await self.of_leader(subject, 1))
                for server in await self.engine.others():
                    with suppress(EngineError):
                        seen.update((one.pos, one) for one in await server.fetch(subject, 1))
                stored = [seen[pos] for pos in sorted(seen)]
                await self._miss(cached.session, subject, counts, stored)
            found = [decoded(cached.session, one) for one in stored]
            lost = sum(self._lost.get(subject, {}).values())
            if len(found) >= sum(counts.values()) - lost:
                last = found[-1].pos if found else 0
                found += [record for record in passing if record.pos > last]
                if cached.coming.pop((epoch, block), None) is passing and cached.heard is not None:
                    cached.keep_block(epoch, block, found)
                return found
            # A replica that lags, or something was removed meanwhile.
            await anyio.sleep(_LAG_S)
        raise _behind()

    def lost_lanes(self, session: str, epoch: str, block: int) -> set[bool]:
        """Return the lanes (True: priority) of a block of which the engine lost something."""
        lost = self._lost.get(self.subjects.block(session, epoch, block), {})
        return {subject.split(".")[-2] == "p" for subject in lost}

    async def of_leader(self, subject: str, start: int) -> list[Stored]:
        """Return all messages that match, as the leader alone can read them, one by one."""
        found: list[Stored] = []
        while (one := await self.engine.following(subject, start)) is not None:
            found.append(one)
            start = one.pos + 1
        return found

    async def _miss(
        self, session: str, subject: str, counts: dict[str, int], stored: list[Stored]
    ) -> None:
        """Note what the leader counts but cannot read: it is lost."""
        there = Counter(one.subject for one in stored)
        short = {lane: count - there[lane] for lane, count in counts.items()}
        short = {lane: count for lane, count in short.items() if count > 0}
        if short and await self.engine.subjects(subject) == counts:
            _logger.warning("of the session %s the engine lost messages: %s", session, short)
            self._lost[subject] = short


def _behind() -> EngineError:
    return EngineError(ErrorCode.UNAVAILABLE, "the engine's replicas are behind")
