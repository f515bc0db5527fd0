"""The pane's files: small, plain, safe by their text, and what they say they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import vendoring
from asgi import ask
from compass_agent.log import open_log
from compass_agent.pane import PAGE_HEADERS, board_page, pane_files, session_page
from compass_agent.services.http import http_app
from pane_sites import TOKEN

if TYPE_CHECKING:
    from pathlib import Path

    from asgi import Answer

MOST_BYTES = 120_000
LONGEST_FILE = 400
OURS = sorted(path for path in vendoring.STATIC.glob("*.js"))
# Ways by which text becomes markup or a script.
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|parseFromString|setHTML"
    r"|createContextualFragment|\beval\b|new Function|\.srcdoc|\bimport\(|\.on[a-z]+ = \"|cssText"
)

# Strings, templates and regular expressions: what is in them stays as it is.
TEXTS = re.compile(
    r""""(?:[^"\\]|\\.)*"|`[^`]*`|/(?![ /*])(?:\[(?:\\.|[^\]\\])*\]|\\.|[^/\\\[\n])+/"""
)


async def got(path: str) -> Answer:
    return await ask(http_app(open_log("memory:"), token=TOKEN), path)


async def test_the_whole_page_is_small_as_it_is_served() -> None:
    files = [f"/static/{name}" for name in pane_files() if name != "index.html"]
    answers = [await got(path) for path in ("/s/s1", *files)]
    assert {answer.headers.get("content-encoding") for answer in answers} == {None}
    assert sum(len(answer.body) for answer in answers) <= MOST_BYTES


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_no_script_of_ours_has_a_way_from_text_to_markup(path: Path) -> None:
    text = path.read_text("utf-8")
    assert SINKS.findall(re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL)) == []
    assert text.count("\n") <= LONGEST_FILE
    assert text.startswith("/**"), "a file says first what it is"


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_what_is_left_out_of_a_script_is_no_part_of_it(path: Path) -> None:
    text = path.read_text("utf-8")
    # In a text that spans lines, or that holds the signs of a comment, it would be.
    for line in re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL).splitlines():
        assert line.count("`") % 2 == 0, line
        assert "/*" not in line, line
    served = pane_files()[path.name].body.decode()
    squeezed = re.sub(r"/\*\*.*?\*/|^\s*//[^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    needed = re.sub(r"[;,](?=})|,(?=[)])", "", re.sub(r"\s+", "", squeezed))
    assert re.sub(r"\s+", "", served) == needed
    assert TEXTS.findall(served) == TEXTS.findall(squeezed)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_a_script_refers_only_to_files_that_are_there(path: Path) -> None:
    text = path.read_text("utf-8")
    for name in re.findall(r"from \"(.+?)\"", text):
        assert name.startswith("./")
        assert name.removeprefix("./") in pane_files()


def test_what_others_made_is_what_it_says() -> None:
    assert vendoring.wrong() == []
    assert {one.name for one in vendoring.libraries()} == {"marked", "diff"}


def test_a_changed_library_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    other = [one._replace(sha256="0" * 64) for one in vendoring.libraries()]
    monkeypatch.setattr(vendoring, "libraries", lambda: other)
    assert len(vendoring.wrong()) == 2


@pytest.mark.requirement("G-PANE-2")
@pytest.mark.parametrize("path", ["/", "/s/s1", *(f"/static/{name}" for name in pane_files())])
async def test_every_file_comes_with_the_policy(path: str) -> None:
    answer = await got(path)
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert policy == PAGE_HEADERS["Content-Security-Policy"]
    parts = policy.split("; ")
    assert {"default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"} < {
        *parts
    }
    assert "unsafe" not in policy
    assert "*" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/nothing.js",
        "/static/../__init__.py",
        "/static/..%2f__init__.py",
        "/static//etc/passwd",
        "/static/vendor",
        "/s/",
        "/s/a/b",
        "/favicon.ico",
    ],
)
async def test_nothing_else_is_given(path: str) -> None:
    assert (await got(path)).status in {401, 404}


async def test_a_session_s_page_is_the_same_a_level_deeper() -> None:
    board, session = await got("/"), await got("/s/s1")
    assert session.body == session_page().body == board.body.replace(b'="static/', b'="../static/')
    assert board_page().body == board.body
    links = session.headers["link"].split(", ")
    assert "<../static/main.js>; rel=modulepreload" in links
    assert len(links) == sum(name.endswith(".js") for name in pane_files()) - 1
