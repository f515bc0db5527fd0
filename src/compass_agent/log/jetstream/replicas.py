"""What other servers still have of a session of which the stream's leader lost something."""

from __future__ import annotations

__all__ = ("of_replicas",)

from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from compass_agent.log.jetstream.faults import EngineError
from compass_agent.log.jetstream.lookups import decoded

if TYPE_CHECKING:
    from compass_agent.log.jetstream.engine import Engine
    from compass_agent.log.jetstream.records import Message, Subjects


async def of_replicas(
    engine: Engine, subjects: Subjects, session: str, behind: int
) -> list[Message]:
    """Return a session's messages from its sheet on, as a server has them all.

    Args:
        engine: The connection.
        subjects: The names of the subjects.
        session: The session's id.
        behind: The place that the last one has to reach.

    Returns:
        The sheet and the records behind it, without a hole; none: no server has them.
    """
    best: list[Message] = []
    everything = subjects.session(session)
    for server in await engine.others():
        with suppress(EngineError):  # It may be gone, or not for this user.
            sheet = await server.nearest(subjects.sheet(session))
            stored = [] if sheet is None else await server.fetch(everything, sheet.pos)
            found = [decoded(session, one) for one in stored]
            whole = found and found[0].epoch is None
            whole = whole and all(one.prev == before.pos for before, one in pairwise(found))
            if whole and found[-1].pos >= max(behind, best[-1].pos + 1 if best else 0):
                best = found
    return best
