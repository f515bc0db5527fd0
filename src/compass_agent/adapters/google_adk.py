"""google-adk: an invocation of a runner.

    await session.drive(events(runner.run_async(…)))

With `RunConfig(streaming_mode=StreamingMode.SSE)` the words come as they are made.
"""

from __future__ import annotations

__all__ = ("Adapter", "events")

from typing import TYPE_CHECKING

from compass_agent.adapters.objects import text_of, title_of
from compass_agent.adapters.sdk_stream import StreamRun, run_events
from compass_agent.adapters.telling import CUT_OFF
from compass_agent.adapters.texts import excerpt
from compass_agent.errors.foreign import attribute, called
from compass_agent.errors.shapes import as_list, as_object
from compass_agent.events.classes import Failure, InnerEvent, Noticed, ToolUpdated
from compass_agent.events.readable import readable_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from compass_agent.adapters.sources import Source

_ABORTED = "INVOCATION_ABORTED"
_CUT = "MAX_TOKENS"
_BEGAN_AGAIN = "The answer was begun again; the message before is not valid"
_REQUEST = "adk_request_"
_GOES_ON = "It goes on beyond this run"
_STOPPED = "Stopped by the host"


def events(source: Source, secrets: Iterable[str] = ()) -> AsyncGenerator[InnerEvent, None]:
    """Return the inner events of an invocation.

    Args:
        source: What `runner.run_async(…)` gives. What it raises goes on, the same object.
        secrets: Values that must not appear in failures and notices.
    """
    return run_events(Adapter(secrets), source)


