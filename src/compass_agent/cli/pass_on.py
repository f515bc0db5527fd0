"""Writes to one of our own outputs without ever blocking the event loop."""

from __future__ import annotations

__all__ = ("PassOn",)

import os
import select

import anyio

# A pipe that polls as writable takes this many bytes without blocking (POSIX).
_PIPE_BUF = select.PIPE_BUF


class PassOn:
    """Passes bytes on to a file descriptor; when its reader is gone it swallows the rest.

    Args:
        fd: The descriptor: a pipe, a terminal or a file.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._open = True
        # A regular file is always writable, and event loops refuse to poll it.
        self._pollable = True

    async def send(self, data: bytes) -> None:
        """Write all of `data`, as fast as the reader takes it."""
        view = memoryview(data)
        while view and self._open:
            await self._wait()
            try:
                written = os.write(self._fd, view[:_PIPE_BUF])
            except BlockingIOError:
                continue
            except OSError:
                self._open = False
                return
            view = view[written:]

    async def _wait(self) -> None:
        if not self._pollable:
            return
        try:
            await anyio.wait_writable(self._fd)
        except (OSError, ValueError):
            self._pollable = False
