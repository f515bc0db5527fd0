"""`make bench`: every figure as a ratio to its floor, measured in the same run.

    python tests/bench/bench.py [--json FILE] [ROW …]

Exit status 1 when a row misses its limit.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from flooded import measure_ways
from floors import DELTA, HandWrittenFeed
from large_log import large_log_rows
from logs import append_row, read_row
from measure import Row, alternate, p99_ms
from notes import NOTES, UNKNOWN
from printing import printing_rows
from readers import reader_rows
from sessions import emit_row, many_sessions_row
from sse import event_stream_row
from starting import start_rows
from through_hub import end_to_end_row, hub_to_reader_row, still_reader_row, writing_row

from compass_agent import open_session

if TYPE_CHECKING:
    from collections.abc import Callable


_ERRORS = 200
"""The second of them from the end is the one within which 99 of 100 came."""

EVENT = {
    "type": "message_update",
    "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": DELTA},
}


def feed_of_a_delta() -> Row:
    """Map and route one text delta in its JSON form, against the same message made by hand."""
    by_hand = HandWrittenFeed()
    session = open_session("bench", log="memory:")  # not entered: nothing is published meanwhile

    def ours() -> None:
        session.feed(EVENT)

    return alternate(
        "feed of a text delta", lambda: by_hand.feed(DELTA), ours, calls=50_000, limit=2.0
    )


def errors_under_a_flood() -> list[Row]:
    """An error's way while ten times what drains is emitted, against its way while all is idle.

    To the status: at most twice the idle way, as one batch may be under way. To a reader: that and
    the time in which one full trace lane drains.
    """
    with TemporaryDirectory() as folder:
        ways = measure_ways(Path(folder) / "log.db", errors=_ERRORS, batch_s=0.1)
    idle, status, tail = map(p99_ms, (ways.idle_status, ways.status, ways.tail))
    to_reader = 2 * idle + ways.lane * 1e3
    return [
        Row("flooded error to status", "ms", idle, status, (status / idle,), 2.0),
        Row("flooded error to reader", "ms", to_reader, tail, (tail / to_reader,), 1.0),
    ]


def publishing_to_nats() -> list[Row]:
    """Publish records to a server of its own, against a bare publisher."""
    from nats_publish import publish_rows  # noqa: PLC0415 - what it needs is beside the tests

    return publish_rows()


def memory_of_nats() -> list[Row]:
    """What tails and idle sessions cost a server."""
    from nats_memory import memory_rows  # noqa: PLC0415 - as above

    return memory_rows()


ROWS: dict[str, Callable[[], list[Row]]] = {
    "feed": lambda: [feed_of_a_delta()],
    "emit": lambda: [emit_row()],
    "hub": lambda: [hub_to_reader_row(), hub_to_reader_row(tcp=True)],
    "end-to-end": lambda: [end_to_end_row(), end_to_end_row(tcp=True)],
    "flood": errors_under_a_flood,
    "memory": lambda: [still_reader_row()],
    "readers": lambda: [*reader_rows(), writing_row()],
    "append": lambda: [append_row()],
    "read": lambda: [read_row()],
    "nats": publishing_to_nats,
    "nats-memory": memory_of_nats,
    "sessions": lambda: [many_sessions_row(count) for count in (10, 100, 1_000)],
    "log": large_log_rows,
    "sse": lambda: [event_stream_row()],
    "tail": printing_rows,
    "start": start_rows,
}


def main() -> int:
    """Measure, print the table; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure against floors of the same run.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all")
    options = parser.parse_args()
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    print(f"{'row':<24} {'floor':>11} {'ours':>11} {'ratio':>6} {'spread':>13} {'limit':>14}")
    machine = _machine()
    rows: list[Row] = []
    for name in options.rows or ROWS:
        for row in ROWS[name]():
            rows.append(row)
            _print(row)
    if options.json is not None:
        told = {"machine": machine, "rows": [*map(_as_json, rows)]}
        options.json.write_text(json.dumps(told, indent=2), "utf-8")
    return int(not all(row.met for row in rows))


def _machine() -> dict[str, object]:
    """Return what it is measured on; the load is that of what ran before."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[1], 1),
    }


def _as_json(row: Row) -> dict[str, object]:
    note = NOTES.get(row.name, UNKNOWN)
    why = "" if row.met else note.why or UNKNOWN.why
    told = {"ratio": row.ratio, "met": row.met, "floor_is": note.floor, "why_missed": why}
    return {**dataclasses.asdict(row), **told}


def _print(row: Row) -> None:
    spread = f"{min(row.ratios):.2f} to {max(row.ratios):.2f}"
    print(
        f"{row.name:<24} {row.floor:>7.2f} {row.unit:<3} {row.ours:>7.2f} {row.unit:<3}"
        f" {row.ratio:>6.2f} {spread:>13} {row.bound:>14}",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