class Adapter(StreamRun):
    """Turns what it gives into inner events. Never raises.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._author = ""
        # By author, too: agents that work side by side are told in turns.
        self._streamed: dict[tuple[str, bool], str] = {}
        self._held: Failure | None = None
        self._aborted = False
        # The calls that go on after their run, and what they gave so far.
        self._lasting: dict[str, object] = {}
        self._final = False
        self._code = ""

    def end(self) -> list[InnerEvent]:
        """Success needs a last event that is final and tells no error."""
        held, self._held = self._held, None
        if self._aborted:
            return []
        if held is not None:
            return self._fail(held)
        if not self._final:
            return self._flushed()
        events: list[InnerEvent] = []
        for call, result in self._lasting.items():
            name = self._tools.get(call, "")
            if call in self._tools:
                events.append(Noticed(f"{name} goes on beyond this run"))
                events += self._end_tool(call, result, failed=False)
        self._lasting.clear()
        return self._cleaned([*events, *self._succeed()])

    def _item(self, item: object) -> list[InnerEvent] | None:
        if self._aborted:
            return []  # an agent beside it may say a last word; that begins nothing
        code = _code(attribute(item, "error_code"))
        if code == _ABORTED:
            return self._stopped()
        # What goes on after an error was not ended by it.
        held, self._held = self._held, None
        before, self._code = self._code, code
        events: list[InnerEvent] = []
        if held is not None and held.code != code:
            # ADK tells the same failure again when the answer holds nothing else.
            events.append(Noticed(f"The work goes on after a failure: {held.message}"))
        partial = attribute(item, "partial") is True
        author = _word(item, "author") or self._author
        streamed = any(before == author for before, _ in self._streamed)
        events += self._actions(attribute(item, "actions"))
        events += self._content(item, partial=partial)
        self._final = called(item, "is_final_response") is True and not partial
        if code == _CUT:
            # A limit that was reached before the first word has no message to end.
            begun = self._message_open or before == _CUT
            events += [] if begun else self._start_message()
            events += self._end_message("length")
        elif code:
            message = attribute(item, "error_message")
            text = message if isinstance(message, str) else ""
            self._held = Failure(aborted=False, message=text or code, code=code)
        elif not partial:
            if streamed and self._final and _has_no_end(item):
                self._held = CUT_OFF
                return events
            events += self._end_message()
        return events

    def _stopped(self) -> list[InnerEvent]:
        """The results of open calls that come with it are of ADK's own making."""
        self._aborted = True
        return self._fail(Failure(aborted=True, message=_STOPPED))

    # Words.

    def _content(self, item: object, *, partial: bool) -> list[InnerEvent]:
        parts = as_list(attribute(attribute(item, "content"), "parts"))
        events: list[InnerEvent] = []
        author = _word(item, "author") or self._author
        if author != self._author:
            self._author = author
            events += self._next_message()
        lasting = attribute(item, "long_running_tool_ids") or ()
        whole = {False: "", True: ""}
        for part in parts:
            text, thought = attribute(part, "text"), attribute(part, "thought") is True
            if isinstance(text, str) and text:
                if partial:
                    self._streamed[author, thought] = self._before(author, thought) + text
                    events += self._delta(text, int(thought), thinking=thought)
                else:
                    whole[thought] += text
            if not partial:
                events += self._wholes(author, whole) if _has_call(part) else []
                events += self._call(part, lasting)
        if not partial:
            events += self._wholes(author, whole)
            for thought in whole:
                self._streamed.pop((author, thought), None)
        return events

    def _before(self, author: str, thought: bool) -> str:  # noqa: FBT001 - a key
        return self._streamed.get((author, thought), "")

    def _wholes(self, author: str, whole: dict[bool, str]) -> list[InnerEvent]:
        """What of the whole texts was not streamed; when one is another text, all of it, anew."""
        events: list[InnerEvent] = []
        for thought in (True, False):
            text, before = whole[thought], self._before(author, thought)
            if not text or text == before:
                continue
            if not text.startswith(before):
                events += [Noticed(_BEGAN_AGAIN), *self._start_message()]
                before = ""
            events += self._delta(text[len(before) :], int(thought), thinking=thought)
            self._streamed[author, thought] = text
        return events

    def _next_message(self) -> list[InnerEvent]:
        return self._end_message()

    # Tools.

    def _call(self, part: object, lasting: object) -> list[InnerEvent]:
        if (asked := attribute(part, "function_call")) is not None:
            name, call = _word(asked, "name"), _word(asked, "id")
            if name.startswith(_REQUEST):
                # No tool: how ADK asks its host, who was told by a notice.
                return []
            arguments = as_object(attribute(asked, "args"))
            self._message_has_content = True
            if isinstance(lasting, set | frozenset) and call in lasting:
                self._lasting[call] = _GOES_ON
            return self._start_tool(call, name, title_of(name or "tool", arguments))
        if (answer := attribute(part, "function_response")) is not None:
            call, given = _word(answer, "id"), as_object(attribute(answer, "response"))
            if call not in self._tools:
                return []
            if call in self._lasting:
                self._lasting[call] = _result(given)
                return [ToolUpdated(call, _result(given))]
            return self._end_tool(call, _result(given), failed=_has_failed(given))
        return []

    # All else.

    def _actions(self, actions: object) -> list[InnerEvent]:
        told: list[str] = []
        if agent := _word(actions, "transfer_to_agent"):
            told.append(f"Handed over to {agent}")
        if attribute(actions, "escalate") is True:
            told.append("Handed back to the agent above")
        for name, version in as_object(attribute(actions, "artifact_delta")).items():
            told.append(f"Artifact {name}, version {version}")
        for call, asked in as_object(attribute(actions, "requested_tool_confirmations")).items():
            name = self._tools.get(call) or call
            told.append(f"Asks for permission: {name}: {_word(asked, 'hint')}".rstrip(": "))
        lacking = as_object(attribute(actions, "requested_auth_configs"))
        told += [f"Asks for credentials: {self._tools.get(call) or call}" for call in lacking]
        if attribute(actions, "compaction") is not None:
            told.append("The context was compacted")
        return [Noticed(excerpt(text, self._secrets)) for text in told]


def _has_no_end(item: object) -> bool:
    """Tell whether what a provider streamed does not say why it ended: its connection was closed.

    A model of the host's own has no version, and need not say so.
    """
    if attribute(item, "finish_reason") or attribute(item, "turn_complete") is True:
        return False
    return bool(_word(item, "model_version"))


def _has_call(part: object) -> bool:
    names = ("function_call", "function_response")
    return any(attribute(part, name) is not None for name in names)


def _code(value: object) -> str:
    """Return an error's code, a text or a member of an enumeration; empty when there is none."""
    named = attribute(value, "value")
    code = named if isinstance(named, str) else value
    return code if isinstance(code, str) else ""


def _word(value: object, name: str) -> str:
    found = attribute(value, name)
    return found if isinstance(found, str) else ""


def _result(response: Mapping[str, object]) -> object:
    """Return what a tool gave: ADK puts what is no mapping under "result"."""
    if set(response) == {"result"}:
        return response["result"]
    if set(response) == {"error"}:
        return {"text": readable_text(response["error"])}
    return response


def _has_failed(response: Mapping[str, object]) -> bool:
    return bool(text_of(response, "error")) and "result" not in response
