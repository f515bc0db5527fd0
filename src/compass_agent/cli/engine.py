"""`compass engine init|check|trim`: the stream of a log on NATS, made, checked, made smaller."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compass_agent.cli.exits import EXIT_OK, EXIT_USAGE, CommandError
from compass_agent.cli.options import add_log_option, known_log, open_keeping
from compass_agent.cli.talk import say

if TYPE_CHECKING:
    from compass_agent.errors.codes import OperationError

NAME = "engine"
HELP = "make, check and trim the stream of a log on NATS"

_REFUSED = "conflict"

_LEAST_BYTES = 4 << 20
"""As `compass engine check` has it, of which importing is dear."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    commands = parser.add_subparsers(title="what to do", metavar="COMMAND", dest="what")
    parser.set_defaults(what=None)
    init = commands.add_parser("init", help="make the stream, with safe settings")
    init.add_argument(
        "--replicas",
        type=int,
        choices=(1, 3, 5),
        default=1,
        metavar="N",
        help="1, 3 or 5 (default 1)",
    )
    init.add_argument(
        "--max-bytes",
        type=_bound,
        default=-1,
        metavar="SIZE",
        help="how large it may become; then trace goes, and priority frames wait at their senders",
    )
    check = commands.add_parser("check", help="tell which settings would lose what was stored")
    check.add_argument(
        "--monitor",
        action="append",
        default=[],
        metavar="URL",
        help="where a server tells of itself, such as http://127.0.0.1:8222 (may be repeated)",
    )
    trim = commands.add_parser("trim", help="remove the oldest trace of every session")
    keep_help = "keep so many trace frames a session"
    trim.add_argument("--keep", type=_frames, metavar="N", help=keep_help)
    trim.add_argument("--older-than", type=_time, metavar="TIME", help="such as 12h or 30d")
    trim.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    for command in (init, check, trim):
        add_log_option(command)


def run(options: argparse.Namespace) -> int:
    """Do it; return the exit status.

    Raises:
        CommandError: A setting is not safe, or this cannot be done.
        OperationError: As the engine does.
    """
    if options.what is None:
        say("engine: say init, check or trim")
        return EXIT_USAGE
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.errors.codes import OperationError  # noqa: PLC0415 - likewise

    work = {"init": _init, "check": _check, "trim": _trim}[options.what]
    options.place = _place(options.log)
    try:
        return anyio.run(work, options)
    except OperationError as error:
        if work is not _trim:  # It has said so.
            _explain(error)
        raise


async def _init(options: argparse.Namespace) -> int:
    from compass_agent.log.jetstream.setup import init_engine, stream_settings  # noqa: PLC0415 - dear

    servers, stream, client = options.place
    settings = stream_settings(stream, replicas=options.replicas, max_bytes=options.max_bytes)
    await init_engine(servers, settings, client)
    say(f"the stream {stream} is there; to check its servers too: compass engine check")
    return EXIT_OK


async def _check(options: argparse.Namespace) -> int:
    from compass_agent.log.jetstream.setup import check_engine  # noqa: PLC0415 - dear to import

    servers, stream, client = options.place
    findings = await check_engine(servers, stream, client, monitors=options.monitor)
    for one in findings:
        sys.stdout.write(f"{one.setting} is {one.found}, not {one.wanted}: {one.reason}\n")
    if findings:
        number = len(findings)
        settings, are = ("setting", "is") if number == 1 else ("settings", "are")
        raise CommandError(f"{number} {settings} of {stream} {are} not safe", _REFUSED)
    say(f"the stream {stream} and its servers lose nothing that was answered")
    return EXIT_OK


async def _trim(options: argparse.Namespace) -> int:
    async with open_keeping(options.log) as log:
        keep = replace(
            log.retention,
            trace_frames=options.keep,
            trace_age_s=options.older_than,
            ended_age_s=None,
            total_bytes=None,
        )
        pruned = await log.prune(keep, dry_run=options.dry_run)
    verb = "would trim" if options.dry_run else "trimmed"
    for session, frames in sorted(pruned.trimmed.items()):
        sys.stdout.write(f"{verb} {session}: {frames} trace frames\n")
    say(f"the stream has {pruned.bytes_after} bytes, after {pruned.bytes_before}")
    return EXIT_OK


def _place(url: str | None) -> tuple[list[str], str, dict[str, Any]]:
    """Return the servers, the stream and the client's options that `--log` names."""
    from compass_agent.errors.extras import ExtraMissingError  # noqa: PLC0415 - dear to import
    from compass_agent.log.extras import require_extra_of  # noqa: PLC0415 - likewise

    scheme, _, rest = known_log(url).partition(":")
    if scheme != "nats":
        raise CommandError("engine: --log names no engine; say nats://HOST:PORT/STREAM")
    try:
        require_extra_of("nats:")
    except ExtraMissingError as error:
        raise CommandError(error.reason) from error
    from compass_agent.log.jetstream import servers_of  # noqa: PLC0415 - it needs the extra
    from compass_agent.log.settings import split_settings  # noqa: PLC0415 - dear to import

    return servers_of(split_settings(rest)[0])


def _explain(error: OperationError) -> None:
    from compass_agent.log.jetstream.faults import EngineError  # noqa: PLC0415 - it needs the extra

    if isinstance(error, EngineError):
        say(error.reason)


def _size(text: str) -> int:
    from compass_agent.log.settings import parse_size  # noqa: PLC0415 - dear to import

    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError("a size, such as 500MB or 64GiB") from error


def _bound(text: str) -> int:
    size = _size(text)
    if size < _LEAST_BYTES:  # The engine takes 0 for no bound at all.
        raise argparse.ArgumentTypeError("at least 4MiB")
    return size


def _frames(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError("a number of frames, 0 or more")
    return number


def _time(text: str) -> float:
    from compass_agent.log.settings import parse_duration  # noqa: PLC0415 - dear to import

    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError("a time, such as 12h or 30d") from error
