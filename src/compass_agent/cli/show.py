"""`compass show SESSION`: how one session stands, what went wrong, what it holds and lacks."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import json
import sys
import time
from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_OK
from compass_agent.cli.options import add_log_option, add_look_options, style_of
from compass_agent.cli.source import SESSION_OR_FILE_HELP, open_source, session_in
from compass_agent.cli.talk import terminal_width

if TYPE_CHECKING:
    import argparse

    from compass_agent.services.detail import SessionDetail

NAME = "show"
HELP = "tell how one session stands, and what went wrong"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    parser.add_argument("session", metavar="SESSION", help=SESSION_OR_FILE_HELP)
    add_log_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--utc", action="store_true", help="times in UTC, not in local time")
    add_look_options(parser)


def run(options: argparse.Namespace) -> int:
    """Show the session; return the exit status: 0 also for one that failed.

    Raises:
        OperationError: As reading the log does.
    """
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.services.as_json import detail_to_dict  # noqa: PLC0415 - dear to import
    from compass_agent.view.session_card import session_card  # noqa: PLC0415 - dear to import

    detail = anyio.run(_detail, options)
    if options.json:
        sys.stdout.write(json.dumps(detail_to_dict(detail)) + "\n")
        return EXIT_OK
    summary = detail.row.summary
    facts = {
        "session": summary.session,
        "title": summary.title,
        "agent": f"{summary.agent} {summary.version}".strip(),
        "opened": _time(summary.opened_ms, utc=options.utc),
        "updated": _time(summary.updated_ms, utc=options.utc),
        "frames": ", ".join(f"{count} {kind}" for kind, count in detail.kinds.items()) or "none",
        "missing": _missing(detail),
        "place": str(detail.last),
    }
    text = session_card(
        summary.state, detail.row.cause, facts, style_of(options), width=terminal_width()
    )
    sys.stdout.write(text)
    return EXIT_OK


async def _detail(options: argparse.Namespace) -> SessionDetail:
    from compass_agent.services.detail import get_session  # noqa: PLC0415 - dear to import

    async with open_source(options.session, options.log) as log:
        name = (await session_in(log, options.session)).session
        return await get_session(log, name)


def _missing(detail: SessionDetail) -> str:
    if not detail.missing:
        return ""
    places = "place" if len(detail.gaps) == 1 else "places"
    return f"{detail.missing} frames, at {len(detail.gaps)} {places}"


def _time(at_ms: int, *, utc: bool) -> str:
    if not at_ms:
        return ""
    parts = time.gmtime(at_ms // 1000) if utc else time.localtime(at_ms // 1000)
    return time.strftime("%Y-%m-%d %H:%M:%S", parts) + (" UTC" if utc else "")
