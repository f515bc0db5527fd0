"""What one reader sees of a session: a page of frames, and those that came behind it."""

from __future__ import annotations

__all__ = ("look_behind", "trace_sizes", "within")

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from compass_agent.log.jetstream.losses import losses
from compass_agent.log.jetstream.records import BLOCK
from compass_agent.log.reading import PAGE_BYTES, View
from compass_agent.wire import FrameRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.log.epoch import EpochHead, Mark
    from compass_agent.log.jetstream.cache import CachedSession, Snapshot
    from compass_agent.log.jetstream.heads import SessionState
    from compass_agent.log.jetstream.records import Message
    from compass_agent.log.jetstream.store import Store
    from compass_agent.log.reading import Place
    from compass_agent.wire import FrameItem


class _Rows(NamedTuple):
    rows: Sequence[FrameItem]
    complete: bool
    fetched: bool
    marks: tuple[Mark, ...] = ()


async def look_behind(
    store: Store, cached: CachedSession, place: Place, page_frames: int
) -> View | None:
    """Return what lies behind `place`, as it is at one moment; None: no such session."""
    await store.listen(cached)
    while True:
        snapshot = await store.snapshot(cached)
        state = snapshot.state
        if state is None or not state.epochs:
            return None
        index = state.index(place.epoch)
        if index is None:
            return View(None, state.epochs[0].head.epoch, arrivals=state.arrivals)
        head = state.epochs[index].head
        page = await _page(store, cached, snapshot, head, (place.seq, page_frames))
        late, fetched = await _late(store, cached, snapshot, place)
        # What was fetched may be younger than the state, and trace may have gone since.
        if (page.fetched or fetched) and await _moved(store, cached, snapshot):
            continue
        following = state.epochs[index + 1 : index + 2]
        if page.marks:
            head = replace(head, marks=(*head.marks, *page.marks))
        return View(
            head,
            following[0].head.epoch if following else None,
            page.rows,
            page.complete,
            late=late,
            arrivals=state.arrivals,
        )


async def within(
    store: Store, cached: CachedSession, epoch: str, first: int, last: int
) -> set[int]:
    """Return the places from `first` to `last` where a trace frame of the epoch is stored."""
    pos = cached.known.pos if cached.known else 0
    found: set[int] = set()
    for block in range(first // BLOCK, last // BLOCK + 1):
        records, _ = await store.blocks.block(cached, epoch, block, pos)
        for record in records:
            if not record.priority:
                found.update(record.seqs)
    return found


async def trace_sizes(
    store: Store, cached: CachedSession, head: EpochHead
) -> list[tuple[int, int, int]]:
    """Return place, size and time of storing of each trace frame up to the watermark, ascending."""
    pos = cached.known.pos if cached.known else 0
    found: list[tuple[int, int, int]] = []
    names = await store.blocks.names(cached)
    for block in sorted(names.get(head.epoch, ())):
        if (block + 1) * BLOCK <= head.trimmed or block * BLOCK > head.through:
            continue
        for record in (await store.blocks.block(cached, head.epoch, block, pos))[0]:
            if not record.priority:
                found += [(seq, size, record.at_ms) for seq, size in record.sizes()]
    return sorted(one for one in found if head.trimmed < one[0] <= head.through)


async def _moved(store: Store, cached: CachedSession, snapshot: Snapshot) -> bool:
    await store.refresh(cached)
    return cached.known is None or cached.known.pos != snapshot.pos


async def _page(
    store: Store, cached: CachedSession, snapshot: Snapshot, head: EpochHead, want: tuple[int, int]
) -> _Rows:
    after, page_frames = want
    if after >= head.through:
        return _Rows([], complete=True, fetched=False)
    rows: list[FrameItem] = []
    seen: dict[int, list[Message]] = {}
    size, fetched = 0, False

    def page(*, complete: bool) -> _Rows:
        marks: tuple[Mark, ...] = ()
        if len(rows) < (head.through if complete else rows[-1].seq) - after:
            lost = {one: store.blocks.lost_lanes(cached.session, head.epoch, one) for one in seen}
            marks = losses(head, seen, lost, complete=complete)
        return _Rows(FrameRun.of(rows), complete, fetched, marks)

    known = await store.blocks.names(cached)
    for block in sorted(known.get(head.epoch, ())):
        if (block + 1) * BLOCK <= after or block * BLOCK > head.through:
            continue
        records, was_fetched = await store.blocks.block(cached, head.epoch, block, snapshot.pos)
        fetched = fetched or was_fetched
        seen[block] = records
        some = _of_block(records, head, after, page_frames - len(rows))
        for row in some:
            rows.append(row)
            size += len(row.data)
            if size >= PAGE_BYTES or len(rows) >= page_frames:
                return page(complete=rows[-1].seq == head.through)
    return page(complete=True)


def _of_block(
    records: list[Message], head: EpochHead, after: int, page_frames: int
) -> list[FrameItem]:
    """Return at least so many frames of a block, or all, behind `after` and up to the watermark."""
    found: list[FrameItem] = []
    in_order, top = True, 0
    wanted = [record for record in records if record.last > after and record.first <= head.through]
    for record in sorted(wanted, key=_first):
        if record.first <= top:
            in_order = False
        elif len(found) >= page_frames:
            break
        top = max(top, record.last)
        lowest = after if record.priority else max(after, head.trimmed)
        if record.first > lowest and record.last <= head.through:
            found += record.items
        else:
            found += [item for item in record.items if lowest < item.seq <= head.through]
    return found if in_order else _unique(found)


def _unique(found: list[FrameItem]) -> list[FrameItem]:
    return [*{item.seq: item for item in sorted(found, key=_seq, reverse=True)}.values()][::-1]


def _first(record: Message) -> int:
    return record.first


def _seq(item: FrameItem) -> int:
    return item.seq


async def _late(
    store: Store, cached: CachedSession, snapshot: Snapshot, place: Place
) -> tuple[list[FrameItem], bool]:
    """Return the frames that came since the reader looked, at places that it has passed."""
    state: SessionState | None = snapshot.state
    if state is None or place.arrivals is None or place.arrivals >= state.arrivals:
        return [], False
    older = {kept.head.epoch for kept in state.epochs[: state.index(place.epoch)]}
    records = await store.blocks.behind(cached, place.arrivals, snapshot.pos, state.arrivals)
    found = [
        item._replace(late=True)
        for record in records
        for item in record.items
        if record.epoch in older or (record.epoch == place.epoch and item.seq <= place.seq)
    ]
    return found, False
