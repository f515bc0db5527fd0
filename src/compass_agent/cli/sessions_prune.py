"""`compass sessions prune`: removes now what the log does not keep, or says what that would be."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compass_agent.cli.exits import EXIT_OK
from compass_agent.cli.options import add_log_option, log_exists, open_keeping
from compass_agent.cli.talk import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.log import Pruned

NAME = "prune"
HELP = "remove old sessions and old trace now"

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    add_log_option(parser, default=argparse.SUPPRESS)
    limits = parser.add_argument_group(
        "limits",
        "What is not said here is as --log says, or 30 days and 2 GiB. Sessions at work are never"
        " removed, priority frames of a session that stays neither.",
    )
    limits.add_argument(
        "--older-than",
        metavar="TIME",
        dest="ended_age_s",
        type=_time,
        help="remove sessions that have been over for so long, such as 30d",
    )
    limits.add_argument(
        "--max-bytes",
        metavar="SIZE",
        dest="total_bytes",
        type=_size,
        help="remove the sessions that have been over for longest while the log is larger, such as"
        " 2GiB",
    )
    limits.add_argument(
        "--trace-frames",
        metavar="N",
        type=_count,
        help="keep so many trace frames of a session, the newest",
    )
    limits.add_argument(
        "--trace-bytes", metavar="SIZE", type=_size, help="keep so many bytes of them"
    )
    limits.add_argument(
        "--trace-older-than",
        metavar="TIME",
        dest="trace_age_s",
        type=_time,
        help="remove trace that was stored so long ago",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be removed, and about how much"
    )
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object"
    )


def run(options: argparse.Namespace) -> int:
    """Prune the log; return the exit status.

    Raises:
        OperationError: As reading and writing the log does.
    """
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.log import Pruned  # noqa: PLC0415 - likewise

    pruned = anyio.run(_prune, options) if log_exists(options.log) else Pruned()
    if options.json:
        sys.stdout.write(json.dumps(_to_dict(pruned, dry_run=options.dry_run)) + "\n")
    else:
        _tell(pruned, dry_run=options.dry_run)
    return EXIT_OK


async def _prune(options: argparse.Namespace) -> Pruned:
    names = ("ended_age_s", "total_bytes", "trace_frames", "trace_bytes", "trace_age_s")
    said = {name: getattr(options, name) for name in names}
    limits = {name: limit for name, limit in said.items() if limit is not None}
    async with open_keeping(options.log) as log:
        return await log.prune(replace(log.retention, **limits), dry_run=options.dry_run)


def _to_dict(pruned: Pruned, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dryRun": dry_run,
        "removed": list(pruned.removed),
        "trimmed": [
            {"session": session, "frames": frames}
            for session, frames in sorted(pruned.trimmed.items())
        ],
        "bytesBefore": pruned.bytes_before,
        "bytesAfter": pruned.bytes_after,
    }


def _tell(pruned: Pruned, *, dry_run: bool) -> None:
    for session in pruned.removed:
        sys.stdout.write(f"{'would remove' if dry_run else 'removed'} {session}\n")
    for session, frames in sorted(pruned.trimmed.items()):
        verb = "would trim" if dry_run else "trimmed"
        sys.stdout.write(f"{verb} {session}: {frames} trace frames\n")
    if not pruned.removed and not pruned.trimmed:
        say(f"there is nothing to remove; the log has {_amount(pruned.bytes_after)}")
        return
    says = "the log would have about" if dry_run else "the log has"
    before, after = _amount(pruned.bytes_before), _amount(pruned.bytes_after)
    say(f"{says} {after}, after {before}")


def _amount(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} {_UNITS[-1]}"


def _time(text: str) -> float:
    from compass_agent.log.settings import parse_duration  # noqa: PLC0415 - dear to import

    return _parsed(parse_duration, text, "a time, such as 90s, 12h, 30d or 2w")


def _size(text: str) -> int:
    from compass_agent.log.settings import parse_size  # noqa: PLC0415 - dear to import

    return round(_parsed(parse_size, text, "a size, such as 500MB, 64KiB or 2GiB"))


def _count(text: str) -> int:
    from compass_agent.log.settings import parse_count  # noqa: PLC0415 - dear to import

    return round(_parsed(parse_count, text, "a whole number, 0 or more"))


def _parsed(parse: Callable[[str], float], text: str, what: str) -> float:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(what) from error
