"""The recorded runs that tests read."""

from __future__ import annotations

__all__ = ("COMMANDS", "Recorded", "recordings")

import gzip
import io
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data"
COMMANDS = DATA / "clis"
FOLDER_VARIABLE = "COMPASS_TEST_RECORDINGS"


@dataclass(frozen=True)
class Recorded:
    """One recorded run."""

    path: Path
    name: str

    def __str__(self) -> str:
        return self.name

    def data(self) -> bytes:
        """What the agent wrote."""
        data = self.path.read_bytes()
        return gzip.decompress(data) if self.path.suffix == ".gz" else data

    def lines(self) -> list[bytes]:
        """Its lines, with their ends."""
        return [*io.BytesIO(self.data())]

    def events(self) -> list[dict[str, Any]]:
        """Its lines as JSON objects, half lines apart."""
        events: list[dict[str, Any]] = []
        for line in _lines(self.data()):
            try:
                events.append(json.loads(line))
            except ValueError:
                continue
        return events

    @property
    def exit_code(self) -> int | None:
        """How the agent's process ended; None: not known."""
        beside = (Path(f"{self.path}.meta.json"), self.path.with_suffix(".meta.json"))
        below = self.path.parent / "meta" / self.path.name.removesuffix(".gz")[:-1]
        for candidate in (*beside, below):
            if candidate.exists():
                return json.loads(candidate.read_bytes()).get("exit_code")
        return None

    def lost_its_deltas(self, message: dict[str, Any]) -> bool:
        """Tell whether the agent itself shortened this message's deltas or its final text."""
        return "elided for RPC frame" in json.dumps(message)


def _lines(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n") if line]


@cache
def recordings() -> tuple[Recorded, ...]:
    """Every recorded run of pi and its relatives: those of tests/data, or of another folder."""
    folder = Path(os.environ.get(FOLDER_VARIABLE) or DATA)
    paths = sorted([*folder.rglob("*.jsonl"), *folder.rglob("*.jsonl.gz")])
    runs = [path for path in paths if path.parent != DATA and COMMANDS not in path.parents]
    return tuple(Recorded(path, path.relative_to(folder).as_posix()) for path in runs)
