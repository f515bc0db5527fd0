"""Hands to a log what a writer that is gone left in its journal.

Only priority frames and the end mark: trace was never kept. Nothing is claimed of what the writer
sent: where frames are missing is for the log to say, when it closes the epoch.
"""

from __future__ import annotations

__all__ = ("Way", "deliver")

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.sink.outbox import notice_of_refusal
from compass_agent.wire import Answer, Batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_agent.sink.records import JournalContents, KeptFrame
    from compass_agent.wire import SessionMeta

_BATCH_FRAMES = 256
_BATCH_BYTES = 256 * 1024


class Way(Protocol):
    """A way to a log. Each method raises as that of `AppendLog` does."""

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As `AppendLog.open`."""
        ...

    async def publish(self, batch: Batch) -> Answer:
        """As `AppendLog.append`."""
        ...

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """As `AppendLog.renew`."""
        ...


async def deliver(contents: JournalContents, way: Way) -> int:
    """Deliver the frames and the end mark; return how many of them the log refused for good.

    What the log has already changes nothing there. A frame that it refuses is replaced by a notice.

    Raises:
        OperationError: `unsupported_input`, `conflict`: the log will never take the epoch, or what
            comes next of it. Anything else: what was delivered up to now may be delivered again.
    """
    head = contents.head
    if not contents.frames and contents.end is None:
        # The log may take the writer to live, and place what others left before its epoch.
        await way.renew([(head.session, head.epoch)], 0.0)
        return 0
    delivery = _Delivery(head.session, head.epoch, way)
    await way.open(head.session, head.epoch, head.meta, recovered=True)
    for prev_priority, run in _runs(contents.frames):
        await delivery.send(prev_priority, run)
    if contents.end is not None:
        prev_priority = contents.end.prev_priority
        batch = delivery.batch(prev_priority, [])
        delivery.check(await delivery.publish(replace(batch, end=contents.end)))
    else:
        # Opening and storing say that the writer lives; it does not.
        await way.renew([(head.session, head.epoch)], 0.0)
    return delivery.refused


def _runs(frames: list[KeptFrame]) -> Iterator[tuple[int, list[tuple[int, bytes]]]]:
    """Cut the frames into batches, each with the priority `seq` before it.

    A frame that could not be written to the journal leaves a hole, and a batch cannot tell of one
    in its middle.
    """
    run: list[tuple[int, bytes]] = []
    before = size = 0
    for seq, prev_priority, data in frames:
        size += len(data)
        full = len(run) >= _BATCH_FRAMES or size > _BATCH_BYTES
        if run and (full or prev_priority != run[-1][0]):
            yield before, run
            run, size = [], len(data)
        if not run:
            before = prev_priority
        run.append((seq, data))
    if run:
        yield before, run


class _Delivery:
    """The batches of one epoch, numbered anew: the log knows what it has by the places."""

    def __init__(self, session: str, epoch: str, way: Way) -> None:
        self._session = session
        self._epoch = epoch
        self._way = way
        self._number = 0
        self.refused = 0

    def batch(self, prev_priority: int, frames: list[tuple[int, bytes]]) -> Batch:
        """Return the next batch."""
        self._number += 1
        return Batch(self._session, self._epoch, self._number, frames, prev_priority=prev_priority)

    def check(self, answer: Answer) -> None:
        """Raise what the log refused with."""
        if answer.code is not None:
            raise OperationError(answer.code)

    async def publish(self, batch: Batch) -> Answer:
        """Send a batch, and say what is not here any more when the log misses it."""
        try:
            answer = await self._way.publish(batch)
            if answer.missing_from:
                answer = await self._way.publish(replace(batch, lost_priority=batch.prev_priority))
        except OperationError as error:
            if error.code is not ErrorCode.UNSUPPORTED_INPUT:
                raise
            return Answer(batch.number, last_priority=0, through=0, code=error.code)
        return answer

    async def send(self, prev_priority: int, frames: list[tuple[int, bytes]]) -> None:
        """Send frames, halved until one that is refused stands alone."""
        answer = await self.publish(self.batch(prev_priority, frames))
        if answer.code is not ErrorCode.UNSUPPORTED_INPUT:
            self.check(answer)
        elif len(frames) > 1:
            half = len(frames) // 2
            await self.send(prev_priority, frames[:half])
            await self.send(frames[half - 1][0], frames[half:])
        else:
            self.refused += 1
            ((seq, data),) = frames
            notice = notice_of_refusal(len(data))
            self.check(await self.publish(self.batch(prev_priority, [(seq, notice)])))
