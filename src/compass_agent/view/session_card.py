"""How one session stands: on one line, or as a card with what went wrong."""

from __future__ import annotations

__all__ = ("session_card", "session_line")

from typing import TYPE_CHECKING

from compass_agent.view.cards import failure_facts
from compass_agent.view.failure import NO_MESSAGE, explain
from compass_agent.view.lines import LineWriter
from compass_agent.view.neutralise import one_line
from compass_agent.view.style import Role
from compass_agent.view.words import state_word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compass_agent.frames import SessionError
    from compass_agent.view.failure import Cause
    from compass_agent.view.style import Style

_LABEL = 9


def session_line(
    session: str, state: int, error: SessionError | None, style: Style, *, width: int | None = None
) -> str:
    """Return one line: the session, its state, and its last failure in short.

    On a terminal of `width` cells it takes as many as it needs; the further ones are barred.
    """
    symbol, role = style.of_state(state)
    parts = [session]
    if error is not None:
        cause = explain(error)
        parts.append(cause.title + (f" ({cause.http})" if cause.http else ""))
        parts.append(cause.headline)
    told = f" {style.symbol('dot')} ".join(parts)
    lines = LineWriter(style, width)
    lines.begin(f"{symbol} {state_word(state)}", f"{style.symbol('bar')} ", role)
    lines.flow("  " + one_line(told, ascii_only=style.ascii_only))
    lines.close()
    return lines.take()


def session_card(
    state: int, cause: Cause | None, facts: Mapping[str, str], style: Style, *, width: int | None
) -> str:
    """Return the card: state, facts, and the failure with what to do.

    Args:
        state: The number of the AgentSessionState.
        cause: What went wrong, or who stopped it; None: nothing did.
        facts: By their labels, in their order; an empty one is left out.
        style: Colours and symbols.
        width: The terminal's width in cells; None: lines are not wrapped.
    """
    lines = LineWriter(style, width)
    symbol, role = style.of_state(state)
    lines.begin(f"{symbol} ", "  ", role)
    lines.flow(state_word(state), role)
    for label, text in facts.items():
        _field(lines, label, text, Role.DIM)
    if cause is not None:
        role = Role.STOPPED if cause.aborted else Role.ERROR
        bar = f"{style.symbol('heavy')} "
        lines.begin(bar, bar, role)
        lines.put(cause.title + (f" ({cause.http})" if cause.http else ""), role)
        _field(lines, "message", cause.message.strip("\n") or f"({NO_MESSAGE})", role)
        for label, text in failure_facts(cause):
            _field(lines, label, text, role)
    lines.close()
    return lines.take()


def _field(lines: LineWriter, label: str, text: str, role: Role) -> None:
    if not text:
        return
    bar = f"{lines.style.symbol('heavy' if role is not Role.DIM else 'bar')} "
    lines.begin(f"{bar}{label:<{_LABEL}}", bar + " " * _LABEL, role)
    lines.flow(text)
