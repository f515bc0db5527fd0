"""`make bench`: every figure as a ratio to its floor, measured in the same run.

    python tests/bench/bench.py [--json FILE]

Exit status 1 when a row misses its limit.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from floors import DELTA, HandWrittenFeed
from measure import Row, alternate
from sse import frames_of_an_event_stream

from compass_agent import open_session

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
        "feed of a text delta", lambda: by_hand.feed(DELTA), ours, calls=50_000, limit=3.0
    )


def main() -> int:
    """Measure, print the table; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure against floors of the same run.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    options = parser.parse_args()
    rows = [feed_of_a_delta(), frames_of_an_event_stream()]
    print(f"{'row':<28} {'floor':>9} {'ours':>9} {'ratio':>6} {'spread':>13} {'limit':>6}")
    for row in rows:
        spread = f"{min(row.ratios):.2f} to {max(row.ratios):.2f}"
        print(
            f"{row.name:<28} {row.floor:>6.2f} {row.unit} {row.ours:>6.2f} {row.unit}"
            f" {row.ratio:>6.2f} {spread:>13} {row.limit:>6.1f}"
        )
    if options.json is not None:
        options.json.write_text(json.dumps([dataclasses.asdict(row) for row in rows], indent=2))
    return int(any(row.ratio > row.limit for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
