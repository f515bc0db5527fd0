"""The writing side of a session log."""

from __future__ import annotations

__all__ = ("AppendLog",)

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.wire import Answer, Batch, SessionMeta


class AppendLog(Protocol):
    """What a writer needs of a log. Every method raises `OperationError` alone."""

    async def open(self, session: str, epoch: str, meta: SessionMeta) -> None:
        """Make `epoch` the current one of `session`; older epochs are sealed.

        Opening an epoch that is open already changes nothing.

        Raises:
            OperationError: `unsupported_input` (no session id), `unavailable`, `storage_failed`.
        """
        ...

    async def append(self, batch: Batch) -> Answer:
        """Store what `batch` holds and the log does not: priority, trace and watermark in one step.

        The same batch twice changes nothing.

        Raises:
            OperationError: `not_found` (the epoch was not opened), `unavailable` (nothing was
                stored, or it is not known), `storage_failed`.
        """
        ...

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """Say that the writers of these (session, epoch) live for `seconds` more."""
        ...
