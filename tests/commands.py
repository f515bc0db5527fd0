"""Runs the installed command as users do: a process of its own."""

from __future__ import annotations

__all__ = ("COMPASS", "compass", "started")

import subprocess
import sys
from pathlib import Path
from typing import Any

COMPASS = str(Path(sys.executable).with_name("compass"))


def compass(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 30, **options}
    done: Any = subprocess.run([COMPASS, *map(str, arguments)], check=False, **settings)
    return done


def started(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start the command; its outputs are pipes."""
    settings: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        **options,
    }
    return subprocess.Popen([COMPASS, *map(str, arguments)], **settings)
