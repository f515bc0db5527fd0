"""Has many callers who want the same done at once share one run of it."""

from __future__ import annotations

__all__ = ("Joined",)

from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Joined:
    """Runs of one thing, one at a time. For the tasks of one event loop."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._begun = 0  # how many runs began
        self._ended = 0  # the last one that came to its end
        self._failed: ErrorCode | None = None

    async def run(self, what: Callable[[], Awaitable[object]]) -> None:
        """Return when a run that began after this call has ended; all who wait meanwhile share it.

        Raises:
            OperationError: What that run raised.
        """
        asked = self._begun
        async with self._lock:
            if self._ended > asked:
                if self._failed is not None:
                    raise OperationError(self._failed)
                return
            self._begun += 1
            try:
                await what()
            except OperationError as error:
                self._ended, self._failed = self._begun, error.code
                raise
            # A run that was cancelled is nobody else's.
            self._ended, self._failed = self._begun, None
