"""How long Python takes to start, to import the package, and to run the command."""

from __future__ import annotations

__all__ = ("start_rows",)

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from measure import PAIRS, Row, compared

_IMPORT_MS = 150.0
_HELP_MS = 150.0
_COMMAND = Path(sys.executable).parent / "compass"


def start_rows() -> list[Row]:
    """Import and `compass --help`, against a Python that does nothing; limits are 150 ms each."""
    bare = (sys.executable, "-c", "pass")
    imports = (sys.executable, "-c", "import compass_agent")
    helps = (str(_COMMAND), "--help")
    return [
        _row("import compass_agent", bare, imports, _IMPORT_MS),
        _row("compass --help", bare, helps, _HELP_MS),
    ]


def _row(name: str, floor: tuple[str, ...], ours: tuple[str, ...], limit_ms: float) -> Row:
    pairs = [(_ms(floor), _ms(ours)) for _ in range(2 * PAIRS)][PAIRS:]
    return compared(
        name,
        "ms",
        pairs,
        limit=limit_ms / median(bare for bare, _ in pairs),
        limit_words=f"{limit_ms:.0f} ms",
    )


def _ms(command: tuple[str, ...]) -> float:
    before = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - before) * 1e3
