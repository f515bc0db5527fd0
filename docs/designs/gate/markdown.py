"""What the gate reads of Markdown: headings with their anchors, and links.

Anchors are made as GitHub makes them: the heading as it is shown, in lower case, without
punctuation, spaces as hyphens; the second one of a name ends in `-1`.
"""

from __future__ import annotations

__all__ = ("Link", "anchors", "heading_anchors", "headings", "links", "prose")

import html
import re
import unicodedata
from typing import NamedTuple
from urllib.parse import unquote

_FENCE = re.compile(r"[\s>]*(?P<marks>`{3,}|~{3,})(?P<info>.*)")
_SPAN_OR_COMMENT = re.compile(
    r"(?<![`\\])(?P<marks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=marks)(?!`)"
    r"|(?P<comment><!--.*?(?:-->|\Z))",
    re.DOTALL,
)
_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_HASHES = re.compile(r" {0,3}#{1,6}(?:[ \t]+(?P<text>.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_NO_PARAGRAPH = re.compile(r" {0,3}(?:[-*+>|#]|\d+[.)]\s)| {4}|\s*$")
_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINKED = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^>]*>")
_UNDERSCORED = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_OWN_ANCHOR = re.compile(r"<[a-z][a-z0-9]*\b[^>]*?\b(?:id|name)=\"([^\"]+)\"", re.IGNORECASE)
_INLINE = re.compile(
    r"(?<!\\)\]\(\s*(?P<to><[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*\)"
)
_DEFINED = re.compile(r"^ {0,3}\[(?!\^)[^\]]+\]:[ \t]*(?P<to><[^<>\n]*>|\S+)", re.MULTILINE)
_REFERRING = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"(?P<to>[^\"]*)\"", re.IGNORECASE)


class Link(NamedTuple):
    """A link of a page: its line (from 1), and where it leads, decoded, without `<` and `>`."""

    line: int
    path: str
    anchor: str


def prose(text: str) -> str:
    """Return `text` with fenced blocks and comments made empty; every line stays where it is."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line)
        if fence:
            kept.append("")
            if found and found["marks"].startswith(fence) and not found["info"].strip():
                fence = ""
        elif found and not (found["marks"][0] == "`" and "`" in found["info"]):
            fence = found["marks"]
            kept.append("")
        else:
            kept.append(line)
    return _SPAN_OR_COMMENT.sub(_without_comment, "\n".join(kept))


def _without_comment(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n") if found["comment"] else found[0]


def headings(text: str) -> list[str]:
    """Return the headings of a page in order, as they are written, without their marks."""
    found: list[str] = []
    before = ""
    for line in prose(text).split("\n"):
        hashes = _HASHES.fullmatch(line)
        if hashes:
            found.append(hashes["text"] or "")
        elif _UNDERLINE.fullmatch(line) and not _NO_PARAGRAPH.match(before):
            found.append(before.strip())
        before = line
    return found


def anchors(text: str) -> set[str]:
    """Return what a link to this page may name behind `#`."""
    return {*heading_anchors(text), *_OWN_ANCHOR.findall(prose(text))}


def heading_anchors(text: str) -> list[str]:
    """Return the anchors of the headings of a page, in order."""
    given: dict[str, int] = {}
    for heading in headings(text):
        slug = _slug(heading)
        name = slug
        while name in given:
            given[slug] += 1
            name = f"{slug}-{given[slug]}"
        given[name] = 0
    return list(given)


def _slug(heading: str) -> str:
    parts: list[str] = []
    end = 0
    for span in _SPAN.finditer(heading):
        parts += [_shown(heading[end : span.start()]), span[2]]
        end = span.end()
    parts.append(_shown(heading[end:]))
    lowered = "".join(parts).strip().lower()
    return "".join(one for one in lowered if one in "- " or _is_word(one)).replace(" ", "-")


def _shown(text: str) -> str:
    """Return inline Markdown as a reader sees it; `*` stays, since a slug has none anyway."""
    text = _LINKED.sub(r"\1", _IMAGE.sub("", text))
    text = _UNDERSCORED.sub(r"\2", _TAG.sub("", text))
    return html.unescape(text).replace("\\", "")


def _is_word(one: str) -> bool:
    category = unicodedata.category(one)
    return category[0] in "LM" or one.isdecimal() or category in {"Nl", "Pc"}


def links(text: str) -> list[Link]:
    """Return the links of a page that lead to a file or into the page itself, in order."""
    seen = _SPAN.sub(lambda span: re.sub(r"[^\n]", " ", span[0]), prose(text))
    places = sorted(
        (found.start("to"), found["to"])
        for pattern in (_INLINE, _DEFINED, _REFERRING)
        for found in pattern.finditer(seen)
    )
    found: list[Link] = []
    for start, target in places:
        bare = target.strip("<>")
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//", bare):
            continue
        path, _, anchor = bare.partition("#")
        found.append(Link(seen.count("\n", 0, start) + 1, unquote(path), unquote(anchor)))
    return found
