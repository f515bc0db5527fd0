"""Removes sessions. On the engine's event loop alone.

First it is written down that a session is gone, fenced as every write; then the engine is asked to
purge what stands before that; what is written down goes last. Whoever is cut off in between leaves
a session that is gone and that says so: removing it again finishes that.
"""

from __future__ import annotations

__all__ = ("Remover",)

from contextlib import suppress
from typing import TYPE_CHECKING

from compass_agent.log.jetstream.faults import ConflictError, DamagedError
from compass_agent.log.jetstream.heads import SessionState
from compass_agent.log.jetstream.records import encode_sheet
from compass_agent.log.jetstream.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.log.jetstream.store import Store
    from compass_agent.log.jetstream.writer import Writer


class Remover:
    """Removes sessions.

    Args:
        store: The sessions.
        writer: What changes them.
    """

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer
        self._may = False

    async def remove(
        self, session: str, is_over: Callable[[SessionState], bool] | None = None
    ) -> bool:
        """Remove a session; tell whether there was one.

        Args:
            session: The session's id.
            is_over: Whether it may go, as it is now; None: it goes whatever it does.

        Raises:
            DamagedError: It cannot be read, so it is not known whether it may go.
            OperationError: As `Engine.publish`. `permission_denied`: the user may not remove.
        """

        def gone(state: SessionState) -> SessionState | None:
            if is_over is not None and not is_over(state):
                return None
            return SessionState(gone=True)

        if not self._may:
            # What is marked as gone is hidden from everybody: only by those who can go on.
            await self._store.engine.may_purge()
            self._may = True
        try:
            if await self._writer.change(session, gone) is None and is_over is not None:
                return False
        except DamagedError:
            if is_over is not None:
                raise
            await self._remove_unread(session)
            return True
        return await self.finish(session)

    async def finish(self, session: str) -> bool:
        """Remove what is left of a session that is gone; tell whether anything was.

        Raises:
            OperationError: As `Engine.purge`.
        """
        cached = self._store.session(session)
        async with cached.lock:
            known = cached.known
            if known is None or known.state is not None or not known.pos:
                known = await self._store.look_up(cached)
        if known.state is not None or not known.pos:
            return False
        engine, subjects = self._store.engine, self._store.subjects
        everything, sheet = subjects.session(session), subjects.sheet(session)
        purged = await engine.purge(everything, known.pos) if known.pos > 1 else 0
        if known.harmed:
            return purged > 0
        left = await engine.counted(everything) or {}
        if sum(left.values()) - left.get(sheet, 0) > 0:
            with suppress(ConflictError):  # Somebody has opened it anew.
                await self._leave_mark(session, known.pos)
            return True
        await engine.purge(sheet, known.pos + 1)
        return True

    async def _remove_unread(self, session: str) -> None:
        """Remove what cannot be read, since somebody wants it to go, whatever it is."""
        turns = Turns()
        while True:
            last = await self._store.engine.last(self._store.subjects.session(session))
            try:
                await self._leave_mark(session, last.pos if last else 0)
            except ConflictError:
                await turns.lost()
            else:
                return

    async def _leave_mark(self, session: str, prev: int) -> None:
        """Have it stay written that a session is gone, behind the message at `prev`.

        A message that the engine lost cannot be purged. Nor can it be replaced, so the sheets of
        that session are taken for harmed from now on.
        """
        engine, subjects = self._store.engine, self._store.subjects
        everything = subjects.session(session)
        sheet = encode_sheet(prev, self._store.now_ms(), SessionState(gone=True), harmed=True)
        pos = await engine.publish(subjects.sheet(session), sheet, (everything, prev), harmed=True)
        await engine.purge(everything, pos)
        self._store.session(session).forget()
