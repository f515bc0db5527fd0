"""Holds an adapter, and the events that it gives, to what readers rely on."""

from __future__ import annotations

__all__ = ("check_adapter", "check_events")

from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, get_args

from compass_agent.events import (
    AgentExited,
    InnerEvent,
    MessageStarted,
    Noticed,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
    Unknown,
)
from compass_agent.frames import SessionFrame
from compass_agent.mapping import EventMapper
from compass_agent.testing.told import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from compass_agent.adapters import AgentAdapter

_CLASSES = frozenset[object](get_args(InnerEvent))
# A long recording is cut at so many places, not at every line.
_MOST_CUTS = 25
_LONGEST_IN_BYTES = 65_536
_SHORTEST_REPETITION = 10
_GIVES_LISTS = "An adapter gives a list of inner events"
_NEVER_RAISES = "An adapter never raises"
_NOT_KNOWN = b'{"type": "nobody.knows"}'
_JUNK = (
    b"plain text",
    _NOT_KNOWN,
    b"\xff\xfe\x00",
    b"[1, 2]",
    b"{}",
    b'{"type": 1}',
    b'{"type": "result"}',
    b'{"type": "assistant", "message": {"content": [1, null, {"type": "text", "text": 2}]}}',
    b'{"type": "item.completed", "item": {"type": "command_execution", "exit_code": "x"}}',
)


