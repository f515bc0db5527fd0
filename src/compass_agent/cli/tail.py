"""`compass tail SESSION`: what there is of a session, then what comes, until it ends.

Data goes to stdout, talk to stderr. The exit status tells how the session was left.
"""

from __future__ import annotations

__all__ = ("HELP", "LISTS", "NAME", "add_arguments", "run")

import argparse
import re
from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_USAGE, CommandError
from compass_agent.cli.options import add_log_option, add_look_options
from compass_agent.cli.source import SESSION_OR_FILE_HELP
from compass_agent.cli.spans import count_or_all, moment, seconds, whole_number
from compass_agent.cli.until import UNTIL_HELP, Goal

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.frames import Cursor

NAME = "tail"
HELP = "show what a session does, and what went wrong"

_USUAL = -1
_FAIL_ON = {name: name for name in ("error", "abort", "tool", "gap")}
_KINDS = {
    "text": "assistant_text",
    "thinking": "thinking",
    "tool": "tool_call",
    "plan": "plan",
    "prompt": "prompt",
    "notice": "notice",
    "injection": "session_injection",
    "error": "session_error",
    "state": "state",
    "unknown": "unknown",
}
"""What a kind is called here, and what entries of it are called."""
LISTS = {"kind": _KINDS, "not_kind": _KINDS, "fail_on": _FAIL_ON}
"""What an option that takes a list may hold, by its name in the options."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    parser.add_argument("session", metavar="SESSION", help=SESSION_OR_FILE_HELP)
    add_log_option(parser)
    _add_range(parser)
    _add_choice(parser)
    _add_detail(parser)
    _add_output(parser)
    group = parser.add_argument_group("connection and exit status")
    group.add_argument(
        "--wait",
        metavar="TIME",
        type=seconds,
        help="how long to wait for a session that does not exist yet (default: 10s, with"
        " --no-follow 0)",
    )
    group.add_argument(
        "--no-reconnect", action="store_true", help="give up when the connection to a hub breaks"
    )
    group.add_argument(
        "--fail-on",
        metavar="WHAT,…",
        type=_list(_FAIL_ON),
        default=frozenset(),
        help="end with a failure also for a failure that was got over (error; exit 3 or 75), a stop"
        " (abort; 7), a tool call that failed (tool; 3), missing frames (gap; 6)",
    )


def _add_range(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to read")
    follow = group.add_mutually_exclusive_group()
    follow.add_argument(
        "-f", "--follow", action="store_true", help="go on with what comes (the default)"
    )
    follow.add_argument("--no-follow", action="store_true", help="stop at the end of what is there")
    group.add_argument(
        "-n",
        "--tail",
        dest="last",
        metavar="N",
        type=count_or_all,
        default=_USUAL,
        help="begin with the last N entries, or all (default: 50 when text is followed, else all)",
    )
    group.add_argument(
        "--since", metavar="TIME", type=moment, help="begin at this time: 10m ago, or ISO 8601"
    )
    group.add_argument(
        "--after", metavar="CURSOR", type=_cursor, help="show only what comes after this place"
    )
    group.add_argument("--until", choices=[goal.value for goal in Goal], help=UNTIL_HELP)
    group.add_argument(
        "--timeout", metavar="TIME", type=seconds, help="stop after this time, with exit status 124"
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to show; what is missing, and ends, always are")
    group.add_argument(
        "--kind",
        metavar="KIND,…",
        type=_list(_KINDS),
        default=frozenset(),
        help=f"only these: {', '.join(_KINDS)}",
    )
    group.add_argument(
        "--not-kind",
        metavar="KIND,…",
        type=_list(_KINDS),
        default=frozenset(),
        help="none of these",
    )
    group.add_argument(
        "--problems",
        action="store_true",
        help="only failures, stops, tool calls that failed, and states that are none to stay in",
    )
    group.add_argument(
        "--grep", metavar="RE", type=_pattern, help="only entries whose text has this expression"
    )


def _add_detail(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how much of it, as text")
    group.add_argument(
        "--thinking",
        choices=("none", "short", "full"),
        help="how much of the agent's reasoning to show (default: short)",
    )
    group.add_argument(
        "--output-lines",
        metavar="N",
        type=whole_number,
        help="lines of a tool's output to show (default: 10)",
    )
    group.add_argument(
        "--diff",
        choices=("none", "stat", "full"),
        default="full",
        help="how much of the changes of files to show (default: full)",
    )
    group.add_argument(
        "-v", "--verbose", action="store_true", help="shorten nothing that is not asked for"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how to show it")
    group.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "md"),
        default="text",
        help="lines for people, one JSON object a line and complete, or Markdown (default: text)",
    )
    group.add_argument(
        "--json", dest="output", action="store_const", const="json", help="the same as -o json"
    )
    group.add_argument(
        "--time",
        choices=("clock", "iso", "rel", "delta", "none"),
        default="clock",
        help="the time of day, all of the time, since the first entry, or since the one before",
    )
    group.add_argument("--utc", action="store_true", help="times in UTC, not in local time")
    group.add_argument(
        "--no-pager", action="store_true", help="with --no-follow on a terminal: use no pager"
    )
    add_look_options(parser)


def run(options: argparse.Namespace) -> int:
    """Tail the session; return the exit status.

    Raises:
        OperationError: As reading the log does.
        CommandError: As the command line or a file has it.
    """
    if options.no_follow and options.until:
        raise CommandError("--until needs to follow: leave --no-follow out", EXIT_USAGE)
    if options.after is not None and (options.since is not None or options.last != _USUAL):
        raise CommandError("--after says where to begin: leave -n and --since out", EXIT_USAGE)
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.cli.following import tail_session  # noqa: PLC0415 - dear to import

    return anyio.run(tail_session, options)


def _list(names: dict[str, str]) -> Callable[[str], frozenset[str]]:
    known = names | {value: value for value in names.values()}

    def parse(text: str) -> frozenset[str]:
        words = [word.strip() for word in text.split(",")]
        if any(word not in known for word in words):
            raise argparse.ArgumentTypeError(f"some of {', '.join(names)}, with commas between")
        return frozenset(known[word] for word in words)

    return parse


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"no regular expression: {error}") from error


def _cursor(text: str) -> Cursor:
    from compass_agent.frames import Cursor, InvalidCursorError  # noqa: PLC0415 - dear to import

    try:
        return Cursor.parse(text)
    except InvalidCursorError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
