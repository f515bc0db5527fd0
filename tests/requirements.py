"""Every promise of docs/guarantees.md by its id; tests that prove one carry the id as a mark.

`tests/project/test_requirements.py` checks it in all directions: no promise without a test, no mark
without a promise, no id that the document lacks or has beside these.
"""

from __future__ import annotations

__all__ = ("NOT_YET", "REQUIREMENTS", "Requirement")

from typing import NamedTuple


class Requirement(NamedTuple):
    """One promise.

    Attributes:
        sentence: What the document's paragraph opens with.
        rules: Of the 25 rules of delivery, those that it is made of; none: it is about something
            else (turns, the wire).
    """

    sentence: str
    rules: tuple[int, ...] = ()


REQUIREMENTS = {
    "G-SINK-1": Requirement("Emitting never hurts the agent", (1,)),
    "G-SINK-2": Requirement("What was emitted is what is sent", (1,)),
    "G-SINK-3": Requirement("The reason of a failure is never dropped", (2,)),
    "G-SINK-4": Requirement("The priority lane has no bound", (3,)),
    "G-SINK-5": Requirement("The trace lane is bounded and drops its oldest", (4,)),
    "G-SINK-6": Requirement("The counters are exact", (5,)),
    "G-SINK-7": Requirement("Every frame has a place", (6,)),
    "G-SINK-8": Requirement("A kill loses no priority frame", (10,)),
    "G-SINK-9": Requirement("A disk that is full does not stop the agent", (10,)),
    "G-SINK-10": Requirement("A fork's child is off"),
    "G-PUMP-1": Requirement("What matters leads", (7,)),
    "G-PUMP-2": Requirement("A batch says where it stands", (8,)),
    "G-PUMP-3": Requirement("One batch at a time, the same bytes until it is answered", (9,)),
    "G-PUMP-4": Requirement("One bad frame does not block the rest", (9,)),
    "G-PUMP-5": Requirement("Closing takes as long as you say", (11,)),
    "G-PUMP-6": Requirement("The next one tells what the last one could not", (10,)),
    "G-PUMP-7": Requirement("What a log never takes is kept", (9, 10)),
    "G-LOG-1": Requirement("The same batch twice changes nothing", (12,)),
    "G-LOG-2": Requirement("A priority frame is never skipped", (12,)),
    "G-LOG-3": Requirement("One writer", (6, 13)),
    "G-LOG-4": Requirement("State comes first", (16,)),
    "G-LOG-5": Requirement("A writer that is gone is noticed", (14,)),
    "G-LOG-6": Requirement("An epoch ends once", (23,)),
    "G-KEEP-1": Requirement("Trace goes first, and it is told", (15, 18, 19)),
    "G-KEEP-2": Requirement("A session goes as a whole, once it is over", (15, 19)),
    "G-KEEP-3": Requirement("A log stays small by itself", (15,)),
    "G-KEEP-4": Requirement("An older file goes on, another one is left alone"),
    "G-READ-1": Requirement("Emission order", (17,)),
    "G-READ-2": Requirement("What is lost is said", (18,)),
    "G-READ-3": Requirement("Resume without hole or repeat", (19,)),
    "G-READ-4": Requirement("A reader costs the writer nothing", (20, 22)),
    "G-READ-5": Requirement("An end is told, not guessed", (23, 24)),
    "G-READ-6": Requirement("A filter makes no hole", (18, 20)),
    "G-HUB-1": Requirement(
        "A hub that is killed loses and repeats nothing that never drops", (9, 18)
    ),
    "G-HUB-2": Requirement("Each batch is answered on its own", (9,)),
    "G-HUB-3": Requirement("A writer lives as long as its connection", (14,)),
    "G-HUB-4": Requirement("Events pass as they are", (20, 21)),
    "G-HUB-5": Requirement("Nobody comes in without a right to"),
    "G-HUB-6": Requirement("A failure is told by its code, in our own words"),
    "G-HUB-7": Requirement("A failure crosses whole"),
    "G-HUB-8": Requirement("A hub reads as its log does", (19, 24)),
    "G-NATS-1": Requirement("The log on a NATS stream promises what every log promises"),
    "G-NATS-2": Requirement("The order of a session holds, however many write to it", (12, 13)),
    "G-NATS-3": Requirement("A full engine drops no priority frame", (9, 15)),
    "G-NATS-4": Requirement(
        "A server that is killed loses and repeats nothing that was answered", (9, 12, 18)
    ),
    "G-NATS-5": Requirement("A writer's credentials keep its mistakes off other sessions"),
    "G-HTTP-1": Requirement("A stream tells everything once, over any cut", (17, 18, 19)),
    "G-HTTP-2": Requirement("Nobody is answered without a right to ask"),
    "G-HTTP-3": Requirement("A failure looks the same on every route"),
    "G-HTTP-4": Requirement("A stop ends open streams, then the server", (24,)),
    "G-PANE-1": Requirement("The page shows every frame once", (17, 18, 19)),
    "G-PANE-2": Requirement("Nothing that an agent says runs or loads"),
    "G-PANE-3": Requirement("Everybody can read the page"),
    "G-PANE-4": Requirement("A large session opens at its end, at once"),
    "G-MCP-1": Requirement("Another agent's words stay data"),
    "G-MCP-2": Requirement("A failed session is a result, a failed operation says so"),
    "G-MCP-3": Requirement("Standard output holds the protocol alone"),
    "G-MCP-4": Requirement("A wait ends"),
    "G-CLIENT-1": Requirement("A tail ends with the session, or with an error", (23, 24)),
    "G-CLIENT-2": Requirement("A tail goes on by itself", (18, 19, 20)),
    "G-CLIENT-3": Requirement("A tail yields what the log does", (17,)),
    "G-CLIENT-4": Requirement("A subscriber needs one extra"),
    "G-TERM-1": Requirement("A session reads alike on every terminal"),
    "G-TERM-2": Requirement("No text of others acts on a terminal"),
    "G-TERM-3": Requirement("A tail says how it ended, and why it stopped", (24,)),
    "G-TERM-4": Requirement("An export is the session"),
    "G-TURN-1": Requirement("A failed turn says why"),
    "G-TURN-2": Requirement("A stop is no crash"),
    "G-TURN-3": Requirement("Nothing becomes a success by itself", (25,)),
    "G-TURN-4": Requirement("Absent is not zero"),
    "G-TURN-5": Requirement("Closing hides no failure", (23,)),
    "G-AGENT-1": Requirement("Any output can be read", (25,)),
    "G-AGENT-2": Requirement("A driven stream is drained and handed on", (1,)),
    "G-AGENT-3": Requirement("An SDK's run is told as what it is"),
    "G-ERR-1": Requirement("One code, one set of words"),
    "G-ERR-2": Requirement("A cause is logged once"),
    "G-ERR-3": Requirement("What looks like a secret is masked"),
    "G-ERR-4": Requirement("Every way in tells a failure alike"),
    "G-ERR-5": Requirement("A request that cannot be read is refused alike"),
    "G-OTEL-1": Requirement("Metrics are what the sessions say", (5,)),
    "G-OTEL-2": Requirement("A trace goes on over an injection"),
    "G-WIRE-1": Requirement("Old bytes decode for ever"),
    "G-WIRE-2": Requirement("What is newer passes"),
}

NOT_YET: dict[int, str] = {}
"""Rules of delivery that no promise is made of yet."""