def check_adapter(make: Callable[[], AgentAdapter], stream: bytes, *, exit_code: int = 0) -> None:
    """Check that the adapters of `make` read a recorded run, and whatever it may become.

    The recording is fed whole, in lines, in pieces and byte by byte; damaged; ended early by itself
    and by a stop.

    Args:
        make: Returns a fresh adapter.
        stream: What the agent wrote in one run that it ended by itself.
        exit_code: How its process ended.

    Raises:
        AssertionError: A promise is broken; the text is a sentence that says which, and how.
    """
    _require(bool(stream.strip()), "A recording holds a run", "there is none to read")
    whole = _run(make, [stream], exit_code)
    check_events(whole)
    _require(
        [event for event in whole if isinstance(event, AgentExited)] == whole[-1:],
        "The last event says how the agent ended",
        "it does not end with one AgentExited",
    )
    _require(
        not (exit_code == 0 and any(e.unfinished for e in whole if isinstance(e, AgentExited))),
        "A run that ended by itself is told to be over",
        "it gives no RunEnded for the end of this one",
    )
    for how, pieces in _cuts(stream):
        same = _text(_run(make, pieces, exit_code)) == _text(whole)
        _require(same, "Bytes that are cut anywhere give the same text", how)
    lines = stream.split(b"\n")
    places = range(1, len(lines), max(1, len(lines) // _MOST_CUTS))
    for place in places:
        begun = b"\n".join(lines[:place]) + b"\n"
        _check_damage(make, begun, lines[place:], exit_code)
        _check_stop(make, begun)


def check_events(events: Iterable[object]) -> None:
    """Check the events of one run, from its start to its end, as an adapter gave them.

    Args:
        events: Inner events, as classes or as canonical JSON.

    Raises:
        AssertionError: A promise is broken; the text is a sentence that says which, and how.
    """
    mapper, told, said = EventMapper(now=lambda: 0), Told(), ""
    given = list(events)
    _require(bool(given), "A run has events", "it gave none")
    for event in given:
        if isinstance(event, TextDelta):
            repeated = len(event.text) >= _SHORTEST_REPETITION and event.text == said
            _require(not repeated, "A text is told once", f"the whole after its pieces: {said!r}")
            said += event.text
        elif isinstance(event, RunStarted | ToolStarted | MessageStarted):
            said = said if isinstance(event, MessageStarted) and event.role == "assistant" else ""
        kind: type[object] = type(event)
        _require(
            kind in _CLASSES or kind is dict,
            "An adapter gives inner events",
            f"it gave a {kind.__name__}",
        )
        for frame in mapper.map(event):
            if isinstance(frame, SessionFrame):
                broken = told.take(frame)
                _require(broken is None, *(broken or ("", "")))
            else:
                _require(
                    condition=False,
                    promise="Every event is one that readers know",
                    how=f"{frame.event_type}: {frame.reason}",
                )
    broken = told.end()
    _require(broken is None, *(broken or ("", "")))


def _require(condition: bool, promise: str, how: str) -> None:  # noqa: FBT001 - an assertion
    if not condition:
        raise AssertionError(f"{promise}. This adapter: {how}")


def _run(
    make: Callable[[], AgentAdapter],
    pieces: Sequence[Any],
    exit_code: int,
    promise: str = _NEVER_RAISES,
) -> list[Any]:
    adapter = make()
    events = [event for piece in pieces for event in _given(promise, adapter.feed, piece)]
    events += _given(promise, adapter.end, exit_code=exit_code)
    again = _given(promise, adapter.end)
    _require(again == [], "A stream ends once", "its second end gives events")
    return events


def _given(promise: str, ask: Callable[..., Any], *args: Any, **fields: Any) -> list[Any]:
    """Return the events that an adapter gives when asked."""
    try:
        events = ask(*args, **fields)
    except Exception as error:
        raise AssertionError(f"{promise}. This adapter raised {error!r}") from error
    how = f"it gave a {type(events).__name__}"
    if iscoroutine(events):
        events.close()
        raise AssertionError(f"{_GIVES_LISTS}. This adapter: {how}")
    _require(isinstance(events, list), _GIVES_LISTS, how)
    return events


def _text(events: Iterable[InnerEvent]) -> list[str]:
    texts = [
        "".join(event.text for event in events if isinstance(event, kind))
        for kind in (TextDelta, ThinkingDelta)
    ]
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            _require(condition=False, promise="Text is valid", how="it holds half a code point")
    return texts


def _cuts(stream: bytes) -> Iterable[tuple[str, list[bytes]]]:
    yield "in lines", [line + b"\n" for line in stream.split(b"\n")]
    yield "in lines without their ends", stream.split(b"\n")
    yield "in pieces of 7 bytes", [stream[at : at + 7] for at in range(0, len(stream), 7)]
    if len(stream) <= _LONGEST_IN_BYTES:
        yield "byte by byte", [stream[at : at + 1] for at in range(len(stream))]


def _check_damage(
    make: Callable[[], AgentAdapter], begun: bytes, rest: Sequence[bytes], exit_code: int
) -> None:
    """Nothing that stands between or in its lines makes it raise or lose what follows."""
    promise = "Damage is told as a notice and the stream goes on"
    whole = _text(_run(make, [begun, b"\n".join(rest)], exit_code))
    for junk in _JUNK:
        events = _run(make, [begun, junk + b"\n", b"\n".join(rest)], exit_code, promise)
        _run(make, [begun, rest[0][: len(rest[0]) // 2] + b"\n"], exit_code, promise)
        if junk == _JUNK[0]:
            _require(_text(events) == whole, promise, "text after the damage is lost")
            told = [event.text for event in events if isinstance(event, Noticed)]
            _require(any("plain text" in text for text in told), promise, "nothing was told")
        if junk == _NOT_KNOWN:
            told = [event for event in events if isinstance(event, Noticed | Unknown)]
            shown = any("nobody.knows" in str(event) for event in told)
            _require(shown, "A line that is not known is told as a notice", "it was swallowed")


def _check_stop(make: Callable[[], AgentAdapter], begun: bytes) -> None:
    """Wherever it is stopped, that is no failure and leaves no tool open."""
    adapter, mapper, told = make(), EventMapper(now=lambda: 0), Told()
    promise = "A stop is told as a stop, wherever it comes"
    for event in _given(_NEVER_RAISES, adapter.feed, begun):
        for frame in mapper.map(event):
            if isinstance(frame, SessionFrame):
                told.take(frame)
    before = told.errors
    mapper.request_stop("user")
    for event in _given(_NEVER_RAISES, adapter.end, exit_code=-2, stopped_by="user"):
        for frame in mapper.map(event):
            if isinstance(frame, SessionFrame):
                broken = told.take(frame)
                _require(broken is None, *(broken or ("", "")))
    _require(told.errors == before, promise, "a failure was told after the stop was asked for")
    _require(told.open_tools == [], promise, f"tools are left open: {told.open_tools}")
