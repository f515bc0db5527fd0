"""Holds an adapter, and the events that it gives, to what readers rely on."""

from __future__ import annotations

__all__ = ("check_adapter", "check_events")

from typing import TYPE_CHECKING, Any, get_args

from compass_agent.events import AgentExited, InnerEvent, Noticed, TextDelta, ThinkingDelta
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
_JUNK = (
    b"plain text",
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
    whole = _run(make, [stream], exit_code)
    check_events(whole)
    _require(
        [event for event in whole if isinstance(event, AgentExited)] == whole[-1:],
        "The last event says how the agent ended",
        "it does not end with one AgentExited",
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


def check_events(events: Iterable[Any]) -> None:
    """Check the events of one run, from its start to its end, as an adapter gave them.

    Args:
        events: Inner events, as classes or as canonical JSON.

    Raises:
        AssertionError: A promise is broken; the text is a sentence that says which, and how.
    """
    mapper, told = EventMapper(now=lambda: 0), Told()
    for event in events:
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


def _run(make: Callable[[], AgentAdapter], pieces: Sequence[Any], exit_code: int) -> list[Any]:
    adapter = make()
    events = [event for piece in pieces for event in adapter.feed(piece)]
    events += adapter.end(exit_code=exit_code)
    _require(adapter.end() == [], "A stream ends once", "its second end gives events")
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
        try:
            events = _run(make, [begun, junk + b"\n", b"\n".join(rest)], exit_code)
            _run(make, [begun, rest[0][: len(rest[0]) // 2] + b"\n"], exit_code)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{promise}. This adapter raised {error!r}") from error
        if junk == _JUNK[0]:
            _require(_text(events) == whole, promise, "text after the damage is lost")
            told = [event.text for event in events if isinstance(event, Noticed)]
            _require(any("plain text" in text for text in told), promise, "nothing was told")


def _check_stop(make: Callable[[], AgentAdapter], begun: bytes) -> None:
    """Wherever it is stopped, that is no failure and leaves no tool open."""
    adapter, mapper, told = make(), EventMapper(now=lambda: 0), Told()
    promise = "A stop is told as a stop, wherever it comes"
    for event in adapter.feed(begun):
        for frame in mapper.map(event):
            if isinstance(frame, SessionFrame):
                told.take(frame)
    before = told.errors
    mapper.request_stop("user")
    for event in adapter.end(exit_code=-2, stopped_by="user"):
        for frame in mapper.map(event):
            if isinstance(frame, SessionFrame):
                broken = told.take(frame)
                _require(broken is None, *(broken or ("", "")))
    _require(told.errors == before, promise, "a failure was told after the stop was asked for")
    _require(told.open_tools == [], promise, f"tools are left open: {told.open_tools}")
