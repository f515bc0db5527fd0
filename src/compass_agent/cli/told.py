"""What `compass run` and `compass replay` say on standard error, and the options they share."""

from __future__ import annotations

__all__ = (
    "add_session_options",
    "new_session_id",
    "secrets_of",
    "session_id_of",
    "tell_off",
    "tell_outcome",
    "tell_session",
    "unusable_log",
)

import datetime as dt
import os
import secrets
import shlex
from typing import TYPE_CHECKING

from compass_agent.cli.exits import CommandError
from compass_agent.cli.options import known_log, why_refused
from compass_agent.cli.talk import say
from compass_agent.errors import OperationError
from compass_agent.errors.extras import ExtraMissingError
from compass_agent.frames import AgentSessionState, check_session_id
from compass_agent.log import is_hub, open_log
from compass_agent.log.extras import require_extra_of
from compass_agent.log.hubs import hub_way
from compass_agent.runtime.off import is_off
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


def session_id_of(options: argparse.Namespace, kind: str) -> str:
    """Return the id that the user gave, else a new one; any will do when nothing is recorded.

    Raises:
        CommandError: What the user gave can name no session.
    """
    given: str | None = options.session
    try:
        if given is None or is_off():
            return given or new_session_id(kind)
        return check_session_id(given)
    except OperationError as error:
        raise CommandError(
            f"--session {given}: an id is a letter, digit or underscore, then up to 127 of those, "
            "colons and hyphens"
        ) from error


async def unusable_log(options: argparse.Namespace) -> OperationError | None:
    """Return why the log cannot be used now, having said so; None: it can.

    Raises:
        CommandError: `--log` names no log that this version knows, or one that needs an extra.
    """
    url = known_log(options.log)
    try:
        require_extra_of(url)
        if is_hub(url):
            _, token = hub_way(url)
            if token is None and url.startswith("grpc:"):
                say(f"{url}: such a hub asks for a token, and COMPASS_TOKEN_FILE names none")
        elif not url.startswith("memory:"):
            await open_log(url).aclose()
    except ExtraMissingError as error:
        raise CommandError(f"--log {options.log or url}: {error.reason}") from error
    except OperationError as error:
        say(f"{url}: {why_refused(error) or error.message}")
        return error
    return None


def tell_session(options: argparse.Namespace, session: Session) -> None:
    """Say which session is recorded and how to tail it, or that nothing is."""
    if not session.enabled:
        tell_off()
    elif options.quiet:
        return
    else:
        log = f" --log {shlex.quote(options.log)}" if options.log else ""
        say(f"session {session.session_id}; to follow it: compass tail {session.session_id}{log}")


def tell_off() -> None:
    """Say that nothing is recorded."""
    say("COMPASS_OFF is set: nothing is recorded")


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
    now = session.statistics()
    unsent = now.priority.waiting + now.priority.in_doubt
    if unsent:
        say(f"the session log did not take all: {unsent + now.trace.lost} frames are not there")
    elif now.trace.lost:
        say(f"{now.trace.lost} trace frames were lost; readers are told where")
