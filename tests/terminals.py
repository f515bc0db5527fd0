"""Runs the command on a pseudo-terminal of a given size, as a person has it."""

from __future__ import annotations

__all__ = ("COMMAND", "PATIENCE_S", "Terminal", "environment", "on_terminal")

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from typing import Self

COMMAND = [sys.executable, "-c", "import sys; from compass_agent.cli import main; sys.exit(main())"]
PATIENCE_S = 30


def environment(**more: str) -> dict[str, str]:
    """Return an environment as users have it: what is not flushed must show."""
    left_out = {"PYTHONUNBUFFERED", "NO_COLOR", "PAGER", "COMPASS_PAGER", "LESS"}
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**inherited, "TERM": "xterm-256color", "PYTHONUTF8": "1", "TZ": "UTC", **more}


class Terminal:
    """A command whose stdout, and stderr when asked for, are a terminal of `columns` by 24.

    Args:
        arguments: Of `compass`.
        columns: The width.
        both: Stderr is the terminal, too; else it is a pipe.
        variables: Environment variables beside the usual ones.
    """

    def __init__(
        self, *arguments: str, columns: int = 80, both: bool = False, **variables: str
    ) -> None:
        self._main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal if both else subprocess.PIPE,
            env=environment(**variables),
            start_new_session=True,
        )
        os.close(terminal)
        self.text = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        os.close(self._main)

    def _more(self) -> bool:
        """Read what comes next; False: the terminal was closed, which Linux tells as an error."""
        assert select.select([self._main], [], [], PATIENCE_S)[0], f"nothing came: {self.text}"
        try:
            piece = os.read(self._main, 65536)
        except OSError:
            return False
        self.text += piece.decode("utf-8", "replace")
        return bool(piece)

    def until(self, wanted: str) -> None:
        """Read until `wanted` is there."""
        while wanted not in self.text:
            assert self._more(), f"the terminal was closed: {self.text}"

    def end(self) -> int:
        """Read to the end; return the exit status."""
        while self._more():
            pass
        return self.process.wait(PATIENCE_S)


def on_terminal(*arguments: str, columns: int = 80, **variables: str) -> tuple[str, int]:
    """Return all that the command prints on a terminal, and its exit status."""
    with Terminal(*arguments, columns=columns, both=False, **variables) as terminal:
        status = terminal.end()
        return terminal.text.replace("\r\n", "\n"), status
