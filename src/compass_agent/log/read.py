"""The reading side of a session log."""

from __future__ import annotations

__all__ = ("Pages", "ReadLog", "SessionSummary")

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from compass_agent.frames import Cursor, SessionError
    from compass_agent.wire import Page


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session as a list shows it. It follows priority frames the moment they are stored.

    Attributes:
        session: The session's id.
        epoch: Its current epoch.
        state: The number of its AgentSessionState; DISCONNECTED when its writer is gone.
        last_error: The last SessionError of the current work; None once later work began.
        title: For people; may be empty.
        agent: The agent's name; may be empty.
        version: The agent's version; may be empty.
        opened_ms: When the current epoch was opened, in milliseconds since 1970-01-01 UTC.
        updated_ms: When something was stored last, likewise.
        frames: How many frames are stored, over all epochs.
        cursor: The end of what can be read now.
        ended: Whether the current epoch ended.
    """

    session: str
    epoch: str
    state: int
    last_error: SessionError | None
    title: str
    agent: str
    version: str
    opened_ms: int
    updated_ms: int
    frames: int
    cursor: Cursor
    ended: bool


class Pages(Protocol):
    """The pages of one reading, as an async iterator.

    Nothing is held open between pages: dropping it, closing it, or cancelling the wait for a page
    leaks nothing. After a cancelled wait the same iterator goes on where it was.
    """

    def __aiter__(self) -> Pages: ...

    async def __anext__(self) -> Page: ...

    async def aclose(self) -> None:
        """End the reading; it is for those who close what they iterate."""
        ...


class ReadLog(Protocol):
    """What a reader needs of a log. Every method raises `OperationError` alone."""

    def read(
        self,
        session: str,
        after: Cursor | None = None,
        *,
        follow: bool = True,
        page_frames: int = 4096,
    ) -> Pages:
        """Yield what follows `after` (None: all that is kept), then, when `follow`, what comes.

        Readers get emission order, gaps at their place, and the item End once an epoch ended; the
        iteration stops there unless a newer epoch is open. Without `follow` it stops at the
        watermark.

        Args:
            session: The session's id.
            after: The cursor of the last page that was taken.
            follow: Go on with what comes, after one item CaughtUp.
            page_frames: How many frames a page holds at most; 1 MiB fills it too. Whoever serves
                many slow readers asks for small pages.

        Raises:
            OperationError: `unsupported_input` (no session id), at once. While iterating:
                `not_found` (no such session), `conflict` (`after` is above what is stored, and
                stayed so for 2 seconds), `unavailable`, `storage_failed`.
        """
        ...

    async def sessions(self) -> list[SessionSummary]:
        """Return every session, the one that was updated last first."""
        ...

    async def delete(self, session: str) -> None:
        """Remove the session and all its frames.

        Raises:
            OperationError: `not_found`, `unavailable`, `storage_failed`.
        """
        ...

    async def close_below(self, session: str, epoch: str) -> None:
        """Store the closing mark of an epoch whose writer is gone: its highest stored `seq`.

        Does nothing when the epoch ended, is sealed or its lease still runs.
        """
        ...

    async def aclose(self) -> None:
        """Release what the log holds open."""
        ...
