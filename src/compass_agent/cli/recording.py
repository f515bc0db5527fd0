"""A saved agent's output: its lines, when each came, and how the agent ended."""

from __future__ import annotations

__all__ = ("Recording",)

import json
import sys
import zlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from compass_agent.adapters import detect
from compass_agent.cli.exits import EXIT_NO_INPUT, CommandError
from compass_agent.errors.shapes import as_list, as_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_GZIP_MAGIC = b"\x1f\x8b"
# A recording is known by one of its first lines; text may stand before them.
_LINES_TO_LOOK_AT = 50


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording in memory.

    Attributes:
        name: For people.
        data: The output, as bytes.
        meta: What `FILE.meta.json` says: `exit_code`, `stderr`, `arrival_ms`, `agent`, `version`.
    """

    name: str
    data: bytes
    meta: Mapping[str, object]

    @classmethod
    def open(cls, name: str) -> Recording:
        """Read a file, `-` for standard input; gzip is unpacked, as far as it is whole.

        Raises:
            CommandError: It is not there, cannot be read, or is no gzip although it says so.
        """
        try:
            data = _standard_input() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}", EXIT_NO_INPUT) from error
        if data.startswith(_GZIP_MAGIC):
            data = _unpacked(name, data)
        return cls(Path(name).name, data, {} if name == "-" else _read_meta(Path(name)))

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self.data)

    @property
    def exit_code(self) -> int | None:
        """How the agent's process ended; None: not known."""
        code = self.meta.get("exit_code")
        return code if isinstance(code, int) else None

    @property
    def stderr(self) -> str:
        """The end of the agent's standard error."""
        return self._text("stderr")

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._text("agent")

    @property
    def version(self) -> str:
        """The agent's version."""
        return self._text("version")

    def _text(self, key: str) -> str:
        value = self.meta.get(key)
        return value if isinstance(value, str) else ""

    def lines(self) -> Iterator[bytes]:
        """Yield its lines, each with its end; the last may have none."""
        start = 0
        while start < len(self.data):
            end = self.data.find(b"\n", start) + 1 or len(self.data)
            yield self.data[start:end]
            start = end

    def require_known_format(self) -> None:
        """Check that the first lines are of an agent that is known.

        Raises:
            CommandError: None is.
        """
        for _, line in zip(range(_LINES_TO_LOOK_AT), self.lines(), strict=False):
            if detect(line) is not None:
                return
        raise CommandError(
            f"{self.name}: none of its first lines is of an agent that is known; "
            "--format text takes it all the same"
        )

    def delays(self, within: float | None = None) -> list[float]:
        """Return when each line came, in seconds after the first.

        The arrival times of the meta file count, else the events' own times.

        Args:
            within: Scale the times so that the last is no later than this.
        """
        arrivals = [
            value / 1000
            for value in as_list(self.meta.get("arrival_ms"))
            if isinstance(value, int | float)
        ]
        times = arrivals or [*_own_times(self.lines())] or [0.0]
        times = [max(0.0, time - times[0]) for time in times]
        longest = max(times)
        if within is not None and longest > within:
            times = [time * within / longest for time in times]
        return times


def _standard_input() -> bytes:
    if sys.stdin is None:  # it was closed at the start
        raise CommandError("standard input is closed", EXIT_NO_INPUT)
    return sys.stdin.buffer.read()


def _unpacked(name: str, packed: bytes) -> bytes:
    """Unpack gzip, of several members too; what comes before a damage is kept."""
    pieces: list[bytes] = []
    while packed:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            pieces.append(member.decompress(packed))
        except zlib.error as error:
            if not any(pieces):
                raise CommandError(f"{name}: damaged gzip") from error
            break
        packed = member.unused_data
    return b"".join(pieces)


def _read_meta(path: Path) -> Mapping[str, object]:
    for candidate in (Path(f"{path}.meta.json"), path.with_suffix(".meta.json")):
        try:
            return as_object(json.loads(candidate.read_bytes()))
        except OSError:
            continue
        except (ValueError, RecursionError) as error:
            raise CommandError(f"{candidate}: not JSON") from error
    return {}


def _own_times(lines: Iterator[bytes]) -> Iterator[float]:
    """Yield a time for each line: its own in seconds, else that of the line before.

    Lines before the first time have that time.
    """
    last, waiting = 0.0, 0
    for line in lines:
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        event = as_object(value)
        message = as_object(event.get("message"))
        last = max(last, _seconds(message.get("timestamp", event.get("timestamp"))))
        waiting += 1
        if last:
            yield from [last] * waiting
            waiting = 0


def _seconds(value: object) -> float:
    """Return epoch milliseconds or an ISO time in seconds; 0: neither."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return 0.0
    return 0.0
