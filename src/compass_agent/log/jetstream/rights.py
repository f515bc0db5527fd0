"""What the credentials of one session's writer may do, as a NATS server is told it.

They keep the mistakes of a writer off other sessions: a wrong name, a wrong setting. They are no
wall. A server bounds what a client publishes by its subject, not by its headers, and not by where
the answer goes. So whoever means harm can still remove all sessions (`Nats-Rollup: all`, with a
message of its own session), and have the server store things in another session or ask its own
interface (both by the subject that an answer is to go to). A writer that is not trusted to that
degree writes through a hub, or has an account of its own, with a stream of its own.

Readers get no rights: they read through a hub, which has all of them.
"""

from __future__ import annotations

__all__ = ("inbox_of", "writer_rights")

import json
import re

from compass_agent.frames import check_session_id

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def inbox_of(user: str) -> str:
    """Return the subject below which a user hears answers; "": the name cannot stand in one.

    It is the user's own: at the `_INBOX` that clients share everybody would hear everything.
    """
    return f"_INBOX_{user}" if _PLAIN.fullmatch(user) else ""


def writer_rights(stream: str, session: str, *, inbox: str = "") -> str:
    """Return the `permissions` of a user of the server, or of a JWT, as JSON.

    The user writes this session, and looks up its newest messages; it reads no other session's, and
    hears no answers but its own. What guards against harm that is meant is said above.

    Args:
        stream: The stream's name.
        session: The session's id.
        inbox: Where the user hears answers, as `COMPASS_NATS_INBOX` says it; "": what the log takes
            for a user in its URL that is named as the session.

    Raises:
        OperationError: `unsupported_input`: no session id.
    """
    check_session_id(session)
    own = f"{stream}.s.{session}.>"
    rights = {
        "publish": {"allow": [own, f"$JS.API.DIRECT.GET.{stream}.{own}"]},
        "subscribe": {"allow": [f"{inbox or inbox_of(session) or '_INBOX'}.>"]},
    }
    return json.dumps(rights)
