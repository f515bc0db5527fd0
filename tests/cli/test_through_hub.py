"""`compass tail` and `compass sessions` through a hub are what they are at its log."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from commands import compass, started
from compass_agent import open_session
from hubs import serving, short_folder
from inner_events import assistant_end, delta, message_start
from recordings import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

TOKEN = "-".join(["0123456789abcdef"] * 2)
PATIENCE_S = 20
COMMANDS = (
    ("tail", "fix-1", "--no-follow"),
    ("tail", "fix", "--json"),
    ("tail", "@last"),
    ("tail", "nobody", "--no-follow"),
    ("tail", "nobody", "--wait", "0"),
    ("tail", "fix-1", "--after", f"{'f' * 16}-4", "--json"),
    ("sessions",),
    ("sessions", "--json", "--limit", "1"),
)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A private folder; the default socket is in it."""
    with short_folder() as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made))
        monkeypatch.setenv("XDG_STATE_HOME", str(made / "state"))
        monkeypatch.delenv("COMPASS_TOKEN_FILE", raising=False)
        yield made


def failed_session(url: str, session: str = "fix-1") -> None:
    with open_session(session, log=url, title="Fix it", agent="pi") as one:
        one.feed(message_start())
        one.feed(delta("Looking"))
        one.feed(assistant_end("error", errorMessage="Overloaded", errorStatus=529))


def lines_until(process: subprocess.Popen[str], word: str) -> list[str]:
    """What the command prints, up to the line with this word."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or word not in lines[-1]:
        line = process.stdout.readline()
        assert line, f"the tail ended before {word}: {lines}"
        lines.append(line)
    return lines


def ended(*command: str) -> tuple[int, str, str]:
    """How the command ends, and what it says; how long ago things were may differ."""
    done = compass(*command)
    return done.returncode, re.sub(r"\d+ s ago", "N s ago", done.stdout), done.stderr


@pytest.mark.requirement("G-HUB-8")
@pytest.mark.slow
@pytest.mark.parametrize("by", ["unix", "grpc"])
def test_tail_and_sessions_through_a_hub_are_those_at_its_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    (folder / "token").write_text(TOKEN, "ascii")
    listen = ("--listen", "127.0.0.1:0", "--token-file", str(folder / "token"))
    with serving("--log", log, *listen) as (_, (unix, grpc)):
        url = unix if by == "unix" else grpc
        if by == "grpc":
            refused = compass("sessions", "--log", url)
            assert (refused.returncode, refused.stdout) == (77, "")
            assert "name its file in COMPASS_TOKEN_FILE" in refused.stderr
            told = compass("run", "--log", url, "--", "true").stderr
            assert "asks for a token, and COMPASS_TOKEN_FILE names none" in told
            (folder / "other").write_text(TOKEN[::-1], "ascii")
            monkeypatch.setenv("COMPASS_TOKEN_FILE", str(folder / "other"))
            refused = compass("tail", "@last", "--log", url)
            assert f"does not take the token in {folder}/other" in refused.stderr
            monkeypatch.setenv("COMPASS_TOKEN_FILE", str(folder / "token"))
        failed_session(url)
        for command in COMMANDS:
            assert ended(*command, "--log", url) == ended(*command, "--log", log)
        shown = compass("tail", "fix-1", "--json", "--log", url)
        assert shown.returncode == 75
        seqs = [json.loads(line).get("seq") for line in shown.stdout.splitlines()]
        assert len(seqs) > 4
        epoch = json.loads(shown.stdout.splitlines()[0])["epoch"]
        after = compass("tail", "fix-1", "--json", "--after", f"{epoch}-{seqs[1]}", "--log", url)
        assert after.stdout.splitlines() == shown.stdout.splitlines()[2:]


@pytest.mark.parametrize("text", ["", "a\nb", f"{TOKEN}\n{TOKEN}", "short", "é" * 20])
def test_a_file_that_holds_no_token_is_told_as_such(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = folder / "token"
    file.write_text(text, "utf-8")
    monkeypatch.setenv("COMPASS_TOKEN_FILE", str(file))
    done = compass("sessions", "--log", "grpc://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (65, "")
    told, *advice = done.stderr.splitlines()
    assert (told.startswith(f"compass: {file} holds no token: "), len(advice)) == (True, 2)


def test_nothing_is_recorded_without_the_token_to_bring(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPASS_TOKEN_FILE", str(folder / "none"))
    recording = DATA / "pi" / "err-401.jsonl"
    done = compass("replay", recording, "--log", "grpc://127.0.0.1:9")
    assert (done.returncode, f"{folder}/none cannot be read" in done.stderr) == (77, True)
    assert "nothing was recorded" in done.stderr


def test_a_hub_that_is_not_there_is_unavailable_at_once(folder: Path) -> None:
    for command in (("sessions",), ("tail", "s1")):
        done = compass(*command, "--log", f"unix:{folder}/none.sock")
        assert (done.returncode, done.stdout) == (5, "")
        assert done.stderr.startswith("compass: The session log cannot be reached")


@contextmanager
def tailing(url: str) -> Generator[tuple[subprocess.Popen[str], Callable[[], str]]]:
    """`compass tail s1 --json`, and what reads a line of its talk."""
    with started("tail", "s1", "--json", "--log", url) as process:
        try:
            assert process.stderr is not None
            yield process, process.stderr.readline
        finally:
            process.kill()


@pytest.mark.requirement("G-HUB-8")
@pytest.mark.parametrize(
    "by", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_tail_goes_on_when_its_hub_is_restarted(folder: Path, by: signal.Signals) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    with ExitStack() as stack:
        with serving("--log", log) as (hub, (url,)):
            tail, said = stack.enter_context(tailing(url))
            assert "waiting up to 10 s" in said()
            session = open_session("s1", log=url).__enter__()
            session.notice("before")
            told = lines_until(tail, "before")
            hub.send_signal(by)
            hub.wait(PATIENCE_S)
            assert "the connection to the hub broke" in said()
            session.notice("meanwhile")
        with serving("--log", log):
            told += lines_until(tail, "meanwhile")
            session.notice("after")
            session.__exit__(None, None, None)
            rest, talk = tail.communicate(timeout=PATIENCE_S)
    assert tail.returncode == 0
    notices = [json.loads(line)["notice"] for line in talk.splitlines()]
    assert re.fullmatch("reconnected after [0-9a-f]{16}-[0-9]+; 0 frames missing", notices[-1])
    items = [json.loads(line) for line in (*told, *rest.splitlines())]
    seqs = [int(one["seq"]) for one in items if "seq" in one and "end" not in one]
    assert seqs == list(range(1, len(seqs) + 1))
    assert sum("caughtUp" in one for one in items) == 1
    assert "end" in items[-1]
