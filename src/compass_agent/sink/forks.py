"""Keeps the child of a fork out of what belongs to its parent.

A child has its parent's memory, but none of its other threads: whatever one of those was about to
finish stays half done for ever. So the locks are held while a fork happens, and what they guard is
turned off in the child.
"""

from __future__ import annotations

__all__ = ("off_after_fork", "usable_lock")

import os
import threading
from typing import Protocol
from weakref import WeakKeyDictionary


class _Owner(Protocol):
    def turn_off(self) -> None:
        """Let go of what is the parent's. Nothing but the forking thread is there."""
        ...


class _Held(threading.local):
    def __init__(self) -> None:
        self.locks: list[threading.RLock] = []


# Who does not give a lock back for so long is itself waiting for the one that forks.
_PATIENCE_S = 1.0

_owners: WeakKeyDictionary[_Owner, tuple[int, threading.RLock]] = WeakKeyDictionary()
_registry = threading.RLock()
_held = _Held()


def off_after_fork(owner: _Owner, lock: threading.RLock, *, rank: int = 1) -> None:
    """Have `owner.turn_off()` called in the child of every fork from now on.

    Args:
        owner: Not kept alive by this.
        lock: Held while the fork happens, so that the child finds nothing half done.
        rank: Locks are taken in this order: 0 for one under which others are taken.
    """
    with _registry:
        _owners[owner] = (rank, lock)


def usable_lock(lock: threading.RLock) -> threading.RLock:
    """Return `lock`, or a new one when a thread that the child does not have holds it."""
    if lock.acquire(blocking=False):
        lock.release()
        return lock
    return threading.RLock()


def _before() -> None:
    _hold(_registry)
    for _, lock in sorted(_owners.values(), key=lambda entry: entry[0]):
        _hold(lock)


def _hold(lock: threading.RLock) -> None:
    if lock.acquire(timeout=_PATIENCE_S):
        _held.locks.append(lock)


def _release() -> None:
    while _held.locks:
        _held.locks.pop().release()


def _in_child() -> None:
    global _registry  # noqa: PLW0603 - the lock may be held by a thread that is not there
    _release()
    _registry = usable_lock(_registry)
    for owner in list(_owners):
        owner.turn_off()


os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
