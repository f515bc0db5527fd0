"""Standard output that nobody reads: noticed at once, also while nothing is written."""

from __future__ import annotations

__all__ = ("ClosedOutput", "until_closed")

import errno
import io
import os
import select
import stat
import sys

_GONE = select.POLLERR | select.POLLHUP


class ClosedOutput(io.StringIO):
    """Stands for a standard output that was closed before the command began."""

    def __init__(self) -> None:
        super().__init__()
        self._descriptor = os.open(os.devnull, os.O_WRONLY)

    def write(self, text: str, /) -> int:
        """Raise OSError, unless there is nothing to write."""
        if text:
            raise OSError(errno.EBADF, "standard output is closed")
        return 0

    def fileno(self) -> int:
        """Return a descriptor of the null device, for those who do not mind."""
        return self._descriptor


async def until_closed() -> None:
    """Wait until the reader of a pipe or socket is gone; for any other output, for ever.

    Raises:
        BrokenPipeError: It is gone.
    """
    import anyio  # noqa: PLC0415 - dear to import

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
