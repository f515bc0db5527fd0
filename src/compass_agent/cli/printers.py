"""Prints what a tail reads: as lines for people, as JSON Lines, as Markdown."""

from __future__ import annotations

__all__ = ("Form", "Out", "Printer", "Stdout", "printer_of")

import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from compass_agent.cli.options import style_of
from compass_agent.cli.talk import terminal_width
from compass_agent.view.cards import USUAL, WHOLE, Detail, DiffForm
from compass_agent.view.fold import fold
from compass_agent.view.text import TextRenderer, Thinking
from compass_agent.view.times import TimeForm, Times
from compass_agent.wire import item_to_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from compass_agent.log.read import SessionSummary
    from compass_agent.view.choice import Choice
    from compass_agent.wire import Item


class Form(StrEnum):
    """How a session is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "md"


class Out(Protocol):
    """Where text goes, at once."""

    def write(self, text: str) -> None:
        """Write `text` and let it go.

        Raises:
            BrokenPipeError: Nobody reads any more.
        """
        ...

    def close(self) -> None:
        """Wait until what was written has been read, where that can be."""
        ...


class Stdout(Out):
    """Standard output, flushed with every piece, so that a pipe has each line as it comes."""

    def write(self, text: str) -> None:
        """As in `Out`."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def close(self) -> None:
        """Do nothing: it is not ours to close."""


class Printer(Protocol):
    """Turns items into text and writes it."""

    line_open: bool
    """Whether the last line that was written is still open."""

    def pass_by(self, items: Sequence[Item]) -> None:
        """Take note of items that are not shown."""
        ...

    def show(self, items: Sequence[Item]) -> None:
        """Print items."""
        ...

    def pause(self) -> None:
        """End the line that is open, as something else is to stand below it."""
        ...

    def finish(self) -> None:
        """Print what closes the last of them."""
        ...


def printer_of(
    options: argparse.Namespace, out: Out, session: SessionSummary, choice: Choice
) -> Printer:
    """Return the printer that the command line asks for."""
    if options.output == Form.JSON:
        return _Json(out, session.session, choice)
    if options.output == Form.MARKDOWN:
        return _Markdown(out, session, choice)
    return _Text(out, options, session.opened_ms, choice)


class _Text(Printer):
    """Lines for people."""

    def __init__(
        self, out: Out, options: argparse.Namespace, opened_ms: int, choice: Choice
    ) -> None:
        self.line_open = False
        self._out = out
        thinking: str | None = options.thinking
        if thinking is None:
            thinking = "full" if options.verbose else "short"
        self._renderer = TextRenderer(
            style_of(options),
            thinking=Thinking(thinking),
            clock=lambda: time.time_ns() // 1_000_000,
            opened_ms=opened_ms or None,
            times=Times(TimeForm(options.time), utc=options.utc),
            detail=_detail(options),
            choice=choice,
        )

    def pass_by(self, items: Sequence[Item]) -> None:
        self._renderer.render(items)
        self._renderer.finish()

    def show(self, items: Sequence[Item]) -> None:
        self._renderer.width = terminal_width()
        self._write(self._renderer.render(items))

    def pause(self) -> None:
        self._write(self._renderer.pause())

    def finish(self) -> None:
        self._write(self._renderer.finish())

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self.line_open = not text.endswith("\n")


def _detail(options: argparse.Namespace) -> Detail:
    usual = WHOLE if options.verbose else USUAL
    lines: int | None = options.output_lines
    return Detail(
        output_lines=usual.output_lines if lines is None else lines,
        line_chars=usual.line_chars,
        diff=DiffForm(options.diff),
        diff_lines=usual.diff_lines,
    )


class _Json(Printer):
    """One object a line."""

    line_open = False

    def __init__(self, out: Out, session: str, choice: Choice) -> None:
        self._out = out
        self._session = session
        self._choice = choice
        self._all = choice.takes_all

    def pass_by(self, items: Sequence[Item]) -> None:
        pass

    def show(self, items: Sequence[Item]) -> None:
        wanted = items if self._all else [item for item in items if self._takes(item)]
        if wanted:
            self._out.write("".join(item_to_json(self._session, one) + "\n" for one in wanted))

    def pause(self) -> None:
        pass

    def finish(self) -> None:
        pass

    def _takes(self, item: Item) -> bool:
        # Alone, a frame is an entry, or two; what is none, such as "caught up", always comes.
        entries = fold([item])
        return not entries or any(map(self._choice.takes, entries))


class _Markdown(Printer):
    """Headings and fences."""

    line_open = False

    def __init__(self, out: Out, session: SessionSummary, choice: Choice) -> None:
        from compass_agent.view.markdown import MarkdownRenderer  # noqa: PLC0415 - only for this

        self._out = out
        self._renderer = MarkdownRenderer(session.session, session.title, choice)

    def pass_by(self, items: Sequence[Item]) -> None:
        self._renderer.skip(items)

    def show(self, items: Sequence[Item]) -> None:
        self._write(self._renderer.render(items))

    def pause(self) -> None:
        pass

    def finish(self) -> None:
        self._write(self._renderer.finish())

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
