"""The stream that the log needs: made, and checked for settings that would lose what was stored."""

from __future__ import annotations

__all__ = ("Finding", "check_engine", "init_engine", "stream_leader", "stream_settings")

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import urlopen

from anyio.from_thread import start_blocking_portal
from anyio.to_thread import run_sync

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream.engine import Engine
from compass_agent.log.jetstream.faults import EngineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

_T = TypeVar("_T")

_CONSUMERS = 16
_SAFE_REPLICAS = 3
_SHORT_NS = 1_000_000_000
_MONITOR_S = 3.0

_MUST_BE: dict[str, tuple[object, str]] = {
    "retention": ("limits", "messages would go when somebody has read them"),
    "discard": ("new", "when it is full, the oldest messages would go, priority frames too"),
    "storage": ("file", "a restart would lose everything"),
    "max_msgs": (-1, "messages would be refused, or go, by their number"),
    "max_msgs_per_subject": (-1, "the oldest messages of a session would go, unnoticed"),
    "max_age": (0, "messages would go by age, and what is known of a session with them"),
    "allow_direct": (True, "readers could not be served"),
    "allow_rollup_hdrs": (True, "leases could not be renewed"),
    "deny_purge": (False, "sessions could not be removed"),
    "persist_mode": ("default", "what was answered would not have been written yet"),
}
"""What the stream must have, and what would happen otherwise."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A setting that the log cannot rely on.

    Attributes:
        setting: Its name.
        found: What it is.
        wanted: What it must be.
        reason: What would happen otherwise.
    """

    setting: str
    found: object
    wanted: object
    reason: str


def stream_settings(
    stream: str, *, replicas: int = 1, max_bytes: int = -1, storage: str = "file"
) -> dict[str, Any]:
    """Return the settings of a stream for the log."""
    return {
        "name": stream,
        "description": "Compass sessions",
        "subjects": [f"{stream}.s.>"],
        "retention": "limits",
        "discard": "new",
        "storage": storage,
        "num_replicas": replicas,
        "max_bytes": max_bytes,
        "max_msgs": -1,
        "max_msgs_per_subject": -1,
        "max_age": 0,
        "max_consumers": _CONSUMERS,
        "allow_direct": True,
        "allow_rollup_hdrs": True,
        "deny_delete": False,
        "deny_purge": False,
        "duplicate_window": 1_000_000_000,
        "republish": {"src": f"{stream}.s.>", "dest": f"{stream}.live.s.>"},
    }


async def init_engine(
    servers: list[str], settings: dict[str, Any], options: dict[str, Any] | None = None
) -> None:
    """Make the stream; one that is there with these settings is left as it is.

    Raises:
        OperationError: `storage_failed`: it is there with other settings. `unavailable`.
    """
    name = settings["name"]
    await _asked(
        servers, name, options, lambda engine: engine.api(f"STREAM.CREATE.{name}", settings)
    )


async def stream_leader(
    servers: list[str], stream: str, options: dict[str, Any] | None = None
) -> str:
    """Return the name of the server that leads the stream; "": none does now.

    Raises:
        OperationError: `unavailable`.
    """
    answer = await _asked(
        servers, stream, options, lambda engine: engine.api(f"STREAM.INFO.{stream}")
    )
    cluster: dict[str, Any] = answer.get("cluster") or {}
    leader: str = cluster.get("leader") or ""
    return leader


async def check_engine(
    servers: list[str],
    stream: str,
    options: dict[str, Any] | None = None,
    *,
    monitors: Sequence[str] = (),
) -> list[Finding]:
    """Return every setting of the stream, and of its servers, that would lose what was stored.

    Args:
        servers: As `Engine`.
        stream: Likewise.
        options: Likewise.
        monitors: Where the servers tell of themselves, `http://HOST:PORT`: no client can ask them
            how often they write to the disk.

    Raises:
        OperationError: `unavailable`: there is no server, or no such stream.
    """
    answer = await _asked(
        servers, stream, options, lambda engine: engine.api(f"STREAM.INFO.{stream}")
    )
    config: dict[str, Any] = answer["config"]
    return [*_of_stream(stream, config), *await _of_servers(monitors, config["num_replicas"])]


def _of_stream(stream: str, config: dict[str, Any]) -> list[Finding]:
    found = [
        Finding(name, config[name], wanted, reason)
        for name, (wanted, reason) in _MUST_BE.items()
        if config.get(name, wanted) != wanted
    ]
    if not config.get("allow_direct") or not config.get("allow_rollup_hdrs"):
        found += [
            Finding(name, None, wanted, _MUST_BE[name][1])
            for name, wanted in (("allow_direct", True), ("allow_rollup_hdrs", True))
            if name not in config
        ]
    if not 0 < config.get("max_consumers", -1) <= _CONSUMERS:
        reason = "the log uses none, and each that somebody makes slows its writers"
        wanted = f"1 to {_CONSUMERS}"
        found.append(Finding("max_consumers", config.get("max_consumers"), wanted, reason))
    for name in ("subjects", "republish"):
        wanted = stream_settings(stream)[name]
        if config.get(name) != wanted:
            found.append(Finding(name, config.get(name), wanted, "messages would not arrive"))
    return found


async def _of_servers(monitors: Sequence[str], replicas: int) -> list[Finding]:
    if not monitors:
        reason = "no client can see it; name where each server tells of itself: --monitor URL"
        return [Finding("sync_interval", "not known", "always", reason)]
    return [
        finding
        for monitor in monitors
        for finding in _of_server(monitor, await run_sync(_told_by, monitor), replicas)
    ]


def _of_server(monitor: str, told: dict[str, Any], replicas: int) -> list[Finding]:
    jetstream: dict[str, Any] = told.get("jetstream") or {}
    config: dict[str, Any] = jetstream.get("config") or {}
    if config.get("sync_always"):
        return []
    interval = config.get("sync_interval", 0)
    if replicas >= _SAFE_REPLICAS and 0 < interval <= _SHORT_NS:
        return []
    seconds = f"{interval / 1e9:g} s"
    reason = f"a loss of power at {monitor} would take all that was answered since"
    return [Finding("sync_interval", seconds, "always", reason)]


def _told_by(monitor: str) -> dict[str, Any]:
    if not monitor.startswith(("http://", "https://")):
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    try:
        with urlopen(f"{monitor.rstrip('/')}/varz", timeout=_MONITOR_S) as answer:  # noqa: S310 - of http alone
            told: dict[str, Any] = json.load(answer)
    except (OSError, ValueError) as error:
        raise EngineError(ErrorCode.UNAVAILABLE, f"{monitor} does not answer") from error
    return told


async def _asked(
    servers: list[str],
    stream: str,
    options: dict[str, Any] | None,
    work: Callable[[Engine], Awaitable[_T]],
) -> _T:
    """Have `work` done with a connection of its own, from any event loop."""

    async def on_its_loop() -> _T:
        engine = Engine(servers, stream, lambda: None, options)
        try:
            return await work(engine)
        finally:
            await engine.aclose()

    def in_its_thread() -> _T:
        with start_blocking_portal("asyncio") as portal:
            return portal.call(on_its_loop)

    return await run_sync(in_its_thread)
