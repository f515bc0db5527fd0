"""Runs the installed command as users do: a process of its own."""

from __future__ import annotations

__all__ = ("COMPASS", "compass", "started")

import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPASS = str(Path(sys.executable).with_name("compass"))


def compass(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    stdin: IO[bytes] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [COMPASS, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=45,
        check=False,
        env=env,
        stdin=stdin,
    )


def started(*arguments: str | Path, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start the command; its outputs are pipes unless `stderr` is a descriptor."""
    return subprocess.Popen(
        [COMPASS, *map(str, arguments)], stdout=subprocess.PIPE, stderr=stderr, text=True
    )
