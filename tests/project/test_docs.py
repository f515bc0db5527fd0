"""What the documents show works: their commands and programs run, their links lead somewhere.

Fenced blocks have these kinds, and no shell kind besides:

    ```console   lines that begin with "$ " run in bash, in order, in one folder a document, which
                 holds a copy of tests/data; a command that ends in `# exit N` ends with status N,
                 any other with 0; what stands between commands is sample output. `make TARGET` is
                 not run, its target is looked up; lines that begin with NOT_RUN are not run. A page
                 that makes an environment has the command and the package from there alone: its
                 `pip` refuses outside of one, and puts in there what this one has. A hub in the
                 background is waited for, and port 7330 or 7331 is a free one. A server of NATS is
                 there for a page that names it at its usual ports.
    ```python    a whole program; runs in a process of its own, in a folder like that. One that
                 begins with `# NAME.py` is there under that name for the page's commands.
    ```text      anything else that is to be read only.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gate.markdown import anchors, links
from hubs import short_folder
from nats_servers import NatsServer, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
}
HERE = [path for path in sys.path if Path(path).is_dir() and not path.startswith(sys.base_prefix)]
KINDS = {"console", "python", "text", "proto", "json", "toml", "yaml", "mermaid"}
# What a document may tell a reader to do and a test may not: it needs the network or a checkout.
NOT_RUN = ("git ", "cd ", ".ci/run", "HYPOTHESIS_PROFILE=")
MAKES_ENVIRONMENT = "python3 -m venv "
# As far as it goes without the network; `pip` wants an environment, as distributions have it.
INSTALLING = rf"""
python3() {{
    [ "$1 $2" = "-m venv" ] && set -- -m venv --without-pip "$3"
    {shlex.quote(sys.executable)} "$@"
}}
pip() {{
    [ "$(type -p python)" = "$PWD/.venv/bin/python" ] || {{ echo "externally managed"; return 1; }}
    [ "$1" = install ] && [[ "$2" == .* ]] || return 2
    printf '%s\n' {shlex.join(HERE)} > "$(echo "$VIRTUAL_ENV"/lib/python3*/site-packages)/here.pth"
    printf '#!%s\nimport sys\nfrom compass_agent.cli import main\nsys.exit(main())\n' \
        "$VIRTUAL_ENV/bin/python" > "$VIRTUAL_ENV/bin/compass"
    chmod +x "$VIRTUAL_ENV/bin/compass"
}}
"""
HUB_STARTS = re.compile(r"compass serve(?! --unix).* &")
HUB_IS_THERE = """
until [ -S "$XDG_RUNTIME_DIR/compass/http.sock" ]; do
    kill -0 $! || exit 1
    sleep 0.05
done
"""
NATS = "nats://127.0.0.1:4222"
MONITOR = "http://127.0.0.1:8222"
PORT = re.compile(r"(?<=127\.0\.0\.1:)733[01]\b")
# For whoever looks at something meanwhile.
LONG_WAIT = re.compile(r"\bsleep [0-9]+\b")
BLOCK = re.compile(r"^```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\w+\.py)\n")
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
SECONDS = 50


class Command(NamedTuple):
    """One command of a console block, and the exit status that it must have."""

    text: str
    status: int


def blocks(page: str, kind: str) -> list[str]:
    """Return the bodies of a page's fenced blocks of one kind."""
    found = BLOCK.finditer(PAGES[page].read_text("utf-8"))
    return [block["body"] for block in found if block["kind"] == kind]


def commands(page: str) -> list[Command]:
    """Return the commands of a page's console blocks, in order."""
    lines = [
        line.removeprefix("$ ")
        for body in blocks(page, "console")
        for line in body.replace("\\\n", "").splitlines()
        if line.startswith("$ ")
    ]
    found: list[Command] = []
    for line in lines:
        text, _, status = line.partition("# exit ")
        found.append(Command(text.strip(), int(status or 0)))
    return found


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder for a document's commands, with the recordings that documents refer to."""
    folder = tmp_path / "workplace"
    folder.mkdir()
    if (ROOT / "tests/data").is_dir():
        shutil.copytree(ROOT / "tests/data", folder / "tests/data")
    return folder


