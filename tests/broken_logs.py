"""A log that cannot be opened, in place of the one that a command would open."""

from __future__ import annotations

__all__ = ("raises",)

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def raises(error: BaseException) -> Callable[..., None]:
    """Return what takes the place of `open_log`, and raises `error`."""

    def open_log(url: str | None, *, one_loop: bool = False) -> None:
        del url, one_loop
        raise error

    return open_log
