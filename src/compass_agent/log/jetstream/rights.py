"""What the credentials of one session's writer may do, as a NATS server is told it.

Readers get none: they read through a hub, which has all of them.
"""

from __future__ import annotations

__all__ = ("writer_rights",)

import json

from compass_agent.frames import check_session_id


def writer_rights(stream: str, session: str) -> str:
    """Return the `permissions` of a user of the server, or of a JWT, as JSON.

    The user writes this session, and looks up its newest message; it reads no frames, and removes
    nothing. To look a message up, the stream's leader is asked for any: a server cannot bound that
    by the session, since the session stands in the question. So a writer that is not trusted at all
    writes through a hub.

    Raises:
        OperationError: `unsupported_input`: no session id.
    """
    check_session_id(session)
    rights = {
        "publish": {
            "allow": [f"{stream}.s.{session}.>", f"$JS.API.STREAM.MSG.GET.{stream}"],
        },
        "subscribe": {"allow": ["_INBOX.>"]},
    }
    return json.dumps(rights)
