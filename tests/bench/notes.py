"""What each row's floor is, and where a row misses its limit, why: as profiles showed."""

from __future__ import annotations

__all__ = ("NOTES", "UNKNOWN", "Note")

from typing import NamedTuple


class Note(NamedTuple):
    """What a figure alone does not say.

    Attributes:
        floor: What the row is compared with.
        why: Where the time goes, by a profile; shown when the row misses its limit.
    """

    floor: str
    why: str = ""


UNKNOWN = Note("not described in tests/bench/notes.py", "not looked into yet")
"""Of a row that has no note."""

_BARE = "a publisher of as many bytes to the same server, which waits for each answer"
_PACKED = (
    "A record costs about 0.2 ms of checking, counting and packing on top of its round trip; and of"
    " those with 256 frames one in 16 is two."
)
_SOCKET = "frames with their length before them, 256 a write, over a plain socket of that kind"
_RELAY = "a process that relays frames between two such sockets and inserts them on the way"
_FIRST = "encoding for the first reader; the bytes are kept while others come for the same page"
_ONE_SESSION = (
    "as many frames in one session, fed at once as well, as CPU time; each session has a full batch"
    " of 256 to tell. With 100 a session, 1,000 of them cost twice as much a frame: there is a"
    " transaction for each batch"
)
_PYTHON = "a Python that does nothing; the limit is the wall time of ours"
_BUSY = "The limit is one of wall time, so that a busy machine misses it by itself."

NOTES = {
    "feed of a text delta": Note(
        "the same message built, serialised and kept, by hand",
        "Three tenths are filling in and serialising, in a frame that is used again; a sixth the"
        " sink, which gives places, keeps lanes and counts; a sixth two locks, which may be entered"
        " again by a signal handler; a tenth each the time, and seeing that it is a delta.",
    ),
    "emit of a ready frame": Note(
        "serialising the frame, and a bounded deque behind a lock",
        "Three tenths ask the message which lane it takes; place, bounds and counters are kept"
        " exact, under a lock that a signal handler may enter again.",
    ),
    "hub to reader, unix": Note(_SOCKET),
    "hub to reader, TCP": Note(_SOCKET),
    "emit to reader, unix": Note(_RELAY),
    "emit to reader, TCP": Note(_RELAY),
    "flooded error to status": Note(
        "99 of 100 errors with nothing else to do: from `emit` to the session's status"
    ),
    "flooded error to reader": Note(
        "twice that, and the time in which one full trace lane drains: frames come in order"
    ),
    "memory, a still reader": Note(
        "the bound: one full trace lane, the transport's window and 8 MiB"
    ),
    "encoding, 2nd reader": Note(_FIRST),
    "encoding, 3rd to 64th": Note(_FIRST),
    "a look at the log, each": Note(
        "encoding for the first reader; each reader looks into the log by itself"
    ),
    "writing to a reader, each": Note(
        "encoding for the first reader; all that a hub's processor does for one reader of a stored"
        " session, reading its file and gRPC included; shown for comparison"
    ),
    "SQLite append": Note(
        "as many rows inserted into a plain table, 256 a transaction; the log packs them"
    ),
    "log.read of 1M frames": Note("one `SELECT` of as many rows"),
    "NATS, 64 a record": Note(_BARE, _PACKED),
    "NATS, 256 a record": Note(_BARE, _PACKED),
    "NATS, 100,000 idle, each": Note(
        "the bound: 1.5 kB of the server's resident memory a session",
        "A session has three subjects, and each costs 0.3 kB of heap; see docs/scaling.md.",
    ),
    "NATS, 2,000 tails, each": Note("the bound: 40 kB of the server's resident memory a tail"),
    "a frame, 10 sessions": Note(_ONE_SESSION),
    "a frame, 100 sessions": Note(_ONE_SESSION),
    "a frame, 1,000 sessions": Note(_ONE_SESSION),
    "append, 100,000 sessions": Note("the same in a log with 100 sessions"),
    "list of 100, 100,000": Note(
        "the same in a log with 100 sessions",
        "Nine tenths are reading each session's row out of the file (`SqliteLog.sessions`), some"
        " 35 µs a session; the list is ordered and cut only then.",
    ),
    "SSE, 64 frames a write": Note(
        "the same server with one frame a write; both have encoded their frames before"
    ),
    "tail as text": Note(
        "a loop that parses each frame, looks for its words and writes as much text",
        "Six tenths are the layout of each piece as it comes (`view.text`), a sixth looks for the"
        " end of what was asked for, a ninth reads the log.",
    ),
    "tail as JSON": Note("a loop that parses and writes the same lines"),
    "import compass_agent": Note(_PYTHON, _BUSY),
    "compass --help": Note(
        _PYTHON,
        "Beyond Python's own start nearly all of it is importing `re` and `argparse`, and what they"
        f" draw in. {_BUSY}",
    ),
}
