"""Inner events in, session frames out. Pure, synchronous, total.

The mapper alone holds the state of a session: what was told, which tools are open, which state was
emitted last. It does not wait, join or buffer: one frame a delta.
"""

from __future__ import annotations

__all__ = ("EventMapper", "UnmappedEvent")

import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard, get_args

from compass_agent.events import Failure, InnerEvent, TextDelta, ThinkingDelta, Unknown, decode
from compass_agent.frames import AgentSessionState, SessionErrorKind, SessionFrame
from compass_agent.frames.pieces import SHORT_CHARS
from compass_agent.mapping.handlers import handle
from compass_agent.mapping.state import MappingState
from compass_agent.mapping.told import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compass_agent.frames import SessionError, SessionInjectionKind

_logger = logging.getLogger("compass_agent.mapping")

# So many types are counted by name; an agent that makes up types must not eat memory.
_COUNTED_TYPES = 1_000
_OBJECT: type[Any] = dict
# `type` alone would be of an unknown type for what is of any.
_class_of: Callable[[object], object] = type
_EVENT_CLASSES = frozenset[object](get_args(InnerEvent))


@dataclass(frozen=True, slots=True)
class UnmappedEvent:
    """Something that gave no frame because it is not known; `reason` says why."""

    event_type: str
    reason: str


class EventMapper:
    """Maps the events of one session and epoch, in order.

    Args:
        now: Gives the time in milliseconds since 1970-01-01 UTC.
    """

    def __init__(self, *, now: Callable[[], int]) -> None:
        self._now = MappingState(now)
        self._unmapped: Counter[str] = Counter()

    @property
    def state(self) -> AgentSessionState.ValueType:
        """The state that was emitted last; UNSPECIFIED before the first."""
        return self._now.lifecycle_state

    @property
    def failed(self) -> bool:
        """Whether the last work failed and none has started since."""
        return self._now.failed

    @property
    def over(self) -> bool:
        """Whether the last work was told to have failed or been stopped and none has started."""
        return self._now.over

    @property
    def last_error(self) -> SessionError | None:
        """The last failure or stop of the current work. None when there was none, or it is over."""
        return self._now.last_error

    @property
    def unmapped(self) -> Mapping[str, int]:
        """How many events could not be mapped, by type."""
        return self._unmapped

    def map(self, event: Any) -> list[SessionFrame | UnmappedEvent]:
        """Return the frames of one inner event, or what could not be mapped.

        Args:
            event: A class of `compass_agent.events`, or the canonical JSON object as `json.loads`
                gives it. Anything else gives one `UnmappedEvent`; nothing raises.
        """
        try:
            return self._map(event)
        except Exception as error:  # noqa: BLE001 - the promise is that nothing raises
            reason = f"could not be mapped: {type(error).__name__}"
            return [self._note_unmapped(type(event).__name__, reason)]

    def encoded_delta(self, event: Any) -> bytes | None:
        """Return the bytes of the one frame that `map` gives for a short delta.

        Deltas come hundreds of times a second, so they take a short way.

        Args:
            event: As for `map`.

        Returns:
            None: it is something else, which nothing was done for yet. Nothing raises.
        """
        try:
            kind = _class_of(event)
            if kind is TextDelta:
                text, step = event.text, "text_delta"
            elif kind is ThinkingDelta:
                text, step = event.text, "thinking_delta"
            elif kind is _OBJECT and event.get("type") == "message_update":
                inner = event.get("assistantMessageEvent")
                if type(inner) is not _OBJECT:
                    return None
                text, step = inner.get("delta"), inner.get("type")
            else:
                return None
            if type(text) is not str or not 0 < len(text) <= SHORT_CHARS:
                return None
            now = self._now
            if step == "text_delta":
                now.message_has_content = True
                return now.build.encoded_assistant_text(text, now.message_id)
            if step == "thinking_delta":
                now.message_has_content = True
                return now.build.encoded_thinking(text, now.message_id)
        except Exception:  # noqa: BLE001 - such as: what compares as no text does; `map` tells it
            return None
        return None

    def _map(self, event: object) -> list[SessionFrame | UnmappedEvent]:
        inner = event if _is_inner_event(event) else decode(event)
        if isinstance(inner, Unknown):
            return [self._note_unmapped(inner.event_type, inner.reason)]
        return [*(handle(self._now, inner) or ())]

    def _note_unmapped(self, event_type: str, reason: str) -> UnmappedEvent:
        known = event_type in self._unmapped
        name = event_type if known or len(self._unmapped) < _COUNTED_TYPES else "(others)"
        if name not in self._unmapped:
            _logger.warning("no frame for events of type %.100r: %s", name, reason)
        self._unmapped[name] += 1
        return UnmappedEvent(event_type, reason)

    def session_error(
        self,
        kind: SessionErrorKind.ValueType,
        message: str,
        *,
        status: int | None = None,
        retry_after_ms: int | None = None,
        code: str = "",
        request_id: str = "",
        stopped_by: str = "",
    ) -> list[SessionFrame]:
        """Return the frames of a failure or stop that the runtime itself saw.

        ERROR is followed by its ERRORED frame. A failure that was told already since work began
        gives nothing, and so does a second stop.
        """
        aborted = kind == SessionErrorKind.SESSION_ERROR_KIND_ABORTED
        now = self._now
        if aborted and now.stop_told:
            return []
        if not aborted and now.failed and now.told.is_same_failure(message, status):
            return []
        now.last_message_failed = not aborted
        now.message_open = False
        frames = now.tell(
            Failure(aborted, message, status, retry_after_ms, code, request_id, stopped_by)
        )
        now.stop_told = now.stop_told or aborted
        return frames

    @property
    def late_results(self) -> int:
        """How many results came after their calls were closed with the turn; none is told."""
        return self._now.tools.late

    @property
    def stopped_by(self) -> str:
        """Who asked to stop the agent; an empty text when nobody did."""
        return self._now.stopped_by

    def request_stop(self, stopped_by: str, *, for_good: bool = False) -> None:
        """Note that the runtime was asked to stop the work: whatever fails in it is a stop.

        Args:
            stopped_by: Who asked.
            for_good: The agent is stopped, with whatever work it may begin yet.
        """
        now = self._now
        now.stopped_by, now.stops_for_good = stopped_by, for_good
        now.stop_told = now.stop_missed = False

    def lifecycle(self, state: AgentSessionState.ValueType) -> list[SessionFrame]:
        """Return the transition to `state`: one frame when the state changes, else none.

        STOPPED comes after the last updates of tool calls that are open.
        """
        return self._now.to(state)

    def close(self) -> list[SessionFrame]:
        """Return the frames of the session's end: STOPPED, unless the last work failed.

        Work that was left in the middle neither failed nor succeeded; its open tool calls are
        interrupted.
        """
        if self._now.failed:
            return self._now.close_tools(aborted=False)
        return self._now.to(AgentSessionState.AGENT_SESSION_STATE_STOPPED)

    def notice(self, text: str, link: str | None = None) -> SessionFrame:
        """Return a line of information."""
        return self._now.build.notice(without_secrets(text), link)

    def session_injection(
        self,
        kind: SessionInjectionKind.ValueType,
        message_id: str,
        from_handle: str,
        traceparent: str = "",
    ) -> SessionFrame:
        """Return the observation that a message was put into the running agent."""
        return self._now.build.session_injection(kind, message_id, from_handle, traceparent)


def _is_inner_event(event: object) -> TypeGuard[InnerEvent]:
    return type(event) in _EVENT_CLASSES
