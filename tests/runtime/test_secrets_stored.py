"""What looks like a secret reaches no stored frame, whoever tells the failure that holds it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from compass_agent import Session, open_session
from inner_events import assistant_end
from masked_shapes import SHAPES
from stored import frames_in

TELLERS: dict[str, Callable[[Session, str], None]] = {
    "a failing message": lambda s, text: s.feed(assistant_end("error", errorMessage=text)),
    "an aborted message": lambda s, text: s.feed(assistant_end("aborted", errorMessage=text)),
    "a retry": lambda s, text: s.feed(
        {
            "type": "auto_retry_start",
            "attempt": 1,
            "maxAttempts": 3,
            "delayMs": 1,
            "errorMessage": text,
        }
    ),
    "a notice of the agent": lambda s, text: s.feed(
        {"type": "notice", "level": "info", "message": text}
    ),
    "an exception": lambda s, text: s.fail(RuntimeError(text)),
    "a cause": lambda s, text: s.fail(caused(RuntimeError("it failed"), ConnectionError(text))),
    "an answer": lambda s, text: s.fail({"status": 401, "body": {"error": {"message": text}}}),
    "a nested body": lambda s, text: s.fail(
        {"status": 400, "body": {"detail": [{"loc": ["body"], "msg": text, "type": "x"}]}}
    ),
    "a stop": lambda s, text: s.abort(text),
    "a notice of the host": lambda s, text: s.notice(text),
}


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.requirement("G-ERR-3")
@pytest.mark.parametrize("teller", TELLERS)
def test_no_stored_frame_holds_a_secret(tmp_path: Path, teller: str) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    with open_session("s1", log=url) as session:
        for text, _, _ in SHAPES.values():
            TELLERS[teller](session, text)
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("log.db*"))
    told = b"".join(frame.SerializeToString() for frame in frames_in(url, "s1"))
    assert b"[redacted]" in told
    for name, (_, gone, _) in SHAPES.items():
        assert gone.encode() not in stored, name
        assert gone.encode() not in told, name


def test_the_same_failure_is_told_once_although_it_is_masked(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    text = "Incorrect API key provided: sk-ant-abc123def456"
    with open_session("s1", log=url) as session:
        session.feed(assistant_end("error", errorMessage=text))
        session.fail(RuntimeError(text))
        session.fail(text)
    errors = [f for f in frames_in(url, "s1") if f.typed_event.HasField("session_error")]
    assert [f.typed_event.session_error.message for f in errors] == [
        "Incorrect API key provided: [redacted]"
    ]


def test_what_a_session_logs_about_itself_has_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"

    def broken(mapper: object, event: object) -> None:
        del mapper, event
        raise RuntimeError("a bug with sk-ant-abc123def and hunter2-own")

    with open_session("s1", log=url, secrets=["hunter2-own"]) as session:
        monkeypatch.setattr("compass_agent.mapping.mapper.EventMapper.map", broken)
        session.feed({"type": "agent_start"})
        session.feed({"type": "agent_start"})
    lines = [logging.Formatter().format(record) for record in caplog.records]
    assert len(lines) == 1
    assert "a bug with [redacted] and [redacted]" in lines[0]
