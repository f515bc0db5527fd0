"""What carries batches to a log."""

from __future__ import annotations

__all__ = ("Publisher",)

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from compass_agent.wire import Answer, Batch


class Publisher(Protocol):
    """A way to a log; a host may bring its own."""

    async def publish(self, batch: Batch) -> Answer:
        """Hand over one batch and return the log's answer.

        Raises:
            OperationError: `unsupported_input`: refused for good, the batch is halved until the
                frame that is refused stands alone. Any other code: nothing was stored; the same
                batch comes again.
            Exception: Anything else: whether it was stored is not known; the same batch comes
                again.
        """
        ...
