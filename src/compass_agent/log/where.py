"""Finds the log that a URL names."""

from __future__ import annotations

__all__ = (
    "SessionLog",
    "default_path",
    "default_socket",
    "is_hub",
    "log_file",
    "log_url",
    "open_log",
)

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.append import AppendLog
from compass_agent.log.extras import require_extra_of
from compass_agent.log.read import ReadLog
from compass_agent.log.retention import KeepLog, Retention
from compass_agent.log.settings import parse_settings, split_settings

if TYPE_CHECKING:
    from compass_agent.log.memory import MemoryLog
    from compass_agent.log.settings import Durability

_SCHEMA_MAJOR = 2
"""Of the SQLite file; kept here too, so that naming the file needs no SQLite."""

_HOST_AND_PORT = re.compile(r"//[^/@\s]+:[0-9]{1,5}", re.ASCII)

_KEEPING = ("memory", "sqlite", "nats")

_SERVERS = re.compile(r"//(?:[^/@\s?]+@)?([^/@\s?]+)(?:/[A-Za-z0-9_-]{1,64})?", re.ASCII)
_SERVER = re.compile(r"(?:[^:\[\]]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?", re.ASCII)
_PORTS = 1 << 16

_SHARED: dict[str, MemoryLog] = {}


class SessionLog(AppendLog, ReadLog, KeepLog, Protocol):
    """All sides of a log."""


def open_log(
    url: str | None = None,
    *,
    durability: Durability = "normal",
    retention: Retention | None = None,
    one_loop: bool = False,
) -> SessionLog:
    """Return the log that `url` names; the caller closes it with `aclose()`.

    | URL | log |
    | --- | --- |
    | `memory:` | a new log in this process's memory |
    | `memory:NAME` | the one of that name, shared by the whole process |
    | `sqlite:PATH` | the SQLite file; it is made where there is none |
    | `nats://HOST:PORT[,HOST:PORT…][/STREAM]` | the stream of that NATS server or cluster |
    | None | what `COMPASS_LOG` says; without it, the SQLite file in the state folder |

    Settings may follow, as in `sqlite:PATH?trace_frames=10000&ended_age=7d`: `durability`, and what
    of `Retention` is to be otherwise: `trace_frames`, `trace_bytes`, `trace_age`, `ended_age`,
    `total_bytes`, with units (`64MiB`, `12h`) or `none`. They go before the arguments. `sqlite:`
    with settings and no path is the file in the state folder.

    Opening an SQLite file blocks for a few milliseconds.

    Args:
        url: Where the log is.
        durability: Of an SQLite file: whether an answer waits for the disk (`"full"`).
        retention: What is kept; None: what `Retention()` says. It holds for what this log does:
            others who have the same file open go by theirs.
        one_loop: All calls come from one asyncio loop, which runs until the log was closed. A log
            on NATS then needs no thread of its own, and takes more; the others do as ever.

    Raises:
        OperationError: `unsupported_input`: no such kind of log in this version, a hub (which is
            reached through a transport), or a path that cannot be used; `ExtraMissingError` when
            the extra `nats` is not installed. `permission_denied`, `unavailable`, `storage_failed`.
    """
    url = log_url(url)
    if is_hub(url):
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    scheme, _, rest = url.partition(":")
    rest, settings = split_settings(rest)
    keep, durability = parse_settings(settings, retention or Retention(), durability)
    if scheme == "memory":
        return _memory(rest, keep, is_said=bool(settings or retention))
    if scheme == "nats":
        # The stream has a bound of its own; the default one is made for the disk of one machine.
        apart = Retention(total_bytes=None)
        keep = parse_settings(settings, retention or apart, durability)[0]
        return _jetstream(rest, keep, one_loop=one_loop)
    from compass_agent.log.sqlite import SqliteLog  # noqa: PLC0415 - only who opens a file needs SQLite

    path = Path(rest).expanduser()
    if path == default_path():
        _make_folders(path)
    return SqliteLog(path, durability=durability, retention=keep)


