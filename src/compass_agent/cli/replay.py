"""`compass replay FILE`: records a session from an agent's saved output."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import sys
from typing import TYPE_CHECKING

import anyio

from compass_agent.adapters import FORMATS, adapter_for
from compass_agent.cli.exits import CommandError, session_exit
from compass_agent.cli.options import add_log_option
from compass_agent.cli.progress import Progress
from compass_agent.cli.recording import Recording
from compass_agent.cli.replay_export import is_export, replay_export
from compass_agent.cli.told import (
    add_session_options,
    secrets_of,
    session_id_of,
    tell_outcome,
    tell_session,
    unusable_log,
)
from compass_agent.runtime import Session, open_session
from compass_agent.runtime.off import is_off

if TYPE_CHECKING:
    import argparse

    from compass_agent.adapters import AgentAdapter

NAME = "replay"
HELP = "record a session from an agent's saved output, or from an export"

_EXPORT = "compass"

# A file can be read faster than it is published; unlike an agent, it can wait.
_TRACE_CAPACITY = 4_096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_log_option(parser)
    add_session_options(parser)
    parser.add_argument("file", metavar="FILE", help="the saved output, also .gz; - for stdin")
    parser.add_argument("--pace", action="store_true", help="at the pace of the recording")
    parser.add_argument(
        "--within",
        type=float,
        metavar="SECONDS",
        help="with --pace: compress pauses so that the whole takes no longer",
    )
    parser.add_argument(
        "--format",
        choices=(*FORMATS, _EXPORT),
        default="auto",
        help="of the file (auto: look at it; compass: an export, whose frames are stored again)",
    )


def run(options: argparse.Namespace) -> int:
    """Replay the file; return the exit status."""
    return anyio.run(_run, options, backend="asyncio")


async def _run(options: argparse.Namespace) -> int:
    recording = Recording.open(options.file)
    session_id = session_id_of(options, "replay")
    if options.format == _EXPORT or (options.format == "auto" and is_export(recording)):
        return await replay_export(recording, session_id, options)
    if options.format == "auto":
        recording.require_known_format()
    unusable = None if is_off() else await unusable_log(options)
    if unusable is not None:
        raise CommandError("nothing was recorded", unusable.exit_status)
    session = open_session(
        session_id,
        log=options.log,
        title=options.title or recording.name,
        agent=recording.agent,
        version=recording.version,
        secrets=secrets_of(options),
        trace_capacity=_TRACE_CAPACITY,
    )
    tell_session(options, session)
    delays = recording.delays(options.within) if options.pace else None
    async with session:
        await _feed(session, recording, adapter_for(options.format), delays)
    tell_outcome(options, session)
    return session_exit(session.state, session.last_error)


async def _feed(
    session: Session, recording: Recording, adapter: AgentAdapter, delays: list[float] | None
) -> None:
    started = anyio.current_time()
    with Progress(recording.size, sys.stderr) as progress:
        for number, line in enumerate(recording.lines()):
            if delays is not None:
                await anyio.sleep_until(started + delays[min(number, len(delays) - 1)])
            for event in adapter.feed(line):
                session.feed(event)
            progress.advance(len(line))
            await _wait_for_room(session)
    for event in adapter.end(exit_code=recording.exit_code, stderr_tail=recording.stderr):
        session.feed(event)


async def _wait_for_room(session: Session) -> None:
    while session.statistics().trace.waiting > _TRACE_CAPACITY // 2:  # noqa: ASYNC110 - the sink's counters are of another thread
        await anyio.sleep(0.001)
