"""Breaks off the connections that came in at a place, when who serves them cannot.

gRPC ends a connection only once the other side took what is being written to it, and neither its
calls nor its threads end before.
"""

from __future__ import annotations

__all__ = ("break_off",)

import errno
import os
import socket
import stat
from contextlib import suppress

_OPEN_FILES = "/dev/fd"


def break_off(places: list[str]) -> int:
    """Shut down the connections of this process that came in at these places; return how many.

    Their files stay open: whoever has them learns that they ended.

    Args:
        places: `unix:PATH` or `HOST:PORT`.
    """
    wanted = {_told_by(place) for place in places}
    broken = 0
    for name in os.listdir(_OPEN_FILES):  # noqa: PTH208 - numbers, not paths
        # Other threads open and close files meanwhile.
        with suppress(OSError), _copied(int(name)) as connection:
            connection.getpeername()  # what listens has none
            if _place_of(connection) in wanted:
                connection.shutdown(socket.SHUT_RDWR)
                broken += 1
    return broken


def _told_by(place: str) -> str:
    """Return what tells a place from others of this machine: the path, or the port."""
    return place if place.startswith("unix:") else place.rpartition(":")[2]


def _copied(fd: int) -> socket.socket:
    """Return a socket of its own for the one that is open as `fd`.

    Raises:
        OSError: There is none.
    """
    copy = os.dup(fd)
    try:
        if stat.S_ISSOCK(os.fstat(copy).st_mode):
            return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise
    os.close(copy)
    raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK))


def _place_of(connection: socket.socket) -> str | None:
    name = connection.getsockname()
    if connection.family == socket.AF_UNIX:
        return f"unix:{os.fsdecode(name)}"
    return str(name[1]) if connection.family in (socket.AF_INET, socket.AF_INET6) else None
