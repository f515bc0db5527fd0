"""Symbols and colours of the command, and their plain forms.

Colour is never the only sign: a word stands beside every symbol. Red is for errors alone, grey for
stops on purpose, yellow for what is missing.
"""

from __future__ import annotations

__all__ = ("Role", "Style")

from dataclasses import dataclass
from enum import StrEnum

from compass_agent.view.entries import StepStatus, ToolStatus
from compass_agent.view.words import state_word


class Role(StrEnum):
    """What a piece of text is; the value is its SGR parameter."""

    PLAIN = ""
    STRONG = "1"
    DIM = "2"
    ERROR = "31"
    ADDED = "32"
    WARNING = "33"
    REMOVED = "35"
    ACCENT = "36"
    STOPPED = "90"


_SYMBOLS = {
    "starting": ("◌", "o"),
    "ready": ("○", "o"),
    "working": ("▶", ">"),
    "stopped": ("□", "#"),
    "errored": ("✖", "x"),
    "disconnected": ("┄", "-"),
    "aborted": ("■", "#"),
    "missing": ("!", "!"),
    "text": ("¶", "T"),
    "thinking": ("…", "~"),
    "tool": ("▸", ">"),
    "done": ("✓", "+"),
    "plan": ("☰", "="),
    "injected": ("→", ">"),
    "prompt": ("»", ">"),
    "notice": ("i", "i"),
    "unknown": ("?", "?"),
    "bar": ("│", "|"),
    "heavy": ("┃", "|"),
    "more": ("…", "..."),
    "dot": ("·", "-"),
}
_OF_TOOL = {
    ToolStatus.PENDING: ("tool", Role.PLAIN),
    ToolStatus.RUNNING: ("tool", Role.PLAIN),
    ToolStatus.COMPLETED: ("done", Role.PLAIN),
    ToolStatus.FAILED: ("errored", Role.ERROR),
    ToolStatus.INTERRUPTED: ("aborted", Role.STOPPED),
    ToolStatus.UNKNOWN: ("unknown", Role.WARNING),
}
_OF_STEP = {
    StepStatus.PENDING: "ready",
    StepStatus.ACTIVE: "working",
    StepStatus.DONE: "done",
    StepStatus.UNKNOWN: "unknown",
}
_OF_STATE = {
    "errored": Role.ERROR,
    "disconnected": Role.WARNING,
    "working": Role.ACCENT,
    "unknown": Role.WARNING,
}


@dataclass(frozen=True, slots=True)
class Style:
    """How text is dressed.

    Attributes:
        color: Use colours.
        ascii_only: Use ASCII symbols.
    """

    color: bool = False
    ascii_only: bool = False

    def symbol(self, name: str) -> str:
        """Return the symbol called `name`."""
        return _SYMBOLS[name][self.ascii_only]

    def paint(self, role: Role, text: str) -> str:
        """Return `text`, which holds no newline, in the colour of `role`."""
        if not self.color or role is Role.PLAIN or not text:
            return text
        return f"\x1b[{role.value}m{text}\x1b[0m"

    def of_state(self, number: int) -> tuple[str, Role]:
        """Return symbol and role of a session state, known or not."""
        word = state_word(number).lower()
        name = word if word in _SYMBOLS else "unknown"
        return self.symbol(name), _OF_STATE.get(name, Role.PLAIN)

    def of_tool(self, status: ToolStatus) -> tuple[str, Role]:
        """Return symbol and role of a tool call's status."""
        name, role = _OF_TOOL[status]
        return self.symbol(name), role

    def of_step(self, status: StepStatus) -> str:
        """Return the symbol of a plan step's status."""
        return self.symbol(_OF_STEP[status])
