"""`compass replay` of an export stores the same frames at the same places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.cli import main
from compass_agent.frames import AgentSessionState, FrameBuilder, SessionErrorKind
from compass_agent.log import open_log
from compass_agent.wire import Batch, EndMark, GapReason
from mockups import EXITS, record_mockups
from writing_logs import E1, E2

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
build = FrameBuilder(lambda: 1_700_000_000_000)


def exported(session: str, url: str, capsys: Capture) -> str:
    assert main(["export", session, "--log", url]) == 0
    return capsys.readouterr().out


async def write_two_runs(url: str) -> None:
    """A session of two runs, of which the first lost frames for every reason."""
    log = open_log(url)
    text, failure, working = (
        frame.SerializeToString()
        for frame in (
            build.assistant_text("x", "1"),
            build.session_error(SessionErrorKind.SESSION_ERROR_KIND_ERROR, "no", status=503),
            build.lifecycle(WORKING),
        )
    )
    await log.open("s", E1)
    reasons = (
        (3, 3, GapReason.RETENTION),
        (9, 10, GapReason.WRITER_GONE),
        (11, 11, GapReason.LOG_LOSS),
    )
    first = Batch("s", E1, 1, [(1, working)], [(2, text), (6, text)], 12, reasons=reasons)
    assert (await log.append(first)).code is None
    await log.open("s", E2)
    second = Batch(
        "s", E2, 1, [(2, working), (4, failure)], [(number, text) for number in (1, 3)], 4
    )
    end = Batch("s", E2, 2, through=6, end=EndMark(ERRORED, "closed", 6, 4))
    for batch in (second, end):
        assert (await log.append(batch)).code is None
    await log.aclose()


@pytest.mark.requirement("G-TERM-4")
@pytest.mark.parametrize("session", [*EXITS, "s"])
def test_an_export_that_is_replayed_is_the_same_export(
    session: str, tmp_path: Path, capsys: Capture
) -> None:
    url, other = f"sqlite:{tmp_path / 'one.db'}", f"sqlite:{tmp_path / 'two.db'}"
    if session == "s":
        anyio.run(write_two_runs, url)
    else:
        record_mockups(url)
    first = exported(session, url, capsys)
    file = tmp_path / "kept.jsonl"
    file.write_text(first, "utf-8")
    status = main(["replay", "-q", str(file), "--session", "again", "--log", other])
    assert status == main(["tail", session, "--no-follow", "--log", url])
    assert main(["tail", "again", "--no-follow", "--log", other]) == status
    capsys.readouterr()
    second = exported("again", other, capsys)
    assert second.replace('"sessionId": "again"', f'"sessionId": "{session}"') == first
    if session == "s":
        gaps = [json.loads(line)["gap"] for line in first.splitlines() if '"gap"' in line]
        assert len(gaps) >= 5


@pytest.mark.requirement("G-TERM-4")
def test_an_export_that_is_not_to_be_recorded_is_not(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, file = f"sqlite:{tmp_path / 'one.db'}", tmp_path / "kept.jsonl"
    anyio.run(write_two_runs, url)
    file.write_text(exported("s", url, capsys), "utf-8")
    monkeypatch.setenv("COMPASS_OFF", "1")
    for log in ("bogus:xyz", f"sqlite:{tmp_path / 'two.db'}"):
        assert main(["replay", str(file), "--session", "no/id", "--log", log]) == 75
        assert capsys.readouterr().err == "compass: COMPASS_OFF is set: nothing is recorded\n"
    assert not (tmp_path / "two.db").exists()


def test_what_a_filter_left_out_is_told_as_missing(tmp_path: Path, capsys: Capture) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    record_mockups(url)
    session = next(iter(EXITS))
    lines = exported(session, url, capsys).splitlines(keepends=True)
    file = tmp_path / "part.jsonl"
    file.write_text("".join(lines[:1] + lines[3:]), "utf-8")
    main(["replay", str(file), "--format", "compass", "--session", "part", "--log", url])
    assert "session part has what" in capsys.readouterr().err
    kept = [json.loads(line) for line in exported("part", url, capsys).splitlines()]
    gap = kept[1]["gap"]
    assert (gap["firstSeq"], gap["lastSeq"]) == ("2", "3")


def test_an_export_is_not_stored_into_a_session_that_is_there(
    tmp_path: Path, capsys: Capture
) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    record_mockups(url)
    session = next(iter(EXITS))
    file = tmp_path / "kept.jsonl"
    file.write_text(exported(session, url, capsys), "utf-8")
    before = exported(session, url, capsys)
    assert main(["replay", str(file), "--session", session, "--log", url]) == 9
    assert f"the log has a session {session}" in capsys.readouterr().err
    assert exported(session, url, capsys) == before
    assert main(["replay", str(file), "--pace", "--log", url]) == 65
    file.write_text(before + "cut", "utf-8")
    assert main(["replay", str(file), "--log", url]) == 65
    line = before.count("\n") + 1
    assert f"line {line} is not of one export" in capsys.readouterr().err
