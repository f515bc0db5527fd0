"""How often a failure came again: who tries again and again fails in the same way each time."""

from __future__ import annotations

__all__ = ("REPEATS", "Repeats")

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from compass_agent.errors.worded import words_of

if TYPE_CHECKING:
    from collections.abc import Hashable

_AGAIN_S = 60.0
_MOST_KINDS = 1024


class Repeats:
    """Counts failures that are alike, and says when to tell of them.

    Args:
        again_s: One kind of failure is told again after so many seconds at the earliest.
    """

    def __init__(self, again_s: float = _AGAIN_S) -> None:
        self._again_s = again_s
        self._lately: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def count(self, what: Hashable, cause: BaseException) -> int | None:
        """Return how often the same came since it was last told.

        Args:
            what: What failed, such as a code and a session.
            cause: Its type, words and the line that raised it are compared, too.

        Returns:
            None: it is new, so all of it is to be told. 0: nothing is to be told now.
        """
        at = cause.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        place = None if at is None else (at.tb_frame.f_code, at.tb_lineno)
        kind = (what, type(cause), words_of(cause), place)
        now = time.monotonic()
        told, count = self._lately.pop(kind, (None, 0))
        if told is None or now - told >= self._again_s:
            self._lately[kind] = (now, 0)
            if len(self._lately) > _MOST_KINDS:
                self._lately.popitem(last=False)
            return None if told is None else count + 1
        self._lately[kind] = (told, count + 1)
        return 0

    def forget(self) -> None:
        """Take each failure for new."""
        self._lately.clear()


REPEATS = Repeats()
