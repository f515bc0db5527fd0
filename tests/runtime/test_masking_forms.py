"""Registered secrets reach no stored frame, in whatever form somebody writes them."""

from __future__ import annotations

import base64
import html
import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from compass_agent import open_session
from compass_agent.errors.redaction import MASK
from compass_agent.events import TextDelta
from compass_agent.runtime.masking import Masker
from inner_events import assistant_end, delta, message_start, tool_end, tool_start, tool_update
from stored import frames_in

if TYPE_CHECKING:
    from collections.abc import Sequence

SECRET = 'Tr0ub4dor&3/x"y\\z wörd'  # noqa: S105 - made up
PHRASE = "correct horse battery staple"
LONG = "Zq81-verylongregisteredvalue-77XYZ-end"
FORMS = {
    "plain": SECRET,
    "json": json.dumps(SECRET)[1:-1],
    "json of utf-8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "url": quote(SECRET, safe=""),
    "html": html.escape(SECRET),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 of a login": base64.b64encode(f"bob:{SECRET}".encode()).decode(),
}
PIECES = ("Tr0ub", "dor&amp;", "dor%26", "wörd", "VHIwdWI0", "b2I6VHIw", "UcjB1YjRkb3I")


def stored_in(tmp_path: Path, url: str) -> str:
    """Return all that is stored, frames and what stands beside them."""
    frames = "".join(str(frame) for frame in frames_in(url, "s1"))
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        beside = str(db.execute("select * from epochs").fetchall())
    return frames + beside


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_form_of_a_registered_value_is_stored(tmp_path: Path, form: str) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    said = f"got {form} there"
    with open_session(
        "s1", log=url, secrets=[SECRET], title=said, agent=said, version=said
    ) as session:
        for event in (message_start(), delta(said), tool_start(intent=said), tool_update(said)):
            session.feed(event)
        session.feed(tool_end({"content": [{"type": "text", "text": said}]}))
        session.notice(said, link=said)
        session.fail(RuntimeError(said))
        session.feed(message_start())
        session.feed(assistant_end("error", errorMessage=json.dumps({"error": {"message": said}})))
    stored = stored_in(tmp_path, url)

    assert MASK in stored
    assert [piece for piece in PIECES if piece in stored] == []


@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError(f"login failed, password: {PHRASE}"),
        RuntimeError(f"password={PHRASE}; host=x"),
        RuntimeError(f"GET https://h/x?pw={PHRASE} failed"),
        RuntimeError(f"{'x' * 8_160} {LONG} {'y' * 300}"),
        RuntimeError(f"<html><title>bad {LONG} and\n{PHRASE}</title></html>"),
        {"status": 400, "body": {"error": {"message": "no", "code": f"{'c' * 100}{LONG}"}}},
        {"status": 400, "headers": {"x-request-id": f"{'c' * 100}{LONG}"}, "body": "no"},
    ],
    ids=["in a sentence", "assigned", "in a url", "at the end", "in html", "code", "request id"],
)
def test_no_part_of_a_registered_value_is_left_of_a_failure(
    tmp_path: Path, failure: object
) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    with open_session("s1", log=url, secrets=[PHRASE, LONG]) as session:
        session.fail(failure)
    stored = stored_in(tmp_path, url)

    assert "session_error" in stored
    assert [part for part in ("orse", "staple", "Zq81", "registered") if part in stored] == []


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_form_passes_that_is_split_over_two_deltas(form: str) -> None:
    for cut in range(1, len(form)):
        shown = "".join(shown_of(Masker([SECRET]), (f"is {form[:cut]}", f"{form[cut:]} ok")))
        assert shown.startswith("is ")
        assert MASK in shown
        # Behind Base64 two bits and the filling may be left of the last letter.
        assert len(shown) <= len(f"is bob:{MASK}Q= ok")
        assert not any(
            piece in shown for piece in ("ub4dor", "wörd", "dWI0ZG9y", "YjRkb3", "ViNGRv")
        )


def shown_of(masker: Masker, pieces: Sequence[str]) -> list[str]:
    events = [event for piece in pieces for event in masker.feed(TextDelta(piece))]
    return [event.text for event in (*events, *masker.flush()) if isinstance(event, TextDelta)]


def test_what_a_loss_is_logged_with_has_no_part_of_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_event: object) -> list[object]:
        message = f"password={PHRASE}"
        raise RuntimeError(message)

    with (
        caplog.at_level(logging.ERROR),
        open_session("s1", log=f"sqlite:{tmp_path / 'log.db'}", secrets=[PHRASE]) as session,
    ):
        monkeypatch.setattr(session._masker, "feed", broken)  # pyright: ignore[reportPrivateUsage] # the only way to make it fail
        session.feed(TextDelta("x"))
    assert "goes on with a loss" in caplog.text
    assert "horse" not in caplog.text


def test_short_values_are_masked_as_they_are() -> None:
    assert Masker(["abc", ""]).mask("an abc") == f"an {MASK}"
    assert not Masker([""])
    assert Masker([]).mask("as it was") == "as it was"
