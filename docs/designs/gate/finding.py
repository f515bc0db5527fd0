"""What the gate finds wrong, and why it could not look."""

from __future__ import annotations

__all__ = ("Finding", "GateError", "visible")

import unicodedata
from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that breaks a rule.

    Attributes:
        where: A page with a line, or a commit.
        wrong: What is wrong there.
        mend: What to do about it.
    """

    where: str
    wrong: str
    mend: str

    def __str__(self) -> str:
        return f"{visible(self.where)}: {visible(self.wrong)}\n    to do: {visible(self.mend)}"


def visible(text: str) -> str:
    """Return `text` with what a terminal would obey, or not show, written as an escape."""
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return "".join(ascii(one)[1:-1] if unicodedata.category(one) in hidden else one for one in text)


class GateError(Exception):
    """The gate cannot look at the changes; the text says why, and what to do."""
