"""The stream that the log needs: made, and checked for settings that would lose what was stored."""

from __future__ import annotations

__all__ = ("init_engine", "stream_settings")

from typing import TYPE_CHECKING, Any, TypeVar

from anyio.from_thread import start_blocking_portal
from anyio.to_thread import run_sync

from compass_agent.log.jetstream.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_T = TypeVar("_T")


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
        "max_consumers": 16,
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
