"""Exports a session whole: as JSON Lines for programs, as Markdown for people."""

from __future__ import annotations

__all__ = ("ExportFormat", "export_session")

from contextlib import aclosing
from enum import StrEnum
from typing import TYPE_CHECKING

from compass_agent.services.sessions import find_session
from compass_agent.view.jsonl import jsonl
from compass_agent.view.markdown import MarkdownRenderer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from compass_agent.log.read import ReadLog

_PAGE_FRAMES = 256


class ExportFormat(StrEnum):
    """How a session is exported."""

    JSONL = "jsonl"
    MARKDOWN = "md"


async def export_session(
    log: ReadLog, session: str, form: ExportFormat = ExportFormat.JSONL
) -> AsyncGenerator[str]:
    """Yield the text of all that is kept of `session`, piece by piece; at least one piece.

    What is missing stands at its place. A session that goes on is exported as far as it is now.

    Raises:
        OperationError: Before the first piece: `unsupported_input` (no session id), `not_found`.
            Else as the log's `read` does.
    """
    summary = await find_session(log, session)
    markdown = MarkdownRenderer(session, summary.title) if form is ExportFormat.MARKDOWN else None
    pages = log.read(session, follow=False, page_frames=_PAGE_FRAMES)
    async with aclosing(pages):
        async for page in pages:
            yield markdown.render(page.items) if markdown else jsonl(session, page.items)
    yield markdown.finish() if markdown else ""
