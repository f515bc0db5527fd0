"""Line differences of a file, at a bounded cost."""

from __future__ import annotations

__all__ = ("DiffText", "diff_text")

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compass_agent.view.entries import FileDiff

_CONTEXT = 3
_NO_NEWLINE = "\\ No newline at end of file"
# Matching costs up to the product of both sides; above this, the whole middle counts as replaced.
_MOST_PAIRS = 250_000


@dataclass(frozen=True, slots=True)
class DiffText:
    """A unified diff.

    Attributes:
        added: Lines that are new.
        removed: Lines that are gone.
        lines: `@@` headers, and lines that begin with `+`, `-`, a space or a backslash.
        exact: False: the file is too large to compare line by line, and what differs is given as
            one block.
    """

    added: int
    removed: int
    lines: list[str]
    exact: bool


def diff_text(diff: FileDiff) -> DiffText:
    """Return the difference with three lines of context. Lines end at newlines alone."""
    old, new = _lines(diff.old_text or ""), _lines(diff.new_text)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    exact = len(middle_old) * len(middle_new) <= _MOST_PAIRS
    opcodes = [("equal", 0, head, 0, head)]
    if exact:
        matcher = SequenceMatcher(None, middle_old, middle_new)
        opcodes += [
            (tag, a + head, b + head, c + head, d + head)
            for tag, a, b, c, d in matcher.get_opcodes()
        ]
    else:
        opcodes.append(("replace", head, len(old) - tail, head, len(new) - tail))
    opcodes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    changes = [code for code in opcodes if code[0] != "equal"]
    return DiffText(
        added=sum(code[4] - code[3] for code in changes),
        removed=sum(code[2] - code[1] for code in changes),
        lines=list(_unified(old, new, changes)),
        exact=exact,
    )


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    lines = [line + "\n" for line in lines]
    return [*lines, last] if last else lines


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for left, right in zip(old, new, strict=False):
        if left != right:
            break
        count += 1
    return count


def _unified(
    old: list[str], new: list[str], changes: list[tuple[str, int, int, int, int]]
) -> Iterator[str]:
    for hunk in _hunks(changes):
        first, last = hunk[0], hunk[-1]
        before = min(_CONTEXT, first[1])
        after = min(_CONTEXT, len(old) - last[2])
        old_from, old_to = first[1] - before, last[2] + after
        new_from, new_to = first[3] - before, last[4] + after
        yield f"@@ -{_span(old_from, old_to)} +{_span(new_from, new_to)} @@"
        at = old_from
        for _, a, b, c, d in hunk:
            yield from _marked(" ", old[at:a])
            yield from _marked("-", old[a:b])
            yield from _marked("+", new[c:d])
            at = b
        yield from _marked(" ", old[at:old_to])


def _hunks(
    changes: list[tuple[str, int, int, int, int]],
) -> Iterator[list[tuple[str, int, int, int, int]]]:
    hunk: list[tuple[str, int, int, int, int]] = []
    for change in changes:
        if hunk and change[1] - hunk[-1][2] > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _span(start: int, stop: int) -> str:
    # As `diff -u` writes it: an empty range names the line before it.
    length = stop - start
    return f"{start + 1 if length else start},{length}"


def _marked(sign: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _NO_NEWLINE
