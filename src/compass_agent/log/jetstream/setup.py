"""The stream that the log needs: made, and checked for settings that would lose what was stored."""

from __future__ import annotations

__all__ = ("Finding", "check_engine", "init_engine", "stream_leader", "stream_settings")

import json
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import urlopen

from anyio.from_thread import start_blocking_portal
from anyio.to_thread import run_sync

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.worded import words_of
from compass_agent.log.jetstream.engine import Engine
from compass_agent.log.jetstream.faults import EngineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

_T = TypeVar("_T")

_CONSUMERS = 16
_SAFE_REPLICAS = 3
_SHORT_NS = 1_000_000_000
_MONITOR_S = 3.0
_PAYLOAD = 1 << 20
"""As large as a record becomes, in bytes; it is what a server takes when nobody says otherwise."""

_LEAST_BYTES = 4 * _PAYLOAD
"""A smaller stream could refuse the first batch of a session: a record of each lane, and the sheet
that is to take the place of another, as large as they become."""

_REFUSES = ("replicas > 1 not supported", "no suitable peers", "insufficient", "maximum bytes")
"""Of what an engine says to a stream that it cannot make: it tells them as if they would pass."""

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
    "no_ack": (False, "nothing would be answered, so each batch would be sent without end"),
    "sealed": (False, "nothing would be taken"),
    "max_msg_size": (-1, "frames that are large would be refused for good"),
    "subject_transform": (None, "messages would be stored under another name, and not found"),
    "sources": (None, "messages that no writer sent would stand among those of the sessions"),
    "mirror": (None, "nothing would be taken"),
    "allow_msg_counter": (False, "nothing would be taken"),
    "allow_msg_ttl": (False, "a message could be stored that goes by itself, unnoticed"),
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
        OperationError: `storage_failed`: it is there with other settings, or the servers are too
            few or too small for it. `unavailable`.
    """
    name = settings["name"]

    async def make(engine: Engine) -> None:
        try:
            await engine.api(f"STREAM.CREATE.{name}", settings)
        except EngineError as error:
            if any(word in error.reason for word in _REFUSES):
                raise EngineError(ErrorCode.STORAGE_FAILED, error.reason) from error
            if error.code is not ErrorCode.STORAGE_FAILED:
                raise
            apart = await _apart(engine, settings)
            raise EngineError(error.code, f"{error.reason}{apart}") from error

    await _asked(servers, name, options, make)


async def _apart(engine: Engine, wanted: dict[str, Any]) -> str:
    """Return in what the stream that is there is not as wanted; "": there is none."""
    try:
        there = (await engine.api(f"STREAM.INFO.{wanted['name']}"))["config"]
    except OperationError:
        return ""
    found = (
        f"{name} is {there.get(name)}, not {value}"
        for name, value in wanted.items()
        if there.get(name) != value
    )
    return f": {', '.join(found)}"


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
    cluster: dict[str, Any] = answer.get("cluster") or {}
    replicas: list[dict[str, Any]] = cluster.get("replicas") or []
    keepers = {cluster.get("leader"), *(one.get("name") for one in replicas)} - {None, ""}
    found = await _of_servers(monitors, config["num_replicas"], keepers)
    return [*_of_stream(stream, config), *found]


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
    if 0 < config.get("max_bytes", -1) < _LEAST_BYTES:
        reason = "a record of each lane and what is known of its session would not fit"
        wanted = f"{_LEAST_BYTES} or more, or -1"
        found.append(Finding("max_bytes", config["max_bytes"], wanted, reason))
    for name in ("subjects", "republish"):
        wanted = stream_settings(stream)[name]
        if config.get(name) != wanted:
            found.append(Finding(name, config.get(name), wanted, "messages would not arrive"))
    return found


async def _of_servers(monitors: Sequence[str], replicas: int, keepers: set[Any]) -> list[Finding]:
    """Return what is not safe of the servers; `keepers` are those that keep the stream."""
    reason = "no client can see it; name where each server tells of itself: --monitor URL"
    if not monitors:
        return [Finding("sync_interval", "not known", "always", reason)]
    found: list[Finding] = []
    heard: set[Any] = set()
    for monitor in monitors:
        told = await run_sync(_told_by, monitor)
        heard.add(told.get("server_name"))
        found += _of_server(monitor, told, replicas)
    found += [
        Finding(f"sync_interval of {name}", "not known", "always", reason)
        for name in sorted(keepers - heard)
    ]
    return found


def _of_server(monitor: str, told: dict[str, Any], replicas: int) -> list[Finding]:
    found: list[Finding] = []
    payload = told.get("max_payload", _PAYLOAD)
    if payload < _PAYLOAD:
        reason = f"{monitor} would refuse frames that are large for good"
        found.append(Finding("max_payload", payload, f"{_PAYLOAD} or more", reason))
    jetstream: dict[str, Any] = told.get("jetstream") or {}
    config: dict[str, Any] = jetstream.get("config") or {}
    interval = config.get("sync_interval", 0)
    is_short = replicas >= _SAFE_REPLICAS and 0 < interval <= _SHORT_NS
    if not config.get("sync_always") and not is_short:
        seconds = f"{interval / 1e9:g} s"
        reason = f"a loss of power at {monitor} would take all that was answered since"
        found.append(Finding("sync_interval", seconds, "always", reason))
    return found


def _told_by(monitor: str) -> dict[str, Any]:
    if not monitor.startswith(("http://", "https://")):
        reason = f"--monitor {monitor}: say http://HOST:PORT"
        raise EngineError(ErrorCode.UNSUPPORTED_INPUT, reason)
    try:
        with urlopen(f"{monitor.rstrip('/')}/varz", timeout=_MONITOR_S) as answer:  # noqa: S310 - of http alone
            told: dict[str, Any] = {**json.load(answer)}
    except (OSError, ValueError, TypeError, HTTPException) as error:
        reason = f"--monitor {monitor} does not tell of a server (is it its `http` port?)"
        raise EngineError(ErrorCode.UNAVAILABLE, f"{reason}: {words_of(error)}") from error
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
