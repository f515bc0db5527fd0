"""Which entries a reader wants to see."""

from __future__ import annotations

__all__ = ("Choice",)

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.view.entries import Failure, StateChange, ToolCall, ToolStatus, Unknown
from compass_agent.view.kinds import ALWAYS, entry_words, kind_of_entry
from compass_agent.view.words import DISCONNECTED, ERRORED

if TYPE_CHECKING:
    import re

    from compass_agent.view.entries import Entry

_PROBLEM_TOOLS = frozenset({ToolStatus.FAILED, ToolStatus.INTERRUPTED, ToolStatus.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Choice:
    """What to show. What is missing, restarts and ends are always shown.

    Attributes:
        kinds: Only these, as `kind_of_entry` names them; empty: all.
        not_kinds: None of these.
        problems: Only what went wrong: failures and stops, tool calls that failed or were
            interrupted, the states ERRORED and DISCONNECTED, and what cannot be read.
        pattern: Only entries with this in their text; None: all.
    """

    kinds: frozenset[str] = frozenset()
    not_kinds: frozenset[str] = frozenset()
    problems: bool = False
    pattern: re.Pattern[str] | None = None

    @property
    def takes_all(self) -> bool:
        """Whether nothing is left out."""
        return not (self.kinds or self.not_kinds or self.problems or self.pattern)

    def takes_kind(self, kind: str) -> bool:
        """Tell whether any entry of `kind` can be wanted."""
        if kind in ALWAYS:
            return True
        return (not self.kinds or kind in self.kinds) and kind not in self.not_kinds

    def takes(self, entry: Entry) -> bool:
        """Tell whether `entry` is wanted."""
        kind = kind_of_entry(entry)
        if kind in ALWAYS:
            return True
        if not self.takes_kind(kind) or (self.problems and not _is_problem(entry)):
            return False
        return self.pattern is None or self.pattern.search(entry_words(entry)) is not None


def _is_problem(entry: Entry) -> bool:
    match entry:
        case Failure() | Unknown():
            return True
        case ToolCall():
            return entry.status in _PROBLEM_TOOLS
        case StateChange():
            return entry.state in {ERRORED, DISCONNECTED}
        case _:
            return False
