"""`compass replay`: recorded runs and bad input."""

from __future__ import annotations

import gzip
import json
import os
import pty
import time
from pathlib import Path

import pytest

from commands import compass, started
from compass_agent.cli.recording import Recording
from inner_events import assistant_end, delta, message_start, run_end
from reading_frames import errors_of
from recordings import DATA
from stored import frames_in, lines_in

START = json.dumps({"type": "agent_start"}).encode()
TEXT = json.dumps(delta("still here")).encode()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'log.db'}"


@pytest.mark.parametrize(
    ("name", "status", "last"),
    [
        ("pi/err-429.jsonl", 75, "ERRORED"),
        ("omp/err-401.jsonl", 3, "ERRORED"),
        ("omp/abort-streaming.rpc.jsonl", 0, "STOPPED"),
        ("pi/text-plain.jsonl", 0, "STOPPED"),
        ("pi/kill9-mid-line.jsonl.gz", 3, "ERRORED"),
    ],
)
def test_a_recording_ends_as_its_agent_did(url: str, name: str, status: int, last: str) -> None:
    done = compass("replay", DATA / name, "--session", "s1", "--log", url)

    assert done.returncode == status, done.stderr
    assert [line for line in lines_in(url, "s1") if line.startswith("state")][-1] == f"state {last}"


def test_standard_input_is_taken(url: str) -> None:
    with (DATA / "pi" / "err-429.jsonl").open("rb") as file:
        done = compass("replay", "-", "--session", "s1", "--log", url, stdin=file)

    assert done.returncode == 75
    assert len(errors_of(frames_in(url, "s1"))) == 3


def replayed(tmp_path: Path, url: str, data: bytes) -> list[str]:
    file = tmp_path / "run.jsonl"
    file.write_bytes(data)
    done = compass("replay", file, "--session", "s1", "--log", url)
    assert "Traceback" not in done.stderr
    return lines_in(url, "s1")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"{not json}", "Line 2"),
        (b"Segmentation fault", "Line 2"),
        (b"[1, 2]", "Line 2"),
        (b'{"type":"agent_end"', "Line 2"),
        (b'{"type":"notice","message":"na\xefve"}', "Line 2"),
    ],
)
def test_a_bad_line_is_told_with_its_number_and_the_rest_is_kept(
    tmp_path: Path, url: str, bad: bytes, said: str
) -> None:
    lines = replayed(tmp_path, url, START + b"\n" + bad + b"\n" + TEXT + b"\n")

    assert any(line.startswith(f"notice {said}") for line in lines)
    assert "text 0 still here" in lines


def test_half_a_line_at_the_end_is_told(tmp_path: Path, url: str) -> None:
    lines = replayed(tmp_path, url, START + b"\n" + TEXT + b"\n" + TEXT[:30])

    assert "text 0 still here" in lines
    assert any(line.startswith("notice") and "line 3" in line for line in lines)
    assert lines[-1] == "state ERRORED"


def test_a_line_of_5_mb_and_a_lone_surrogate_are_taken(tmp_path: Path, url: str) -> None:
    large = json.dumps(delta("x" * 5_000_000)).encode()
    lone = json.dumps(delta("a\ud83db")).encode()
    lines = replayed(tmp_path, url, b"\n".join([START, large, lone, TEXT, b""]))

    assert any(len(line) > 400_000 and line.endswith("bytes)") for line in lines)
    assert "text 0 a\ufffdb" in lines
    assert "text 0 still here" in lines


@pytest.mark.slow
def test_more_frames_than_the_lane_holds_all_arrive(tmp_path: Path, url: str) -> None:
    count = 20_000
    lines = replayed(tmp_path, url, START + b"\n" + (TEXT + b"\n") * count)

    assert lines.count("text 0 still here") == count


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"", 65), (b"just text\nmore\n", 65), (b"\x1f\x8bbroken", 65), (None, 66)],
    ids=["empty", "text", "broken gzip", "missing"],
)
def test_what_is_no_recording_is_a_typed_error(
    tmp_path: Path, url: str, content: bytes | None, status: int
) -> None:
    file = tmp_path / "run.jsonl"
    if content is not None:
        file.write_bytes(content)
    done = compass("replay", file, "--log", url)

    assert done.returncode == status
    assert len(done.stderr.splitlines()) == 1
    assert "run.jsonl" in done.stderr


def test_a_truncated_gzip_is_told_as_far_as_it_is_whole(tmp_path: Path, url: str) -> None:
    file = tmp_path / "run.jsonl.gz"
    noise = [json.dumps(delta(os.urandom(50).hex())).encode() for _ in range(300)]
    file.write_bytes(gzip.compress(b"\n".join([START, TEXT, *noise]))[:-4_000])
    done = compass("replay", file, "--session", "s1", "--log", url)

    lines = lines_in(url, "s1")
    assert done.returncode == 3
    assert "text 0 still here" in lines
    assert lines[-1] == "state ERRORED"


