"""Names of sessions and of epochs."""

from __future__ import annotations

__all__ = ("check_session_id", "new_epoch")

import os
import re

from compass_agent.errors.codes import ErrorCode, OperationError

_SESSION_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:-]{0,127}", re.ASCII)


def check_session_id(session: object) -> str:
    """Return `session` when it can name a session.

    A session id is an ASCII letter, digit or underscore, then up to 127 of those, colons and
    hyphens.

    Raises:
        OperationError: `unsupported_input`, when it cannot.
    """
    if isinstance(session, str) and _SESSION_ID.fullmatch(session):
        return session
    raise OperationError(ErrorCode.UNSUPPORTED_INPUT)


def new_epoch() -> str:
    """Return a new epoch: 16 random lower-case hex digits."""
    return os.urandom(8).hex()  # as `secrets` does it, which is dear to import
