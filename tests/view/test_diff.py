"""Diffs are right, and cheap however large the file."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from compass_agent.view.diff import diff_text
from compass_agent.view.entries import FileDiff

_TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "\u2028x"]), max_size=40).map("\n".join)


def test_a_change_is_shown_with_three_lines_of_context() -> None:
    old = "".join(f"{n}\n" for n in range(1, 21))
    diff = diff_text(FileDiff("p", old, old.replace("10\n", "ten\n")))
    assert (diff.added, diff.removed, diff.exact) == (1, 1, True)
    assert diff.lines == [
        "@@ -7,7 +7,7 @@",
        " 7",
        " 8",
        " 9",
        "-10",
        "+ten",
        " 11",
        " 12",
        " 13",
    ]


def test_only_the_lines_that_differ_are_counted() -> None:
    old = "".join(f"{n}\n" for n in range(40))
    new = old.replace("5\n", "five\n", 1).replace("30\n", "")
    diff = diff_text(FileDiff("p", old, new))
    assert (diff.added, diff.removed) == (1, 2)
    assert [line for line in diff.lines if line[0] == "@"] == [
        "@@ -3,7 +3,7 @@",
        "@@ -28,7 +28,6 @@",
    ]


def test_a_created_file_is_all_new_and_an_equal_one_has_no_lines() -> None:
    created = diff_text(FileDiff("p", None, "x\ny"))
    assert created.lines == ["@@ -0,0 +1,2 @@", "+x", "+y", "\\ No newline at end of file"]
    assert diff_text(FileDiff("p", "x\n", "x\n")).lines == []
    assert diff_text(FileDiff("p", "", "")).lines == []


def test_a_newline_that_was_added_at_the_end_is_a_change() -> None:
    diff = diff_text(FileDiff("p", "x", "x\n"))
    assert diff.lines == ["@@ -1,1 +1,1 @@", "-x", "\\ No newline at end of file", "+x"]


def _patched(old: str, lines: list[str]) -> str:
    """Apply a unified diff the slow and plain way."""
    source = old.split("\n")
    source = [line + "\n" for line in source[:-1]] + ([source[-1]] if source[-1] else [])
    out: list[str] = []
    at, last = 0, ""
    for line in lines:
        if line.startswith("@@"):
            start, length = map(int, line.split(" ")[1][1:].split(","))
            start -= length > 0
            out += source[at:start]
            at = start
        elif line.startswith("\\"):
            if last == "+":
                out[-1] = out[-1].removesuffix("\n")
        elif line[0] == "+":
            out.append(line[1:] + "\n")
        else:
            assert source[at].removesuffix("\n") == line[1:]
            if line[0] == " ":
                out.append(source[at])
            at += 1
        last = line[0]
    return "".join([*out, *source[at:]])


@given(_TEXTS, _TEXTS)
def test_applying_the_diff_gives_the_new_text(old: str, new: str) -> None:
    diff = diff_text(FileDiff("p", old, new))
    assert _patched(old, diff.lines) == new
    assert sum(line[0] == "+" for line in diff.lines) == diff.added


def test_a_huge_difference_is_told_as_one_block_at_once() -> None:
    old = "".join(f"a{n}\n" for n in range(20_000))
    new = "".join(f"b{n}\n" for n in range(20_000))
    began = time.perf_counter()
    diff = diff_text(FileDiff("p", "same\n" + old + "end\n", "same\n" + new + "end\n"))
    assert time.perf_counter() - began < 5
    assert (diff.exact, diff.added, diff.removed) == (False, 20_000, 20_000)
    assert diff.lines[:2] == ["@@ -1,20002 +1,20002 @@", " same"]
