"""Codes by the text of an exception: the last resort, for hosts whose storage raises only text.

The rules are data. A host puts its own in front, `(MY_RULE, *TEXT_RULES)`, or gives others.
"""

from __future__ import annotations

__all__ = ("STORAGE_PREFIX", "TEXT_RULES", "TextRule", "code_of_text")

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

STORAGE_PREFIX = "Context storage operation failed: "
"""What a storage layer puts before its text. Rules see the text without it."""


@dataclass(frozen=True, slots=True)
class TextRule:
    """A text that begins or contains one of these has this code. Case matters.

    Attributes:
        code: The code.
        starts: What the text may begin with; one text, or several.
        contains: What it may contain; likewise.
    """

    code: ErrorCode
    starts: tuple[str, ...] | str = ()
    contains: tuple[str, ...] | str = ()

    def fits(self, text: str) -> bool:
        """Tell whether the rule decides about `text`, which has no storage prefix any more."""
        parts = (self.contains,) if isinstance(self.contains, str) else self.contains
        starts = (self.starts,) if isinstance(self.starts, str) else self.starts
        return text.startswith(starts) or any(part in text for part in parts)


# The order counts: "Case is unavailable" is no `unavailable`, and of two rules that fit the first
# decides.
TEXT_RULES = (
    TextRule(
        ErrorCode.PERMISSION_DENIED,
        starts=("Access denied", "Case access denied"),
        contains=("not accessible", "not linked to selected"),
    ),
    TextRule(
        ErrorCode.NOT_FOUND,
        starts=(
            "Context request not found",
            "Case is unavailable",
            "Case review unavailable",
            "Subject outside",
            "query returned no rows",
        ),
    ),
    TextRule(
        ErrorCode.CONFLICT,
        starts=("Conflicting ", "Destination request busy", "Release target changed"),
        contains=(
            "already used for different",
            " conflict",
            "Evidence changed;",
            " changed",
            "disputed",
        ),
    ),
    TextRule(ErrorCode.INTERNAL, starts=("Invalid compiled brief",)),
    TextRule(
        ErrorCode.UNSUPPORTED_INPUT,
        starts=(
            "Only Spotify tracks are enabled",
            "Use a ",
            "Unsupported ",
            "Context ingestion currently supports",
            "Invalid ",
            "A brief requires",
            "Release track lookup currently supports",
        ),
    ),
    # A server that is full is no input that is too large.
    TextRule(ErrorCode.UNAVAILABLE, contains=("too many clients", "too many connections")),
    TextRule(ErrorCode.UNAVAILABLE, contains=("connection refused", "timed out")),
    TextRule(ErrorCode.UNSUPPORTED_INPUT, contains=("too many",)),
    TextRule(ErrorCode.NOT_READY, contains=("not ready", "not complete", "are unavailable")),
    TextRule(
        ErrorCode.UNAVAILABLE,
        contains=(
            "fetch failed",
            "statement timeout",
            "lock timeout",
            "could not serialize access",
            "deadlock detected",
        ),
    ),
    TextRule(ErrorCode.UNAVAILABLE, contains=("is not enabled", "not configured", "unavailable")),
)


def code_of_text(text: str, rules: Iterable[TextRule] = TEXT_RULES) -> ErrorCode:
    """Return the code of the first rule that fits `text`.

    Without one it is `storage_failed` when the storage prefix stands in front, else `internal`.
    """
    bare = text.removeprefix(STORAGE_PREFIX)
    for rule in rules:
        if rule.fits(bare):
            return rule.code
    return ErrorCode.INTERNAL if bare == text else ErrorCode.STORAGE_FAILED
