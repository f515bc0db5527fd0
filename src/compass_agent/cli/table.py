"""The table of `compass sessions`."""

from __future__ import annotations

__all__ = ("sessions_table",)

from typing import TYPE_CHECKING

from compass_agent.view.lines import fitted
from compass_agent.view.neutralise import one_line
from compass_agent.view.style import Role
from compass_agent.view.widths import cell_width
from compass_agent.view.words import DISCONNECTED, ERRORED, duration, state_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.services.sessions import SessionRow
    from compass_agent.view.style import Style

_HEADS = ("STATE", "SESSION", "TITLE", "WHAT WENT WRONG", "UPDATED")
_LONGEST_TITLE = 32
_SHRINK = ((3, 24), (2, 8), (3, 8))
"""What gives way on a narrow terminal, in turn: the column, and what is left of it."""
_GAP = "  "
_DAY_MS = 86_400_000


def sessions_table(
    rows: Sequence[SessionRow], style: Style, *, now_ms: int, width: int | None
) -> str:
    """Return the table, a line a session.

    Args:
        rows: The sessions, in the order to show.
        style: Colours and symbols.
        now_ms: The time, in milliseconds since 1970-01-01 UTC.
        width: The terminal's width in cells, into which every line is cut; None: none is.
    """
    cells = [_HEADS, *(_cells(row, style, now_ms) for row in rows)]
    widths = [max(cell_width(row[column]) for row in cells) for column in range(len(_HEADS))]
    if width is not None:
        for column, least in _SHRINK:
            over = sum(widths) + len(_GAP) * (len(_HEADS) - 1) - (width - 1)
            if over > 0:
                widths[column] = min(widths[column], max(least, widths[column] - over))
    lines = [style.paint(Role.STRONG, _line(_HEADS, widths, style, width))]
    for row, texts in zip(rows, cells[1:], strict=True):
        line = _line(texts, widths, style, width)
        state, rest = line[: len(texts[0])], line[len(texts[0]) :]
        lines.append(style.paint(style.of_state(row.summary.state)[1], state) + rest)
    return "\n".join(lines) + "\n"


def _line(texts: Sequence[str], widths: Sequence[int], style: Style, edge: int | None) -> str:
    more = style.symbol("more")
    cells = zip(texts, widths, strict=True)
    line = _GAP.join(fitted(text, width, more) for text, width in cells).rstrip()
    # A line that the terminal wraps would go on at the left edge.
    return line if edge is None else fitted(line, max(edge - 1, 1), more).rstrip()


def _cells(row: SessionRow, style: Style, now_ms: int) -> tuple[str, ...]:
    summary = row.summary
    state = f"{style.of_state(summary.state)[0]} {state_word(summary.state)}"
    title = " / ".join(part for part in (summary.title, summary.agent) if part)
    title = one_line(title, ascii_only=style.ascii_only)
    if cell_width(title) > _LONGEST_TITLE:
        title = fitted(title, _LONGEST_TITLE, style.symbol("more")).rstrip()
    cause = one_line(_cause(row, style), ascii_only=style.ascii_only)
    session = one_line(summary.session, ascii_only=style.ascii_only)
    # Of a session that cannot be read it is not known.
    age = _age(now_ms - summary.updated_ms) if summary.updated_ms else "-"
    return state, session, title, cause, age


def _cause(row: SessionRow, style: Style) -> str:
    cause, state = row.cause, row.summary.state
    if cause is None:
        if state == ERRORED:
            return "no reason was reported"
        return "no contact with the agent's process" if state == DISCONNECTED else ""
    if cause.aborted:
        return cause.title + (f" by {cause.stopped_by}" if cause.stopped_by else "")
    parts = [cause.title, "" if cause.status is None else f"HTTP {cause.status}", cause.headline]
    return f" {style.symbol('dot')} ".join(part for part in parts if part)


def _age(milliseconds: int) -> str:
    if milliseconds < 1000:  # noqa: PLR2004 - a second; clocks of two machines may differ
        return "now"
    if milliseconds >= _DAY_MS:
        return f"{milliseconds // _DAY_MS} d ago"
    whole = duration(milliseconds // 1000 * 1000).split(" ")
    return f"{whole[0]} {whole[1]} ago"
