"""What the gate finds wrong, and why it could not look."""

from __future__ import annotations

__all__ = ("Finding", "GateError")

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
        return f"{self.where}: {self.wrong}\n    to do: {self.mend}"


class GateError(Exception):
    """The gate cannot look at the changes; the text says why, and what to do."""
