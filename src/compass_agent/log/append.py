"""The writing side of a session log."""

from __future__ import annotations

__all__ = ("AppendLog",)

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.wire import Answer, Batch, SessionMeta


class AppendLog(Protocol):
    """What a writer needs of a log. Every method raises `OperationError` alone."""

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """Make `epoch` the current one of `session`; older epochs are sealed.

        Opening an epoch that the log knows already changes nothing. Its writer is taken to live
        for the next 10 seconds.

        Args:
            session: The session's id.
            epoch: 16 lower-case hex digits.
            meta: What people are shown; None: nothing.
            recovered: The epoch's writer is gone, and somebody delivers what it left. While
                another writer is at work, the epoch is then placed, sealed, just before its.

        Raises:
            OperationError: `unsupported_input` (no session id, no epoch), `unavailable`,
                `storage_failed`.
        """
        ...

    async def append(self, batch: Batch) -> Answer:
        """Store what `batch` holds and the log does not: priority, trace and watermark in one step.

        The same batch twice changes nothing. What the batch needs and the log lacks, or why it can
        never be stored, is in the answer.

        Raises:
            OperationError: `not_found` (the epoch was not opened), `unavailable` (nothing was
                stored, or it is not known), `storage_failed`.
        """
        ...

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """Say that the writers of these (session, epoch) live for `seconds` more, and no longer.

        A batch that is stored says so too, for 10 seconds. Epochs that the log does not know are
        passed over.

        Raises:
            OperationError: `unavailable`, `storage_failed`.
        """
        ...
