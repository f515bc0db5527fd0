"""What `compass run` and `compass replay` say on standard error, and the options they share."""

from __future__ import annotations

__all__ = ("add_session_options", "new_session_id", "secrets_of", "tell_outcome", "tell_session")

import datetime as dt
import os
import secrets
import sys
from typing import TYPE_CHECKING

from compass_agent.errors import FailureDetail, advise
from compass_agent.frames import AgentSessionState
from compass_agent.view import neutralise

if TYPE_CHECKING:
    import argparse

    from compass_agent.runtime import Session


def add_session_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a command that records a session."""
    parser.add_argument("--session", metavar="ID", help="the session's id; else a new one")
    parser.add_argument("--title", default="", help="what the session is about")
    parser.add_argument(
        "--secret-env",
        action="append",
        default=[],
        metavar="NAME",
        help="mask the value of this environment variable everywhere (may be repeated)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing on stderr")


def secrets_of(options: argparse.Namespace) -> list[str]:
    """Return the values of the environment variables that the user named."""
    names: list[str] = options.secret_env
    return [os.environ.get(name, "") for name in names]


def new_session_id(kind: str) -> str:
    """Return an id that sorts by time, such as `run-20261130-104719-3fa2`."""
    now = dt.datetime.now().astimezone()
    return f"{kind}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def tell_session(options: argparse.Namespace, session_id: str) -> None:
    """Say which session is recorded and how to tail it."""
    if not options.quiet:
        print(f"compass: session {session_id}  (compass tail {session_id})", file=sys.stderr)


def tell_outcome(options: argparse.Namespace, session: Session) -> None:
    """Say what went wrong, when the session failed, and whether frames were lost."""
    if options.quiet:
        return
    error = session.last_error
    if session.state == AgentSessionState.AGENT_SESSION_STATE_ERRORED and error is not None:
        status = error.status if error.HasField("status") else None
        wait = error.retry_after_ms / 1000 if error.HasField("retry_after_ms") else None
        detail = FailureDetail(
            message=error.message,
            status=status,
            retry_after_s=wait,
            code=error.code,
            request_id=error.request_id,
        )
        advice = advise(detail)
        http = "" if status is None else f" (HTTP {status})"
        message = neutralise(error.message.splitlines()[0] if error.message else "no message")
        print(f"compass: {advice.title}{http}: {message}", file=sys.stderr)
        print(f"compass: {advice.guidance}", file=sys.stderr)
    lost = session.statistics().trace.lost
    if lost:
        print(f"compass: {lost} trace frames were lost; readers are told where", file=sys.stderr)
