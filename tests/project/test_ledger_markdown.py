"""What the gate reads of Markdown: anchors as GitHub makes them, links, and what is neither."""

from __future__ import annotations

import pytest

from gate.ledger import parse_ledger
from gate.markdown import Link, anchors, headings, links
from gate.records import parse_record


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("The lane (DL-323)", "the-lane-dl-323"),
        ("Emit is a plain function", "emit-is-a-plain-function"),
        ("What's new? C++, 50 %", "whats-new-c-50-"),
        ("a - b", "a---b"),
        ("a_b __init__ _it_ *is*", "a_b-init-it-is"),
        ("`a_b`, `__init__` and `x < y`", "a_b-__init__-and-x--y"),
        ("A [link](to.md#x) & ![picture](p.png) more", "a-link---more"),
        ("A [link][to] and <b>bold</b> &amp; so", "a-link-and-bold--so"),
        ("Über Größe, naïve", "über-größe-naïve"),
        ("日本語 の 見出し", "日本語-の-見出し"),
        ("Rocket 🚀 off", "rocket--off"),
        ("one—two…", "onetwo"),
        ("closed ##", "closed"),
        (r"a\_b \*c\*", "a_b-c"),
        ("1. First", "1-first"),
        ("tab\tbed", "tabbed"),
    ],
)
def test_an_anchor_is_the_heading_as_github_makes_it(heading: str, anchor: str) -> None:
    assert anchors(f"## {heading}\n") == {anchor}


def test_headings_of_one_name_are_counted() -> None:
    text = "# A\n\n# A\n\n# A-1\n\n# A\n"
    assert anchors(text) == {"a", "a-1", "a-1-1", "a-2"}


def test_a_page_may_name_places_itself() -> None:
    assert anchors('<a id="here"></a> <a name="There">x</a>\n') == {"here", "There"}


def test_headings_are_found_where_they_are() -> None:
    text = "# One #\n\nTwo\n===\n\n   ### Three\n\n- a\n---\n\n    # code\n#none\n####### no\n#\n"
    assert headings(text) == ["One", "Two", "Three", ""]


def test_fences_and_comments_hold_neither_headings_nor_links() -> None:
    text = "```text\n# a\n[b](c)\n~~~\n````\n<!--\n# d\n[e](f)\n-->\n~~~~\n~~~\n# g\n~~~~\n[h](i)\n"
    assert headings(text) == []
    assert links(text) == [Link(14, "i", "")]


def test_a_fence_that_is_not_closed_reaches_to_the_end() -> None:
    assert links("- a\n  ```text\n  [b](c)\n") == []
    assert links("`` ``` `` [b](c)\n") == [Link(1, "c", "")]


@pytest.mark.parametrize(
    ("text", "path", "anchor"),
    [
        ("[a](b.md)", "b.md", ""),
        ("[a](b.md#c-d)", "b.md", "c-d"),
        ("[a](#c)", "", "c"),
        ('[a]( b.md "title" )', "b.md", ""),
        ("[a](<b c.md>)", "b c.md", ""),
        ("[a](b%20c.md#%C3%BC)", "b c.md", "ü"),
        ("[a](b_(c).md)", "b_(c).md", ""),
        ("[`a` and [b]](c.md)", "c.md", ""),
        ("a][b]\n\n[b]: c.md 'title'", "c.md", ""),
        ("![a](b.png)", "b.png", ""),
        ('<img alt="a" src="b.png">', "b.png", ""),
        ('<a href="b.md#c">', "b.md", "c"),
    ],
)
def test_a_link_is_found_however_it_is_written(text: str, path: str, anchor: str) -> None:
    assert [(link.path, link.anchor) for link in links(text)] == [(path, anchor)]


@pytest.mark.parametrize(
    "text",
    ["`[a](b)`", r"[a\](b)", "[a] (b)", "[a](https://b/c)", "[a](mailto:b@c)", "[a](//b/c)",
     "[^1]: b.md", "<https://b.c>", "`` ` [a](b) ``", "`a\n[b](c)`"],
)  # fmt: skip
def test_what_is_no_link_into_the_project_is_left_alone(text: str) -> None:
    assert links(text) == []


def test_a_head_names_numbers_only_where_it_says_unused() -> None:
    text = "# D\n\nOf 2026.\n- 3, 4 and 6 to 8 stay\n  unused. The next free number is 12.\n\n## S"
    assert parse_ledger(text).reserved == {3, 4, 6, 7, 8}
    assert parse_ledger(text).next_number == 12


def test_a_row_within_a_fence_is_none() -> None:
    assert parse_ledger("## S\n\n```text\n| DL-1 | a. | b | c |\n```\n").rows == []


def test_a_record_is_read_into_its_parts() -> None:
    text = (
        "# T\n\nStatus: Superseded by DL-7\n\n> 2026-01-02: a\n> b\n\n> 2026-01-03: c\n\n> d\n\ne\n"
    )
    read = parse_record(text)
    assert (read.title, read.status, read.by) == ("T", "Superseded by DL-7", 7)
    assert read.notes == ("> 2026-01-02: a\n> b", "> 2026-01-03: c")
    assert read.body == "> d\n\ne"