@pytest.mark.parametrize("option", [["--session", "a.4"], ["--log", "ftp:x"]], ids=["id", "log"])
def test_a_bad_option_is_named(option: list[str]) -> None:
    done = compass("replay", DATA / "pi" / "err-429.jsonl", *option)

    assert done.returncode == 65
    assert done.stderr.startswith(f"compass: {option[0]} {option[1]}: ")


def test_a_log_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_bytes(b"this is no database at all, only some text" * 50)
    done = compass("replay", DATA / "pi" / "err-429.jsonl", "--log", f"sqlite:{tmp_path}/junk.db")

    assert done.returncode not in (0, 75)
    assert "nothing was recorded" in done.stderr


@pytest.mark.parametrize("log", ["bogus:xyz", "sqlite:{}/log.db"])
def test_no_log_hinders_a_replay_that_is_not_to_be_recorded(tmp_path: Path, log: str) -> None:
    off = {**os.environ, "COMPASS_OFF": "1"}
    url = log.format(tmp_path)
    done = compass("replay", DATA / "pi/text-plain.jsonl", "--log", url, env=off)

    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])


def test_the_format_can_be_said(tmp_path: Path, url: str) -> None:
    file = tmp_path / "run.jsonl"
    file.write_bytes(b"just text\n")

    done = compass("replay", file, "--log", url, "--session", "s1", "--format", "pi")

    assert done.returncode == 0
    assert any("just text" in line for line in lines_in(url, "s1"))


def test_a_tail_started_before_sees_the_run_live(url: str) -> None:
    tail = started("tail", "s1", "--log", url, "--wait", "20", "--json")
    compass("replay", DATA / "pi" / "err-429.jsonl", "--session", "s1", "--log", url, "--pace")
    output, _ = tail.communicate(timeout=30)
    objects = [json.loads(line) for line in output.splitlines()]
    errors = [
        item["event"]["sessionError"] for item in objects if "sessionError" in item.get("event", {})
    ]

    assert tail.returncode == 75
    assert [error["status"] for error in errors] == [429] * 3
    assert all(error["retryAfterMs"] == "20000" for error in errors)


def test_the_pace_is_the_recorded_one_within_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_bytes(b"\n".join([START, TEXT, TEXT]))
    Path(f"{file}.meta.json").write_text(json.dumps({"arrival_ms": [100, 600, 2_100]}))

    recording = Recording.open(str(file))

    assert recording.delays() == [0.0, 0.5, 2.0]
    assert recording.delays(within=1.0) == [0.0, 0.25, 1.0]


def test_without_a_meta_file_the_events_own_times_count(tmp_path: Path) -> None:
    start = {**message_start(), "message": {"role": "user", "timestamp": 1_700_000_001_000}}
    end = {"type": "message_end", "message": {"role": "user", "timestamp": 1_700_000_002_500}}
    session = {"type": "session", "timestamp": "2023-11-14T22:13:20.000Z"}
    events = ({"type": "ready"}, session, start, delta("x"), end)
    file = tmp_path / "run.jsonl"
    file.write_text("\n".join(json.dumps(event) for event in events))

    assert Recording.open(str(file)).delays() == [0.0, 0.0, 1.0, 1.0, 2.5]


def test_the_pace_is_kept(tmp_path: Path, url: str) -> None:
    file = tmp_path / "run.jsonl"
    ended = [assistant_end(text="x"), run_end()]
    file.write_bytes(b"\n".join([START, TEXT, *(json.dumps(e).encode() for e in ended)]))
    Path(f"{file}.meta.json").write_text(json.dumps({"arrival_ms": [0, 0, 0, 700]}))
    before = time.monotonic()

    assert compass("replay", file, "--log", url, "--pace").returncode == 0
    assert time.monotonic() - before > 0.7


def test_a_terminal_shows_a_progress_bar_and_clears_it(tmp_path: Path, url: str) -> None:
    file = tmp_path / "run.jsonl.gz"
    file.write_bytes(gzip.compress(b"\n".join([START, *[TEXT] * 100, b""])))
    ours, theirs = pty.openpty()
    process = started("replay", file, "--log", url, "--quiet", stderr=theirs)
    process.communicate(timeout=30)
    os.close(theirs)
    shown = os.read(ours, 65_536).decode()
    os.close(ours)

    assert "] 100%" in shown
    assert shown.rstrip("\r").endswith(" " * 37)
