"""What `compass run` and `compass replay` say on standard error, and the options they share."""

from __future__ import annotations

__all__ = ("add_session_options", "new_session_id", "secrets_of", "tell_outcome", "tell_session")

import datetime as dt
import os
import secrets
import shlex
from typing import TYPE_CHECKING

from compass_agent.cli.options import say
from compass_agent.frames import AgentSessionState
from compass_agent.view.failure import explain
from compass_agent.view.neutralise import one_line

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
        log = f" --log {shlex.quote(options.log)}" if options.log else ""
        say(f"session {session_id}; to follow it: compass tail {session_id}{log}")


def tell_outcome(options: argparse.Namespace, session: Session) -> None:
    """Say what went wrong, when the session failed, and whether frames were lost."""
    if options.quiet:
        return
    error = session.last_error
    if session.state == AgentSessionState.AGENT_SESSION_STATE_ERRORED and error is not None:
        cause = explain(error)
        http = f" ({cause.http})" if cause.http else ""
        say(f"{cause.title}{http}: {one_line(cause.headline)}")
        say(cause.guidance)
    lost = session.statistics().trace.lost
    if lost:
        say(f"{lost} trace frames were lost; readers are told where")
