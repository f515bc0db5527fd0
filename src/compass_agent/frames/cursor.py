"""A place in a session: an epoch and a `seq` in it."""

from __future__ import annotations

__all__ = ("Cursor", "InvalidCursorError")

import re
from dataclasses import dataclass

_TEXT = re.compile(r"([0-9a-f]{16})-(0|[1-9][0-9]{0,19})", re.ASCII)
_LARGEST_SEQ = 2**64 - 1


class InvalidCursorError(ValueError):
    """The text is no cursor: a bad request, outside the nine codes of `OperationError`."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Everything up to and including `seq` of `epoch` was read. As text: `EPOCH-SEQ`.

    Attributes:
        epoch: 16 lower-case hex digits.
        seq: 0 (nothing of the epoch was read) to 2**64 - 1.

    >>> from compass_agent.frames import Cursor
    >>> str(Cursor.parse("0123456789abcdef-42"))
    '0123456789abcdef-42'
    """

    epoch: str
    seq: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Read a cursor from its text.

        Raises:
            InvalidCursorError: If the text is not `EPOCH-SEQ`.
        """
        match = _TEXT.fullmatch(text)
        if match is None or int(match[2]) > _LARGEST_SEQ:
            raise InvalidCursorError(
                "a cursor looks like 0123456789abcdef-42: an epoch and a sequence number"
            )
        return cls(match[1], int(match[2]))
