"""`make docs` makes a site that is whole, that fetches nothing, and that shows all public names."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    "compass_agent",
    *(
        f"compass_agent.{path.stem}"
        for path in sorted((ROOT / "docs/api").glob("*.rst"))
        if path.stem != "compass_agent"
    ),
]
# Public, and shown in the module that they are of.
ELSEWHERE = {
    **{module: set[str]() for module in MODULES},
    "compass_agent": {"ErrorCode", "OperationError", "__version__"},
    "compass_agent.client": {"Cursor"},
}
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FETCHED = {"src", "srcset", "poster", "data", "background", "action", "formaction", "manifest"}
FOREIGN = re.compile(r"(?:https?:|wss?:|^)//", re.IGNORECASE)
OF_STYLES = re.compile(r"""url\(\s*["']?\s*([^)"']*)|@import\s+["']([^"']*)""", re.IGNORECASE)
OF_SCRIPTS = re.compile(r"""(?:fetch|import|importScripts|open)\(\s*[`"'](https?:|wss?:)?//""")


class Fetched(HTMLParser):
    """Gathers the addresses that a browser fetches by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            is_fetched = name in FETCHED or (name == "href" and tag in {"link", "base", "use"})
            if is_fetched and value:
                self.addresses.append(value)


def of_styles(text: str) -> list[str]:
    return [one or other for one, other in OF_STYLES.findall(text)]


def fetched(path: Path) -> list[str]:
    """Return what a file of the site makes a browser fetch from other hosts."""
    text = path.read_text("utf-8", errors="replace")
    if path.suffix == ".js":
        return [match[0] for match in OF_SCRIPTS.finditer(text)]
    addresses = of_styles(text) if path.suffix in {".css", ".html", ".svg"} else []
    if path.suffix == ".html":
        page = Fetched()
        page.feed(text)
        addresses += page.addresses
    return [address for address in addresses if FOREIGN.match(address.strip())]


def options() -> list[str]:
    """Return the options that `make docs` gives to Sphinx, but for the places it writes to."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    line = re.search(r"^SPHINX := (.*) -d build/doctrees$", makefile, re.MULTILINE)
    assert line
    return shlex.split(line[1])


def made_site(folder: Path) -> Path:
    """Return the site, made as strictly as `make docs` does."""
    places = ["-d", str(folder / "doctrees"), ".", str(folder / "site")]
    command = [sys.executable, "-m", "sphinx", *options(), *places]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder / "site"


def hidden(site: Path, module: str) -> set[str]:
    """Return what a module exports and its page does not show."""
    page = (site / f"docs/api/{module.removeprefix('compass_agent.')}.html").read_text("utf-8")
    shown = set(re.findall(rf'id="{re.escape(module)}\.(\w+)"', page))
    return set(importlib.import_module(module).__all__) - shown


def imported(page: Path) -> set[str]:
    """Return the names of ours that the programs of a page import, as `module.name`."""
    found: set[str] = set()
    for program in PROGRAM.findall(page.read_text("utf-8")):
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compass_agent"):
                found |= {f"{node.module}.{one.name}" for one in node.names}
    return found


def described(site: Path) -> set[str]:
    """Return all names that the reference describes."""
    texts = [path.read_text("utf-8") for path in (site / "docs/api").glob("*.html")]
    return {name for text in texts for name in re.findall(r'id="(compass_agent[\w.]+)"', text)}


def test_the_build_is_strict() -> None:
    assert {"--fail-on-warning", "--keep-going", "--nitpicky"} <= set(options())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_site_is_whole_fetches_nothing_and_shows_all_public_names(tmp_path: Path) -> None:
    site = made_site(tmp_path)
    leads = re.search(r'url=([^"]+)"', (site / "index.html").read_text("utf-8"))
    assert leads
    assert (site / leads[1]).is_file()
    pages = {path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "docs").glob("*.md")}
    assert {page for page in pages if not (site / page).is_file()} == set()
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css", ".js", ".svg"}]
    foreign = {path.relative_to(site).as_posix(): fetched(path) for path in files}
    assert {name: addresses for name, addresses in foreign.items() if addresses} == {}
    assert {module: hidden(site, module) for module in MODULES} == ELSEWHERE
    told = set[str]().union(*map(imported, [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]))
    assert len(told) > 30
    assert told - described(site) == set()
    # Nobody makes a protocol, so none shows what Python would take for it.
    for page in (site / "docs/api").glob("*.html"):
        assert "(*args, **kwargs)" not in re.sub(r"<[^>]*>", "", page.read_text("utf-8")), page


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("a.html", '<link rel="stylesheet" href="https://fonts.example/a.css">'),
        ("b.html", '<script src="//cdn.example/a.js"></script>'),
        ("c.html", '<p style="background: url(https://example.com/a.png)">x</p>'),
        ("d.html", '<img alt="" src="HTTP://example.com/a.png">'),
        ("e.css", '@import "https://fonts.example/a.css";'),
        ("f.css", "a { src: url( '//fonts.example/a.woff' ) }"),
        ("g.js", 'fetch("https://example.com/a.json")'),
    ],
)
def test_what_another_host_would_be_asked_for_is_found(
    file: str, found: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(found, "utf-8")
    assert len(fetched(tmp_path / file)) == 1


def test_links_to_follow_and_files_of_the_site_are_no_matter(tmp_path: Path) -> None:
    page = '<a href="https://example.com">x</a><script src="_static/a.js"></script>'
    (tmp_path / "a.html").write_text(page, "utf-8")
    assert fetched(tmp_path / "a.html") == []
