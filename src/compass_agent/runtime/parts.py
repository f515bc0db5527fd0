"""What a session is put together from; `compass_agent.testing` puts other parts in."""

from __future__ import annotations

__all__ = ("PARTS", "Parts", "PublishesSession")

from typing import TYPE_CHECKING, Protocol

from compass_agent.runtime.publication import Publication
from compass_agent.sink import FrameSink

if TYPE_CHECKING:
    from compass_agent.wire import SessionMeta


class PublishesSession(Protocol):
    """The way of one session's frames out of the process."""

    def keep_journal(self) -> None:
        """Have priority frames on disk from now on, where that is of use."""
        ...

    def start(self) -> None:
        """Begin to publish."""
        ...

    def close(self, timeout: float) -> None:
        """Publish what waits, within `timeout` seconds, and stop."""
        ...


class _MakesSink(Protocol):
    def __call__(self, session_id: str, *, trace_capacity: int, trace_bytes: int) -> FrameSink: ...


class _MakesPublication(Protocol):
    def __call__(
        self, sink: FrameSink, url: str, meta: SessionMeta, *, fsync: bool
    ) -> PublishesSession: ...


class Parts:
    """Makes the parts of the sessions that are opened from now on.

    Attributes:
        sink: Makes the sink.
        publication: Makes what publishes it.
    """

    def __init__(self) -> None:
        self.sink: _MakesSink = FrameSink
        self.publication: _MakesPublication = Publication


PARTS = Parts()
"""Those of this process."""
