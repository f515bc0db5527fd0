"""Reaches a log that this process holds."""

from __future__ import annotations

__all__ = ("LocalTransport",)

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.log.append import AppendLog
    from compass_agent.wire import Answer, Batch, SessionMeta


class LocalTransport:
    """Hands batches to `log`, which stays its owner's to close. Raises what the log raises."""

    __slots__ = ("_log",)

    def __init__(self, log: AppendLog) -> None:
        self._log = log

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As `AppendLog.open`."""
        await self._log.open(session, epoch, meta, recovered=recovered)

    async def publish(self, batch: Batch) -> Answer:
        """As `AppendLog.append`."""
        return await self._log.append(batch)

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """As `AppendLog.renew`."""
        await self._log.renew(epochs, seconds)

    def forget(self, session: str, epoch: str) -> None:
        """Nothing is held for an epoch."""
