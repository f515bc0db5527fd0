"""Notices at once that nobody reads our standard output any more, also while nothing is written."""

from __future__ import annotations

__all__ = ("until_closed",)

import os
import select
import stat
import sys

import anyio

_GONE = select.POLLERR | select.POLLHUP


async def until_closed() -> None:
    """Wait until the reader of a pipe or socket is gone; for any other output, for ever.

    Raises:
        BrokenPipeError: It is gone.
    """
    descriptor = _pipe()
    while descriptor is not None:
        try:
            # The end for writing is never readable: this returns when the other end closes.
            await anyio.wait_readable(descriptor)
        except (OSError, ValueError):  # this event loop cannot watch it
            break
        poll = select.poll()
        poll.register(descriptor, 0)
        if any(events & _GONE for _, events in poll.poll(0)):
            raise BrokenPipeError
        break  # a socket whose other end sends something: no sign of the reader
    await anyio.sleep_forever()


def _pipe() -> int | None:
    try:
        descriptor = sys.stdout.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):  # closed at the start, or no file
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None
