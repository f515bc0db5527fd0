"""Bytes are split into lines at line feeds alone, in bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compass_agent.adapters.lines import Line, LineSplitter

SEPARATORS = "a\r\u2028\u2029\u0085\x0b\x0cb".encode()


def test_only_a_line_feed_ends_a_line() -> None:
    lines = LineSplitter().feed(SEPARATORS + b"\n\nrest")
    assert lines == [Line(1, SEPARATORS), Line(2, b"")]


@given(st.lists(st.binary(max_size=12), max_size=12))
def test_any_chunking_gives_the_same_lines(chunks: list[bytes]) -> None:
    whole, pieces = LineSplitter(), LineSplitter()
    expected = [*whole.feed(b"".join(chunks)), whole.take()]
    found = [line for chunk in chunks for line in pieces.feed(chunk)]
    assert [*found, pieces.take()] == expected


def test_a_line_over_the_limit_is_counted_and_the_next_is_whole() -> None:
    splitter = LineSplitter(limit=10)
    lines = splitter.feed(b"x" * 8)
    lines += splitter.feed(b"x" * 8)
    assert splitter.waiting
    lines += splitter.feed(b"x" * 4 + b"\nnext\n" + b"0123456789\n")
    assert lines == [Line(1, b"", 20), Line(2, b"next"), Line(3, b"0123456789")]
