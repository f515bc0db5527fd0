"""What each row's floor is, and where a row misses its limit, why: as profiles showed."""

from __future__ import annotations

__all__ = ("NOTES", "Note")

from typing import NamedTuple


class Note(NamedTuple):
    """What a figure alone does not say.

    Attributes:
        floor: What the row is compared with.
        why: Where the time goes, by a profile; shown when the row misses its limit.
    """

    floor: str
    why: str = ""


_BARE = "a publisher of as many bytes to the same server, which waits for each answer"
_THREADS = "A record costs two changes of thread on top of its round trip."

NOTES = {
    "feed of a text delta": Note(
        "the same message built, serialised and kept, by hand",
        "A third is building and serialising, as in the floor; more than a third the sink, which"
        " gives places, keeps lanes and counts under its lock; the rest mapper and session.",
    ),
    "SQLite append": Note("as many rows inserted into a plain table, 256 a transaction"),
    "log.read of 1M frames": Note("one `SELECT` of as many rows"),
    "hub to reader, unix": Note(
        "frames with their length before them, 64 a write, over a plain unix socket"
    ),
    "emit to reader, unix": Note(
        "a process that relays frames between two unix sockets and inserts them on the way"
    ),
    "flooded error to status": Note(
        "99 of 100 errors with nothing else to do: from `emit` to the session's status"
    ),
    "flooded error to reader": Note(
        "twice that, and the time in which one full trace lane drains: frames come in order"
    ),
    "tail as text": Note(
        "a loop that parses each frame, looks for its words and writes as much text",
        "Six tenths are the layout of each piece as it comes (`view.text`), a sixth looks for the"
        " end of what was asked for, a ninth reads the log.",
    ),
    "tail as JSON": Note("a loop that parses and writes the same lines"),
    "NATS, 64 a record": Note(_BARE, _THREADS),
    "NATS, 256 a record": Note(_BARE, _THREADS),
    "SSE, 64 frames a write": Note(
        "the same server with one frame a write; both have encoded their frames before"
    ),
}
