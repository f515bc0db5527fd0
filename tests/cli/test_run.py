"""`compass run`: real commands, their output, their deaths, and being stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import compass, started
from inner_events import Json, assistant_end, delta, message_start, run_end, tool_start
from reading_frames import errors_of
from recordings import COMMANDS, DATA
from stored import frames_in, lines_in

FAILED_429 = assistant_end("error", errorMessage="429 Rate limit", errorStatus=429)
FAILED_401 = assistant_end("error", errorMessage="401 Bad key", errorStatus=401)
RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 60_000}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'log.db'}"


def agent(tmp_path: Path, *events: Json | str, then: str = "") -> list[str]:
    """A command that prints events, then runs some Python."""
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    script = tmp_path / "agent.py"
    script.write_text(
        f"import os, signal, sys\nfor line in {lines!r}:\n    print(line, flush=True)\n{then}\n"
    )
    return [sys.executable, str(script)]


def run(url: str, command: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    return compass("run", "--session", "s1", "--log", url, *options, "--", *command)


def test_a_recorded_failing_agent_is_told_and_worth_retrying(url: str) -> None:
    done = run(url, ["cat", str(DATA / "pi" / "err-429.jsonl")])

    errors = errors_of(frames_in(url, "s1"))
    assert done.returncode == 75
    assert "Rate limited (HTTP 429 Too Many Requests)" in done.stderr
    assert done.stdout == ""
    assert len(errors) == 3
    assert errors[0].status == 429
    assert errors[0].retry_after_ms == 20_000


@pytest.mark.parametrize(
    ("last", "status"), [(FAILED_429, 75), (FAILED_401, 3), (assistant_end(text="hi"), 0)]
)
def test_the_exit_status_is_the_sessions_when_the_command_says_0(
    tmp_path: Path, url: str, last: Json, status: int
) -> None:
    command = agent(tmp_path, message_start(), delta("hi"), last, run_end(last))

    assert run(url, command).returncode == status


def test_the_exit_status_is_the_commands_when_it_has_one(tmp_path: Path, url: str) -> None:
    command = agent(tmp_path, message_start(), FAILED_429, then="sys.exit(9)")

    assert run(url, command).returncode == 9
    assert lines_in(url, "s1").count("ERROR 429 Rate limit") == 1


@pytest.mark.parametrize(
    ("then", "status", "said"),
    [
        ("sys.stderr.write('no memory left\\n'); sys.exit(3)", 3, "exited with code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL, possibly out of memory"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "killed by SIGSEGV"),
        ("", 3, "in the middle of its work"),
    ],
)
def test_a_death_in_the_middle_is_told(
    tmp_path: Path, url: str, then: str, status: int, said: str
) -> None:
    done = run(url, agent(tmp_path, message_start(), delta("half"), then=then))

    (error,) = errors_of(frames_in(url, "s1"))
    assert said in error.message
    assert done.returncode == status
    assert lines_in(url, "s1")[-1] == "state ERRORED"
    if "stderr" in then:
        assert error.message.endswith("no memory left")
        assert "no memory left" in done.stderr


@pytest.mark.parametrize(("name", "status"), [("no-such-command", 127), ("data.txt", 126)])
def test_a_failed_start_is_told_at_once(tmp_path: Path, url: str, name: str, status: int) -> None:
    (tmp_path / "data.txt").write_text("not a program")
    command = name if status == 127 else str(tmp_path / name)
    before = time.monotonic()
    done = run(url, [command])

    (error,) = errors_of(frames_in(url, "s1"))
    assert done.returncode == status
    assert command in error.message
    assert error.code == "adapter.start_failed"
    assert time.monotonic() - before < 10  # 2 s when the machine is idle


def test_tee_prints_the_output_on_byte_for_byte(tmp_path: Path, url: str) -> None:
    command = agent(tmp_path, run_end(), "plain text \u2028 é")
    done = run(url, command, "--tee")

    assert done.stdout == json.dumps(run_end()) + "\nplain text \u2028 é\n"


def test_a_tee_whose_reader_is_gone_does_not_stop_the_agent(tmp_path: Path, url: str) -> None:
    command = agent(tmp_path, *[delta("x" * 1000)] * 300, assistant_end(text="x"), run_end())
    process = started("run", "--session", "s1", "--log", url, "--tee", "--", *command)
    assert process.stdout is not None
    process.stdout.close()
    _, _ = process.communicate(timeout=30)

    assert lines_in(url, "s1")[-1] == "state STOPPED"


def waits(tmp_path: Path, how: str = "", *events: Json) -> list[str]:
    return agent(
        tmp_path, *events, {"type": "notice", "message": "up"}, then=how + "\nsignal.pause()"
    )


def stopped(url: str, command: list[str], *signals: signal.Signals) -> subprocess.Popen[str]:
    """Start a command, wait until it is up, send signals; return the ended process."""
    process = started("run", "--session", "s1", "--log", url, "--tee", "--", *command)
    assert process.stdout is not None
    for line in process.stdout:
        if '"up"' in line:
            break
    for number in signals:
        process.send_signal(number)
    process.wait(timeout=30)
    process.communicate()
    return process


def test_ctrl_c_is_an_abort_by_the_user(tmp_path: Path, url: str) -> None:
    process = stopped(url, waits(tmp_path, "", message_start(), delta("half")), signal.SIGINT)

    (error,) = errors_of(frames_in(url, "s1"))
    assert process.returncode == 130
    assert error.stopped_by == "user"
    assert lines_in(url, "s1")[-2:] == ["ABORTED - Stopped by user", "state STOPPED"]


def test_ctrl_c_while_a_retry_waits_is_an_abort(tmp_path: Path, url: str) -> None:
    events = (message_start(), FAILED_429, run_end(FAILED_429), RETRY)
    process = stopped(url, waits(tmp_path, "", *events), signal.SIGINT)

    lines = lines_in(url, "s1")
    assert process.returncode == 130
    assert lines[-2:] == ["ABORTED - Stopped by user", "state STOPPED"]
    assert lines.count("state ERRORED") == 1


def test_an_agent_that_tells_its_own_abort_is_told_once(tmp_path: Path, url: str) -> None:
    aborted = json.dumps(assistant_end("aborted", errorMessage="Interrupted by user"))
    how = (
        f"def stop(*_):\n    print({aborted!r}, flush=True)\n    sys.exit(130)\n"
        "signal.signal(signal.SIGINT, stop)\n"
        'print(\'{"type": "notice", "message": "up"}\', flush=True)'
    )
    command = agent(tmp_path, message_start(), then=how + "\nsignal.pause()")
    stopped(url, command, signal.SIGINT)

    (error,) = errors_of(frames_in(url, "s1"))
    assert (error.message, error.stopped_by) == ("Interrupted by user", "user")


def test_an_agent_that_ignores_ctrl_c_is_ended_by_the_next(tmp_path: Path, url: str) -> None:
    how = (
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        'print(\'{"type": "notice", "message": "up"}\', flush=True)'
    )
    command = agent(tmp_path, message_start(), then=how + "\nsignal.pause()")
    process = stopped(url, command, signal.SIGINT, signal.SIGINT)

    assert process.returncode == 130
    assert lines_in(url, "s1")[-1] == "state STOPPED"


def test_sigterm_is_an_abort_too(tmp_path: Path, url: str) -> None:
    process = stopped(url, waits(tmp_path, "", message_start()), signal.SIGTERM)

    (error,) = errors_of(frames_in(url, "s1"))
    assert process.returncode == 143
    assert error.stopped_by == "signal SIGTERM"


def test_what_the_agent_started_is_stopped_with_it(tmp_path: Path, url: str) -> None:
    how = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        'print(\'{"type": "notice", "message": "up", "pid": %d}\' % child.pid, flush=True)'
    )
    command = agent(tmp_path, message_start(), then=how + "\nsignal.pause()")
    process = started("run", "--session", "s1", "--log", url, "--tee", "--", *command)
    assert process.stdout is not None
    line = next(line for line in process.stdout if '"up"' in line)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    process.communicate()

    while is_alive(json.loads(line)["pid"]):
        pass  # until it is reaped; the test's own time limit bounds this


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]


def test_a_child_that_holds_the_pipe_open_does_not_hold_the_session(url: str) -> None:
    done = run(url, ["sh", "-c", "echo hi; sleep 30 & exit 0"])

    assert done.returncode == 0
    assert lines_in(url, "s1")[-1] == "state STOPPED"


def test_plain_output_is_told_as_notices(url: str) -> None:
    run(url, ["printf", 'one\\n{"n":1}\\n\\ntwo'])

    assert lines_in(url, "s1") == [
        "state STARTING",
        "notice one",
        'notice {"n":1}',
        "notice two",
        "notice The agent exited with code 0",
        "state STOPPED",
    ]


@pytest.mark.parametrize("name", ["auto", "gemini"])
def test_a_format_is_seen_or_said(url: str, name: str) -> None:
    done = run(url, ["cat", str(COMMANDS / "gemini" / "err-429.jsonl")], "--format", name)

    (error,) = errors_of(frames_in(url, "s1"))
    assert done.returncode == 75
    assert (error.message, error.status) == ("Rate limit reached for loopback", 429)
    assert error.retry_after_ms == 7_000


def test_a_format_that_is_text_looks_at_nothing(url: str) -> None:
    path = COMMANDS / "gemini" / "err-429.jsonl"
    done = run(url, ["cat", str(path)], "--format", "text")

    assert done.returncode == 0
    assert errors_of(frames_in(url, "s1")) == []
    assert 'notice {"type":"init"' in lines_in(url, "s1")[1]


def test_a_command_that_ends_before_its_run_does_is_no_success(tmp_path: Path, url: str) -> None:
    lines = (COMMANDS / "codex" / "text.jsonl").read_text("utf-8").splitlines()
    done = run(url, agent(tmp_path, *lines[:-1]))

    (error,) = errors_of(frames_in(url, "s1"))
    assert (done.returncode, error.code) == (3, "adapter.no_terminal")


def test_a_log_that_cannot_be_used_is_said_and_the_command_runs(tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_bytes(b"this is no database at all, only some text" * 50)
    done = run(f"sqlite:{tmp_path}/junk.db", ["sh", "-c", "echo ran; exit 7"], "--tee")

    assert (done.returncode, done.stdout) == (7, "ran\n")
    assert "may not be recorded" in done.stderr
    assert "frames are not there" in done.stderr


def test_a_command_that_is_not_to_be_recorded_says_so_and_its_output_is_seen(url: str) -> None:
    off = {**os.environ, "COMPASS_OFF": "1"}
    command = ["sh", "-c", "echo ran; exit 7"]
    done = compass("run", "--session", "s1", "--log", url, "--", *command, env=off)

    assert (done.returncode, done.stdout) == (7, "ran\n")
    assert "nothing is recorded" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--log", "bogus:xyz"),
        ("--log", "unix:"),
        ("--log", "nats://127.0.0.1:1"),
        ("--log", "grpc://127.0.0.1:1"),
        ("--session", "no/id"),
        ("--pane",),
        ("--metrics",),
        ("--secret-env", "NOT_SET_ANYWHERE"),
    ],
)
def test_no_setting_hinders_a_command_that_is_not_to_be_recorded(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    bare = tmp_path / "bare"  # as if no extra were installed
    for name in ("starlette", "uvicorn", "grpc", "nats", "opentelemetry"):
        (bare / name).mkdir(parents=True)
        (bare / name / "__init__.py").write_text("raise ImportError")
    path = os.pathsep.join((str(bare), os.environ.get("PYTHONPATH", "")))
    off = {**os.environ, "COMPASS_OFF": "1", "PYTHONPATH": path, "COMPASS_TOKEN_FILE": "/none"}
    done = compass("run", *options, "--", "sh", "-c", "echo ran; exit 7", env=off)

    assert (done.returncode, done.stdout) == (7, "ran\n")
    assert done.stderr == "compass: COMPASS_OFF is set: nothing is recorded\n"


def test_a_log_in_the_environment_hinders_no_command_that_is_not_to_be_recorded() -> None:
    off = {**os.environ, "COMPASS_OFF": "1", "COMPASS_LOG": "bogus:xyz"}
    done = compass("run", "--", "echo", "hi", env=off)

    assert (done.returncode, done.stdout) == (0, "hi\n")


def test_a_command_that_is_not_there_is_said_also_when_nothing_is_recorded() -> None:
    done = compass("run", "--", "/no/such", env={**os.environ, "COMPASS_OFF": "1"})

    assert done.returncode == 127
    assert "Command not found: /no/such" in done.stderr


def test_secrets_of_the_environment_are_masked(tmp_path: Path, url: str) -> None:
    command = agent(tmp_path, message_start(), delta("key "), delta("abc-"), delta("12345"))
    done = compass(
        *("run", "--session", "s1", "--log", url, "--secret-env", "MY_KEY", "--", *command),
        env={**os.environ, "MY_KEY": "abc-12345"},
    )

    assert done.returncode != 2
    assert "abc-12345" not in "".join(lines_in(url, "s1"))


def test_an_open_tool_at_ctrl_c_is_interrupted(tmp_path: Path, url: str) -> None:
    stopped(url, waits(tmp_path, "", message_start(), tool_start()), signal.SIGINT)

    assert "update t1 INTERRUPTED" in lines_in(url, "s1")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "--"], ["run", "--log", "x:y", "--", "true"]]
)
def test_bad_usage_is_told_without_a_traceback(arguments: list[str]) -> None:
    done = compass(*arguments)

    assert done.returncode in (2, 65)
    assert "Traceback" not in done.stderr
