"""The session pane: a web page that shows sessions and what went wrong in them.

ES modules without a build step, one style sheet, and two vendored libraries
(`vendored/VENDORED.toml` says which). They are served as they are, but for comments and white space
that nothing needs, so that what a browser loads stays small. Nothing here needs more than the
standard library.
"""

from __future__ import annotations

__all__ = ("PAGE_HEADERS", "PaneFile", "board_page", "pane_files", "session_page")

import functools
import re
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

PAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'; require-trusted-types-for 'script';"
        " trusted-types compass-worker"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""What comes with every file of the page: nothing runs or loads but its own."""

_PAGE = "index.html"
_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


# No text in the page's scripts spans lines or looks like a comment: a test holds them to it.
_COMMENT = re.compile(rb"[ \t]*/\*\*.*?\*/[ \t]*|^[ \t]*//[^\n]*$", re.DOTALL | re.MULTILINE)
_AFTER_SIGN = re.compile(rb"\s*([{}>])\s*|([:;,])\s+")
_BETWEEN = re.compile(rb"\s*\n\s*")
# There no line's end ends a statement; the libraries have texts that span lines.
_GOES_ON = re.compile(rb"(?<=[{(\[,;])\n|\n(?=[})\]])")
# Before a closing sign they separate nothing; no loop without a body stands there.
_LAST = re.compile(rb"[;,](?=})|,(?=[)])")
# A string, a template that may hold others, a regular expression (a division has spaces), or signs.
_PART = re.compile(
    rb"""[ ]*("(?:\\.|[^"\\])*"|`(?:\$\{(?:[^`}]|`[^`]*`)*\}|[^`])*`"""
    rb"""|/(?![ /*])(?:\[(?:\\.|[^\]\\])*\]|\\.|[^/\\\[])+/)[ ]*"""
    rb"""|[ ]*(=>|\?\?|\|\||&&|[=?:<>(){}\[\],;&|!*]|(?<!\+)\+(?!\+))[ ]*"""
)


class PaneFile(NamedTuple):
    """A file of the page."""

    media_type: str
    body: bytes


@functools.cache
def pane_files() -> Mapping[str, PaneFile]:
    """Return the page's files by their path below `static/`, such as `vendor/diff.js`."""
    return dict(_below(files("compass_agent.pane").joinpath("static"), ""))


def board_page() -> PaneFile:
    """Return the page that lists the sessions; it refers to its files as `static/…`."""
    return pane_files()[_PAGE]


@functools.cache
def session_page() -> PaneFile:
    """Return the same page for an address one level deeper, where one session is shown."""
    page = board_page()
    return page._replace(body=page.body.replace(b'="static/', b'="../static/'))


def _below(folder: Traversable, prefix: str) -> list[tuple[str, PaneFile]]:
    found: list[tuple[str, PaneFile]] = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            found += _below(entry, f"{prefix}{entry.name}/")
        elif (kind := _MEDIA_TYPES.get(entry.name.rpartition(".")[2])) is not None:
            body = _lean(entry.read_bytes())
            body = _lean_style(body) if entry.name.endswith(".css") else body
            body = _lean_script(body) if entry.name.endswith(".js") and not prefix else body
            found.append((prefix + entry.name, PaneFile(kind, body)))
    return found


def _lean(source: bytes) -> bytes:
    """Return `source` without comments, indentation and empty lines."""
    return _BETWEEN.sub(b"\n", _COMMENT.sub(b" ", source)).strip() + b"\n"


def _lean_script(source: bytes) -> bytes:
    """Return a script of ours without the line ends and spaces that nothing needs."""
    lines = (_lean_line(line) for line in source.split(b"\n"))
    return _LAST.sub(b"", _GOES_ON.sub(b"", b"\n".join(lines)))


def _lean_line(line: bytes) -> bytes:
    return _PART.sub(lambda part: part[1] or part[2], line)


def _lean_style(source: bytes) -> bytes:
    """Return a style sheet without the white space that no rule needs."""
    return _LAST.sub(b"", _AFTER_SIGN.sub(rb"\1\2", source))