@pytest.fixture
def nats() -> Generator[Callable[[Path], dict[str, str]]]:
    """Starts a server in a folder; returns what a page calls it, and where it is."""
    with ExitStack() as stack:

        def begin(folder: Path) -> dict[str, str]:
            monitor = f"127.0.0.1:{free_port()}"
            server = NatsServer(folder, extra=[f'http: "{monitor}"'])
            stack.callback(server.kill)
            server.start()
            return {NATS: server.url, MONITOR: f"http://{monitor}"}

        yield begin


def run(command: list[str], folder: Path, *, programs: bool = True) -> None:
    """Run `command` in `folder` with a home of its own and, if wanted, this Python's programs."""
    home = folder.parent / "home"
    home.mkdir()
    with short_folder() as runtime:
        env = {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{SYSTEM}" if programs else SYSTEM,
            "TERM": "dumb",
            "XDG_RUNTIME_DIR": str(runtime),
        }
        done = subprocess.run(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_do_what_they_say(
    page: str, workplace: Path, nats: Callable[[Path], dict[str, str]]
) -> None:
    for program in blocks(page, "python"):
        if name := NAMED.match(program):
            (workplace / name[1]).write_text(program, "utf-8")
    script = ["trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT", "status=0"]
    installs = any(command.text.startswith(MAKES_ENVIRONMENT) for command in commands(page))
    script += [INSTALLING] if installs else []
    port, ports = str(free_port()), {NATS: NATS, MONITOR: MONITOR}
    if any(NATS in command.text for command in commands(page)):
        ports = nats(workplace.parent / "nats")
    for command in commands(page):
        if command.text.startswith(("make", *NOT_RUN)):
            continue
        told = f"exit $status instead of {command.status}: {shlex.quote(command.text)}"
        wrong = f'[ "$status" = {command.status} ] || {{ echo {told}; exit 1; }}'
        text = PORT.sub(port, LONG_WAIT.sub("sleep 0", command.text))
        for usual, free in ports.items():
            text = text.replace(usual, free)
        script += [f"{text}\nstatus=$?", wrong]
        script += [HUB_IS_THERE] if HUB_STARTS.fullmatch(command.text) else []
    run(["bash", "-c", "\n".join(script)], workplace, programs=not installs)


@pytest.mark.parametrize("page", PAGES)
def test_the_make_targets_that_a_page_names_exist(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    text = PAGES[page].read_text("utf-8")
    inline = [f"make {words}" for words in re.findall(r"`make ([^`]+)`", text)]
    named = {
        word
        for line in [*inline, *(command.text for command in commands(page))]
        if line.startswith("make")
        for word in line.split()[1:]
        if "=" not in word and not word.startswith("-")
    }
    assert named <= targets


PROGRAMS = [
    pytest.param(body, id=f"{page}-{number}")
    for page in PAGES
    for number, body in enumerate(blocks(page, "python"), 1)
]


@pytest.mark.parametrize("program", PROGRAMS or [pytest.param("", id="none yet")])
def test_a_program_in_a_page_runs(program: str, workplace: Path) -> None:
    (workplace / "program.py").write_text(program, "utf-8")
    run([sys.executable, "-W", "error", "program.py"], workplace)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_uses_the_agreed_kinds_of_blocks(page: str) -> None:
    text = PAGES[page].read_text("utf-8")
    kinds = {block["kind"] for block in BLOCK.finditer(text)}
    assert kinds <= KINDS
    for body in blocks(page, "console"):
        assert body.startswith("$ "), "a console block begins with a command"
    for body in blocks(page, "text"):
        assert not re.search(r"^\$ ", body, re.MULTILINE), "commands belong into a console block"


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere_in_the_project(page: str) -> None:
    path = PAGES[page]
    for link in links(path.read_text("utf-8")):
        target = (path.parent / link.path).resolve() if link.path else path
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        if link.anchor:
            assert link.anchor in anchors(target.read_text("utf-8")), link
