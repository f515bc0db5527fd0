"""An exported session reads again as the session that it was."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.cli import main
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import AgentSessionState, Cursor, FrameBuilder, SessionFrame
from compass_agent.log import open_log
from compass_agent.services.saved import SavedLineError, SavedLog
from compass_agent.view.jsonl import jsonl
from compass_agent.wire import End, FrameItem, Reset, ResetReason
from hostile import HOSTILE, frames_with
from mockups import EXITS, record_mockups
from terminals import COMMAND, PATIENCE_S, environment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from compass_agent.log.read import ReadLog
    from compass_agent.wire import Item

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]
    Capture = pytest.CaptureFixture[str]

FRAME = '{"sessionId": "s", "epoch": "0123456789abcdef", "seq": "1"}'
OTHER = FRAME.replace('"s"', '"t"')
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
build = FrameBuilder(lambda: 1_700_000_000_000)


async def pieces(data: bytes, size: int) -> AsyncGenerator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def items_of(log: ReadLog, session: str, after: Cursor | None = None) -> list[Item]:
    """Return what is read; a file does not tell the lane that a frame came through."""
    items: list[Item] = []
    async for page in log.read(session, after, follow=False, page_frames=7):
        items += page.items
    return [
        item._replace(priority=False) if isinstance(item, FrameItem) else item for item in items
    ]


@pytest.mark.requirement("G-TERM-4")
@pytest.mark.parametrize("size", [1, 61, 1 << 20])
async def test_an_export_gives_the_same_items_after_any_place(size: int, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    await anyio.to_thread.run_sync(record_mockups, url)
    log = open_log(url)
    for session in EXITS:
        items = await items_of(log, session)
        text = jsonl(session, items).encode()
        saved = SavedLog(pieces(text, size))
        await saved.load()
        assert saved.session == session
        assert await items_of(saved, session) == items
        end = items[-1]
        assert isinstance(end, End)
        for seq in (0, 1, 3, end.last_seq):
            place = Cursor(end.epoch, seq)
            assert await items_of(saved, session, place) == await items_of(log, session, place)
        theirs, ours = (await log.sessions()), (await saved.sessions())[0]
        same = next(one for one in theirs if one.session == session)
        assert (ours.state, ours.ended, ours.frames) == (same.state, same.ended, same.frames)
        assert (ours.cursor, ours.last_error) == (same.cursor, same.last_error)
    await log.aclose()


@pytest.mark.requirement("G-TERM-4")
def test_frames_of_any_text_come_back_byte_for_byte(
    record: Record, tmp_path: Path, capsys: Capture
) -> None:
    frames = [frame for text in HOSTILE for frame in frames_with(text)]
    record("s1", frames, STOPPED)
    assert main(["export", "s1"]) == 0
    text = capsys.readouterr().out
    file = tmp_path / "kept.jsonl"
    file.write_text(text, "utf-8")

    async def read() -> list[Item]:
        saved = SavedLog(pieces(text.encode(), 4096))
        await saved.load()
        return await items_of(saved, "s1")

    data = [item.data for item in anyio.run(read) if isinstance(item, FrameItem)]
    assert data == [frame.SerializeToString() for frame in frames]
    assert main(["export", str(file)]) == 0
    assert capsys.readouterr().out == text


def test_a_saved_session_is_shown_as_the_session_is(tmp_path: Path, capsys: Capture) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    record_mockups(url)
    for session, status in EXITS.items():
        main(["tail", session, "--log", url, "--json", "--no-follow"])
        file = tmp_path / f"{session}.jsonl"
        file.write_text(capsys.readouterr().out, "utf-8")
        for options in ([], ["-n", "3"], ["--problems"], ["-o", "md"], ["--json"]):
            assert main(["tail", session, "--log", url, "--no-follow", *options]) == status
            there = capsys.readouterr().out
            assert main(["tail", str(file), *options]) == status
            here = capsys.readouterr()
            title = f"\n`title of {session}`\n"  # an export does not hold it
            assert here.out == there.replace(title, "")
            assert here.err == ""
        assert main(["show", str(file)]) == 0
        assert f"session  {session}" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["tail", "-"], ["export", "-"], ["show", "-"]])
def test_stdin_is_a_file_too(command: list[str], record: Record, capsys: Capture) -> None:
    record("s1", [build.notice("hello")], STOPPED)
    main(["export", "s1"])
    text = capsys.readouterr().out
    done = subprocess.run(
        [*COMMAND, *command],
        input=text.encode(),
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert {"tail": "hello", "export": "hello", "show": "STOPPED"}[
        command[0]
    ] in done.stdout.decode()
    if command[0] == "export":
        assert done.stdout.decode() == text


def test_what_comes_through_a_pipe_is_shown_as_it_comes(record: Record, capsys: Capture) -> None:
    record("s1", [build.notice("hello"), build.notice("again")], STOPPED)
    main(["export", "s1"])
    first, *rest = capsys.readouterr().out.splitlines(keepends=True)
    with subprocess.Popen(
        [*COMMAND, "tail", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(first)
        process.stdin.flush()
        assert "hello" in process.stdout.readline()
        out, err = process.communicate("".join(rest), timeout=PATIENCE_S)
    assert "again" in out
    assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("", 66, "there is nothing in it"),
        ("\n\n", 66, "there is nothing in it"),
        ("not json\n", 65, "line 1 is not of one export"),
        (f"{FRAME}\n[]\n", 65, "line 2 is not"),
        ('{"sessionId": "s", "epoch": "00", "seq": "1"}\n', 65, "line 1 is not"),
        (f"{FRAME}\n\n{OTHER}\n", 65, "line 3 is not"),
        ('{"sessionId": "\\u001b[2J", "seq": "1"}\n', 65, "line 1 is not"),
        ('{"seq": "1"}\n', 65, "line 1 is not"),
        ("[" * 100_000, 65, "line 1 is not"),
    ],
)
def test_what_is_no_export_is_refused_by_its_line(
    text: str, status: int, told: str, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(text, "utf-8")
    for command in ("tail", "show", "export"):
        assert main([command, str(file)]) == status
        out, err = capsys.readouterr()
        assert out == ""
        assert told in err


def test_a_file_that_is_not_there_is_said(capsys: Capture) -> None:
    assert main(["tail", "nowhere.jsonl"]) == 66
    assert "nowhere.jsonl: No such file or directory" in capsys.readouterr().err


async def test_a_saved_log_is_a_log() -> None:
    saved = SavedLog(pieces(b'{"sessionId": "s", "epoch": "0123456789abcdef", "seq": "4"}', 9))
    assert await saved.sessions() == []
    await saved.load()
    reset = await anext(saved.read("s", Cursor("f" * 16, 2)))
    assert reset.items == [Reset("0123456789abcdef", ResetReason.UNKNOWN_EPOCH)]
    with pytest.raises(OperationError) as caught:
        await anext(saved.read("s", Cursor("0123456789abcdef", 5)))
    assert caught.value.code is ErrorCode.CONFLICT
    with pytest.raises(OperationError) as caught:
        await anext(saved.read("other"))
    assert caught.value.code is ErrorCode.NOT_FOUND
    with pytest.raises(OperationError):
        await saved.delete("s")
    await saved.close_below("s", "0" * 16)
    await saved.aclose()
    assert SavedLineError(3).line == 3


def test_an_export_that_is_cut_on_its_way_is_told_by_its_line() -> None:
    piped = subprocess.run(
        [*COMMAND, "tail", "-"],
        input=f"{FRAME}\n" * 2 + FRAME[:30],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment(),
    )
    assert piped.returncode == 65
    assert "line 3 is not of one export" in piped.stderr