def log_url(url: str | None = None) -> str:
    """Return the URL of the log that `url` means, with nothing opened.

    Beside what `open_log` opens there are hubs: `unix:PATH` (without a path: `default_socket`)
    and `grpc://HOST:PORT`.

    Raises:
        OperationError: `unsupported_input`: no such kind of log, or no such setting.
    """
    url = url or os.environ.get("COMPASS_LOG") or f"sqlite:{default_path()}"
    scheme, colon, rest = url.partition(":")
    if scheme == "unix" and colon:
        path = Path(rest).expanduser() if rest else default_socket()
        return f"unix:{path.absolute()}"
    rest, settings = split_settings(rest) if scheme in _KEEPING else (rest, "")
    if scheme == "sqlite" and settings and not rest:
        rest = str(default_path())
    known = (
        scheme == "memory"
        or (scheme == "sqlite" and rest.strip() and rest[0] != ":")
        or (scheme == "grpc" and _HOST_AND_PORT.fullmatch(rest))
        or (scheme == "nats" and _names_servers(rest))
    )
    if not colon or not known:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    parse_settings(settings, Retention(), "normal")
    return f"{scheme}:{rest}?{settings}" if settings else f"{scheme}:{rest}"


def _names_servers(rest: str) -> bool:
    """Tell whether this is `//[USER:PASSWORD@]HOST[:PORT][,HOST…][/STREAM]`."""
    named = _SERVERS.fullmatch(rest)
    places = [_SERVER.fullmatch(place) for place in named[1].split(",")] if named else [None]
    return all(place is not None and int(place[1] or 0) < _PORTS for place in places)


def log_file(url: str) -> Path | None:
    """Return the file of the log that a URL which `log_url` returned names; None: it has none."""
    scheme, _, rest = url.partition(":")
    return Path(split_settings(rest)[0]).expanduser() if scheme == "sqlite" else None


def is_hub(url: str) -> bool:
    """Tell whether a URL that `log_url` returned names a hub."""
    return url.startswith(("unix:", "grpc:"))


def default_path() -> Path:
    """Return the SQLite file that is used when nobody says otherwise; it need not be there."""
    state = _folder("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return state / "compass" / f"sessions-v{_SCHEMA_MAJOR}.db"


def default_socket() -> Path:
    """Return where a hub listens when nobody says otherwise; it need not be there."""
    runtime = _folder("XDG_RUNTIME_DIR")
    folder = runtime / "compass" if runtime is not None else default_path().parent
    return folder / "hub.sock"


def _folder(variable: str) -> Path | None:
    """Return the folder that an environment variable names.

    The specification of these variables says that a relative path is to be ignored.
    """
    path = Path(os.environ.get(variable, ""))
    return path if path.is_absolute() else None


def _make_folders(path: Path) -> None:
    """Make the folders of `path` that are missing, for their owner alone."""
    try:
        for folder in (*reversed(path.parent.parents), path.parent):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
                folder.chmod(0o700)  # whatever the umask takes from the owner
    except PermissionError as error:
        raise OperationError(ErrorCode.PERMISSION_DENIED) from error
    except (OSError, ValueError) as error:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT) from error


def _memory(name: str, retention: Retention, *, is_said: bool) -> MemoryLog:
    from compass_agent.log.memory import MemoryLog  # noqa: PLC0415 - as above

    if not name:
        return MemoryLog(retention=retention)
    log = _SHARED.setdefault(name, MemoryLog(retention=retention))
    if is_said:
        log.keep(retention)
    return log


def _jetstream(rest: str, retention: Retention, *, one_loop: bool) -> SessionLog:
    require_extra_of("nats:")
    from compass_agent.log.jetstream import open_url  # noqa: PLC0415 - it needs the extra `nats`

    return open_url(rest, retention, one_loop=one_loop)
