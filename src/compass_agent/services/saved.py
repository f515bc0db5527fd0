"""An exported session, read as a log is: the same items, in the same order, with the same places.

The lines are those that `export_session` and `compass tail --json` write.
"""

from __future__ import annotations

__all__ = ("SavedLineError", "SavedLog")

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor, check_session_id
from compass_agent.log.read import SessionSummary
from compass_agent.services.reading import place_of_item
from compass_agent.view.outcome import Outcome
from compass_agent.wire import CaughtUp, End, FrameItem, Gap, Page, Reset, ResetReason, decode_frame
from compass_agent.wire.received import items_from_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from compass_agent.wire import Item

_EPOCH = re.compile("[0-9a-f]{16}")
_LONGEST_LINE = 64 * 1024 * 1024


class SavedLineError(OperationError):
    """A line of the file is no line of an export.

    Attributes:
        line: Its number, from 1.
    """

    def __init__(self, line: int) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_INPUT)
        self.line = line


class SavedLog:
    """Implements `ReadLog` over one exported session. What is read is kept.

    Args:
        pieces: The file's bytes, in pieces of any size; may wait for what comes.
    """

    def __init__(self, pieces: AsyncGenerator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self._line = 0
        self._done = False
        self._outcome = Outcome()
        self._times: list[int] = []
        self.session = ""
        """Its id; empty until a line was read."""
        self.items: list[Item] = []
        """What was read until now."""

    async def load(self, *, whole: bool = True) -> None:
        """Read the file to its end, or until the session's id is known.

        Raises:
            SavedLineError: A line is not of an export, or of another session.
        """
        while not self._done and (whole or not self.session):
            await self.more()

    async def more(self) -> bool:
        """Read what comes next; return whether there may be more.

        Raises:
            SavedLineError: As `load`.
        """
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            self._done = True
            lines = [self._rest]
            self._rest = b""
        else:
            *lines, self._rest = (self._rest + piece).split(b"\n")
            if len(self._rest) > _LONGEST_LINE:
                raise SavedLineError(self._line + 1)
        for line in lines:
            self._line += 1
            if line.strip():
                self._take(line)
        return not self._done

    def _take(self, line: bytes) -> None:
        try:
            session, items = items_from_json(line)
            check_session_id(session)
        except OperationError as error:
            raise SavedLineError(self._line) from error
        self.session = self.session or session
        if not items or session != self.session:
            raise SavedLineError(self._line)
        placed = (item for item in items if isinstance(item, FrameItem | Gap | Reset | End))
        if not all(_EPOCH.fullmatch(item.epoch) for item in placed):
            raise SavedLineError(self._line)
        for item in items:
            # Whoever saved it had caught up; who reads it here has done so at its end.
            if isinstance(item, CaughtUp):
                continue
            self.items.append(item)
            self._outcome.push(item)
            if isinstance(item, FrameItem):
                self._times.append(decode_frame(item.data).typed_event.at_unix_ms)

    def read(
        self,
        session: str,
        after: Cursor | None = None,
        *,
        follow: bool = True,
        page_frames: int = 4096,
    ) -> _SavedPages:
        """As in `ReadLog`; the reading ends with the file, also when the session did not."""
        del follow
        return _SavedPages(self, session, after, page_frames)

    async def sessions(self) -> list[SessionSummary]:
        """As in `ReadLog`: the one session, as far as it was read."""
        await checkpoint()
        if not self.session:
            return []
        places = [place for item in self.items if (place := place_of_item(item)) is not None]
        last = places[-1] if places else Cursor("0" * 16, 0)
        times = [at_ms for at_ms in self._times if at_ms]
        outcome = self._outcome
        summary = SessionSummary(
            session=self.session,
            epoch=last.epoch,
            state=outcome.state or 0,
            last_error=outcome.error,
            title="",
            agent="",
            version="",
            opened_ms=times[0] if times else 0,
            updated_ms=times[-1] if times else 0,
            frames=len(self._times),
            cursor=last,
            ended=outcome.ended,
        )
        return [summary]

    async def delete(self, session: str) -> None:
        """Raise `unsupported_input`: a file is removed as files are."""
        del session
        await checkpoint()
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)

    async def close_below(self, session: str, epoch: str) -> None:
        """Do nothing: nothing is added to a file."""

    async def aclose(self) -> None:
        """As in `ReadLog`."""
        await self._pieces.aclose()


class _SavedPages:
    """One reading of a saved session."""

    def __init__(self, log: SavedLog, session: str, after: Cursor | None, page_frames: int) -> None:
        self._log = log
        self._session = session
        self._after = after
        self._page_frames = page_frames
        self._at: int | None = None
        self._closed = False

    def __aiter__(self) -> _SavedPages:
        return self

    async def __anext__(self) -> Page:
        log = self._log
        await checkpoint()
        if self._closed:
            raise StopAsyncIteration
        if self._at is None:
            if self._session != log.session:
                raise OperationError(ErrorCode.NOT_FOUND)
            if self._after is not None:
                await log.load()
            self._at, lost = self._begin()
            if lost:
                first = log.items[0].epoch
                return Page([Reset(first, ResetReason.UNKNOWN_EPOCH)], Cursor(first, 0))
        while self._at >= len(log.items):
            if not await log.more():
                break
        items = log.items[self._at : self._at + self._page_frames]
        if items and self._after is not None:
            items[0] = _rest(items[0], self._after)
        if not items:
            self._closed = True
            raise StopAsyncIteration
        self._at += len(items)
        places = [place for item in items if (place := place_of_item(item)) is not None]
        self._after = places[-1] if places else self._after
        return Page(items, self._after)

    def _begin(self) -> tuple[int, bool]:
        """Return where to begin, and whether the place to begin after is not in the file."""
        after = self._after
        if after is None or not self._log.items:
            return 0, False
        behind = known = highest = 0
        for number, item in enumerate(self._log.items):
            place = place_of_item(item)
            if place is None or place.epoch != after.epoch:
                continue
            known, highest = 1, max(highest, place.seq)
            if place.seq <= after.seq and not (isinstance(item, End) and place == after):
                behind = number + 1
        if known and after.seq > highest:
            raise OperationError(ErrorCode.CONFLICT)
        return behind, not known

    async def aclose(self) -> None:
        """End the reading."""
        self._closed = True
        await checkpoint()


def _rest(item: Item, after: Cursor) -> Item:
    """Return what of a gap lies behind a place within it; any other item as it is."""
    if isinstance(item, Gap) and item.epoch == after.epoch and item.first_seq <= after.seq:
        return replace(item, first_seq=after.seq + 1)
    return item
