"""Wakes readers when something was stored, from whatever thread and event loop the writer runs in.

Waking never waits for the reader's loop. A reader that is forgotten without being closed costs
nothing: it is held weakly.
"""

from __future__ import annotations

__all__ = ("Wake", "Watch", "call_soon")

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import anyio
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable


class Watch:
    """What one reader waits on. Made by `Wake.watch`."""

    __slots__ = ("__weakref__", "_changed", "_lock", "_rouse", "session")

    def __init__(self, session: str, lock: threading.Lock) -> None:
        self.session = session
        self._lock = lock
        self._changed = False
        self._rouse: Callable[[], object] | None = None

    def clear(self) -> None:
        """Forget what was told until now; call it before looking, never after."""
        self._changed = False

    async def wait(self, seconds: float) -> bool:
        """Wait until something was stored since `clear`, at most `seconds`; tell whether it was."""
        event = anyio.Event()
        soon = call_soon()
        with self._lock:
            if self._changed:
                return True
            self._rouse = lambda: soon(event.set)
        try:
            with anyio.move_on_after(seconds):
                await event.wait()
        finally:
            self._rouse = None
        return self._changed

    def fire(self) -> None:
        """Tell the reader; the lock is held."""
        self._changed = True
        if self._rouse is not None:
            try:
                self._rouse()
            except RuntimeError:
                # The reader's loop has closed under it: nobody is left to be told.
                self._rouse = None


class Wake:
    """All readers of one log in this process."""

    __slots__ = ("__weakref__", "_lock", "_watches")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: WeakSet[Watch] = WeakSet()

    def watch(self, session: str) -> Watch:
        """Return what a reader of `session` waits on; it is told for as long as it is held."""
        watch = Watch(session, self._lock)
        with self._lock:
            self._watches.add(watch)
        return watch

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return len(self._watches)

    def watched(self) -> set[str]:
        """Return the sessions that somebody reads."""
        with self._lock:
            return {watch.session for watch in self._watches}

    def fire(self, session: str | None = None) -> None:
        """Tell the readers of `session`; None: all readers."""
        with self._lock:
            for watch in self._watches:
                if session is None or watch.session == session:
                    watch.fire()


def call_soon() -> Callable[[Callable[[], None]], object]:
    """Return the running loop's own thread-safe way to have something called."""
    token: Any = current_token()
    native: Any = getattr(token, "native_token", token)
    soon = getattr(native, "run_sync_soon", None)  # trio
    return soon if soon is not None else native.call_soon_threadsafe
