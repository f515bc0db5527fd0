"""Whatever is fed, the mapper gives a list and goes on."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compass_agent.events import TextDelta
from compass_agent.frames import SessionFrame
from compass_agent.mapping import EventMapper, UnmappedEvent

KEYS = st.sampled_from(
    [
        "type",
        "message",
        "role",
        "content",
        "assistantMessageEvent",
        "delta",
        "reason",
        "error",
        "errorMessage",
        "errorStatus",
        "stopReason",
        "messages",
        "toolCallId",
        "toolName",
        "intent",
        "partialResult",
        "result",
        "isError",
        "details",
        "phases",
        "tasks",
        "status",
        "path",
        "oldText",
        "newText",
        "perFileResults",
        "todos",
        "attempt",
        "maxAttempts",
        "delayMs",
        "success",
        "finalError",
        "level",
        "rules",
        "isTerminal",
        "text",
        "steering",
        "attribution",
    ]
)
TYPES = st.sampled_from(
    [
        "agent_start",
        "agent_end",
        "turn_start",
        "turn_end",
        "message_start",
        "message_update",
        "message_end",
        "text_delta",
        "thinking_delta",
        "error",
        "done",
        "start",
        "tool_execution_start",
        "tool_execution_update",
        "tool_execution_end",
        "auto_retry_start",
        "auto_retry_end",
        "todo_reminder",
        "todo_auto_clear",
        "notice",
        "compaction_end",
        "ttsr_triggered",
        "extension_error",
        "model_changed",
        "assistant",
        "user",
        "aborted",
        "length",
        "stop",
        "todo",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
    | TYPES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)


def event(kind: str, rest: dict[str, Any]) -> dict[str, Any]:
    return {**rest, "type": kind}


EVENTS = st.builds(event, TYPES, st.dictionaries(KEYS, VALUES))


@given(st.lists(EVENTS | VALUES, max_size=8))
def test_any_json_gives_a_list_of_frames_and_unmapped_events(values: list[Any]) -> None:
    mapper = EventMapper(now=lambda: 0)

    for value in values:
        for item in mapper.map(value):
            if isinstance(item, UnmappedEvent):
                # Anything else would hide a fault of the mapper behind its promise.
                assert not item.reason.startswith("could not be mapped")
            else:
                SessionFrame.FromString(item.SerializeToString())


class Raising(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise RuntimeError


def test_objects_that_raise_are_unmapped() -> None:
    mapper = EventMapper(now=lambda: 0)
    wrong: Any = 5

    for value in (Raising(type="agent_start"), TextDelta(wrong)):
        (item,) = mapper.map(value)
        assert isinstance(item, UnmappedEvent)
