"""Hands text to the user's pager, when there is a terminal and all of it is there."""

from __future__ import annotations

__all__ = ("Pager", "pager_command")

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_./+-]+")


def pager_command() -> str | None:
    """Return the user's pager: `COMPASS_PAGER`, `PAGER`, else less or more; None: there is none.

    Empty, or `cat`, means none; so does a command that is not there.
    """
    for name in ("COMPASS_PAGER", "PAGER"):
        command = os.environ.get(name)
        if command is not None:
            wanted = command.strip() not in ("", "cat") and _is_there(command)
            return command if wanted else None
    return next((name for name in ("less", "more") if shutil.which(name)), None)


def _is_there(command: str) -> bool:
    """Tell whether the shell would find the program; what only a shell understands it may have."""
    try:
        words = shlex.split(command)
    except ValueError:
        return True
    program = next((word for word in words if "=" not in word), "")
    return not _PLAIN_NAME.fullmatch(program) or shutil.which(program) is not None


class Pager:
    """Where text goes: the pager's standard input.

    Args:
        command: Run by the shell, as everything that takes a pager from the environment does.
    """

    def __init__(self, command: str) -> None:
        # Of less: leave when it fits one screen, show colours, leave the text on the screen.
        environment = {"LESS": "FRX", **os.environ}
        self._process = subprocess.Popen(  # noqa: S602 - it is the user's own setting
            command, shell=True, stdin=subprocess.PIPE, env=environment
        )

    def write(self, text: str) -> None:
        """Write `text`.

        Raises:
            BrokenPipeError: The user has left.
        """
        pipe = self._process.stdin
        if pipe is not None:
            pipe.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
            pipe.flush()

    def close(self) -> None:
        """Wait until the user has left."""
        pipe = self._process.stdin
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        while True:
            try:
                self._process.wait()
            except KeyboardInterrupt:  # it is the pager's: in less it stops a search
                continue
            return
