"""What each inner event does to the state, and the frames that it gives: one function a class."""

from __future__ import annotations

__all__ = ("handle",)

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.events import (
    AgentExited,
    Failure,
    InnerEvent,
    MessageEnded,
    MessageFailed,
    MessageStarted,
    Noticed,
    PlanChanged,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
)
from compass_agent.frames import (
    AgentSessionState,
    AgentToolCallStatus,
    SessionInjectionKind,
)
from compass_agent.mapping.exits import describe_exit
from compass_agent.mapping.payload import plan_of, plan_status, read_diffs, read_output
from compass_agent.mapping.told import without_secrets

if TYPE_CHECKING:
    from compass_agent.mapping.state import Frames, MappingState

_CUT_AT_LIMIT = "The answer was cut at the token limit"
_EMPTY_ANSWER = "The answer was empty"


def handle(state: MappingState, event: InnerEvent) -> Frames | None:
    """Return the frames of `event`; None when it is of a class that gives none."""
    match event:
        case TextDelta(text):
            return _text_delta(state, text)
        case ThinkingDelta(text):
            return _thinking_delta(state, text)
        case ToolStarted() | ToolUpdated() | ToolEnded() | PlanChanged():
            return _handle_tool(state, event)
        case MessageStarted() | MessageFailed() | MessageEnded():
            return _handle_message(state, event)
        case RunStarted() | TurnEnded() | RunEnded():
            return _handle_run(state, event)
        case RetryScheduled():
            return _retry_scheduled(state, event)
        case RetryEnded():
            return _retry_ended(state, event)
        case Noticed(text, link):
            return [state.build.notice(without_secrets(text), link)]
        case AgentExited():
            return _agent_exited(state, event)
        case _:
            return None


def _text_delta(state: MappingState, text: str) -> Frames:
    if not text:
        return []
    state.message_has_content = True
    return [state.build.assistant_text(text, state.message_id)]


def _thinking_delta(state: MappingState, text: str) -> Frames:
    if not text:
        return []
    state.message_has_content = True
    return [state.build.thinking(text, state.message_id)]


def _handle_run(state: MappingState, event: RunStarted | TurnEnded | RunEnded) -> Frames:
    match event:
        case RunStarted():
            return _run_started(state, event)
        case TurnEnded(failure):
            frames = [] if state.turn_settled else _tell_if_new(state, failure)
            state.turn_settled = True
            return frames
        case RunEnded(failure, final):
            frames = _tell_if_new(state, failure)
            if final:
                state.run_open = False
                state.stop_missed = bool(state.stopped_by)
                frames += state.settle()
            return frames


def _run_started(state: MappingState, event: RunStarted) -> Frames:
    if not event.turn:
        state.begin_anew()
        state.run_open = True
        state.assistant_seen = False
        if not state.retrying:
            state.told.clear()
    state.turn_settled = False
    state.message_told = False
    return state.work()


def _tell_if_new(state: MappingState, failure: Failure | None) -> Frames:
    if failure is None or state.told.covers(failure.message):
        return []
    state.last_message_failed = not failure.aborted
    return state.tell(failure)


def _handle_message(
    state: MappingState, event: MessageStarted | MessageFailed | MessageEnded
) -> Frames:
    match event:
        case MessageStarted():
            return _message_started(state, event)
        case MessageFailed(failure):
            return _message_failed(state, failure)
        case MessageEnded():
            return _message_ended(state, event)


def _message_started(state: MappingState, event: MessageStarted) -> Frames:
    state.next_message()
    if not state.run_open:
        state.begin_anew()
    if event.role == "assistant":
        state.message_open = True
        state.assistant_seen = True
        state.last_message_failed = False
        return state.work()
    if event.role != "user":
        return []
    frames = state.work()
    injected = event.steering or (state.run_open and state.assistant_seen)
    if injected:
        frames.append(
            state.build.session_injection(
                SessionInjectionKind.SESSION_INJECTION_KIND_STEER,
                state.message_id,
                event.sender or "user",
            )
        )
    else:
        state.told.clear()
    if event.text:
        frames.append(state.build.prompt(event.text, state.message_id))
    return frames


def _message_failed(state: MappingState, failure: Failure) -> Frames:
    state.message_open = False
    state.turn_settled = True
    if state.message_told and state.told.covers(failure.message):
        return []
    state.last_message_failed = not failure.aborted
    return state.tell(failure)


def _message_ended(state: MappingState, event: MessageEnded) -> Frames:
    if event.role != "assistant":
        return []
    told = state.message_told
    frames = _assistant_ended(state, event, told=told)
    # What fails next is of another message, also when its start was never seen.
    state.message_told = False
    return frames


def _assistant_ended(state: MappingState, event: MessageEnded, *, told: bool) -> Frames:
    if event.failure is not None:
        state.message_open = False
        state.turn_settled = True
        return [] if told else _message_failed(state, event.failure)
    was_open, state.message_open = state.message_open, False
    state.turn_settled = True
    state.last_message_failed = False
    if not event.empty:
        state.told.clear()
    if event.stop_reason == "length":
        return [state.build.notice(_CUT_AT_LIMIT)]
    silent = was_open and event.empty and not state.message_has_content
    if silent and event.stop_reason == "stop":
        return [state.build.notice(_EMPTY_ANSWER)]
    return []


def _handle_tool(
    state: MappingState, event: ToolStarted | ToolUpdated | ToolEnded | PlanChanged
) -> Frames:
    match event:
        case ToolStarted(tool_call_id, title):
            state.tools.start(tool_call_id)
            return [state.build.tool_call(tool_call_id, title)]
        case ToolUpdated(tool_call_id, result):
            if state.tools.has_ended(tool_call_id):
                return []
            status = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_IN_PROGRESS
            return _tool_update(state, tool_call_id, status, result)
        case ToolEnded():
            return _tool_ended(state, event)
        case PlanChanged(entries):
            pairs = [(entry.content, plan_status(entry.status)) for entry in entries]
            return [state.build.plan(pairs)]


def _tool_update(
    state: MappingState,
    tool_call_id: str,
    status: AgentToolCallStatus.ValueType,
    result: object,
) -> Frames:
    output, full_chars = read_output(result)
    diffs = read_diffs(result)
    return [state.build.tool_call_update(tool_call_id, status, output, diffs, full_chars)]


def _tool_ended(state: MappingState, event: ToolEnded) -> Frames:
    if state.tools.has_ended(event.tool_call_id):
        state.tools.came_late(event.tool_call_id)
        return []
    state.tools.end(event.tool_call_id)
    status = (
        AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED
        if event.failed
        else AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED
    )
    frames = _tool_update(state, event.tool_call_id, status, event.result)
    if event.name in ("todo", "todo_write") and not event.failed:
        entries = plan_of(event.result)
        if entries is not None:
            frames.append(state.build.plan(entries))
    return frames


def _retry_scheduled(state: MappingState, event: RetryScheduled) -> Frames:
    state.retrying = True
    text = "Retry"
    if event.attempt:
        text += f" {event.attempt}" + (f" of {event.attempts}" if event.attempts else "")
    if event.delay_ms is not None:
        text += f" in {event.delay_ms / 1000:g} s"
    if event.reason:
        text += f": {without_secrets(event.reason)}"
    return [state.build.notice(text), *state.work()]


def _retry_ended(state: MappingState, event: RetryEnded) -> Frames:
    state.retrying = False
    if event.success:
        after = f" after {event.attempt} attempts" if event.attempt > 1 else ""
        return [state.build.notice(f"The retry succeeded{after}")]
    failure = event.failure
    if event.cancelled and failure is not None:
        state.last_message_failed = False
        frames = state.tell(Failure(aborted=True, message=failure.message))
        return frames + state.to(AgentSessionState.AGENT_SESSION_STATE_READY)
    frames = [state.build.notice("No further retry: the agent gave up")]
    untold = not state.told if failure is None else not state.told.covers(failure.message)
    if untold:
        state.last_message_failed = True
        return frames + state.tell(failure or Failure(aborted=False, message=""))
    state.failed = not state.stopped_by
    return frames + (state.settle() if state.failed else [])


def _agent_exited(state: MappingState, event: AgentExited) -> Frames:
    state.stopped_by = state.stopped_by or event.stopped_by
    run_open, state.run_open = state.run_open, False
    open_work = state.message_open or len(state.tools) > 0 or event.cut_line or event.unfinished
    state.message_open = False
    how = describe_exit(event)
    if state.stopped_by:
        stopped = Failure(aborted=True, message=f"Stopped by {state.stopped_by}")
        frames = [] if state.stop_told else state.tell(stopped)
        return frames + state.to(AgentSessionState.AGENT_SESSION_STATE_STOPPED)
    if event.start_failure:
        failure = Failure(aborted=False, message=event.start_failure, code="adapter.start_failed")
        return state.tell(failure)
    died_at_work = bool(event.exit_code) and not state.failed
    if state.last_message_failed and not died_at_work:
        state.failed = True
        last_words = without_secrets(event.stderr_tail.strip())
        tail = f": {last_words}" if last_words else ""
        return [state.build.notice(f"{how}; its last message had failed{tail}"), *state.settle()]
    if not event.exit_code and not open_work:
        missing = " without the closing event of its run" if run_open else ""
        frames = [state.build.notice(how + missing)]
        return frames + state.to(AgentSessionState.AGENT_SESSION_STATE_STOPPED)
    if event.last_words is not None:
        # The command itself said why: how it ended adds to that.
        ended = _exit_failure(event, how, open_work=open_work)
        failure = replace(event.last_words, code=event.last_words.code or ended.code)
        return [state.build.notice(without_secrets(ended.message)), *state.tell(failure)]
    return state.tell(_exit_failure(event, how, open_work=open_work))


def _exit_failure(event: AgentExited, how: str, *, open_work: bool) -> Failure:
    text = f"{how} in the middle of its work" if open_work else how
    if event.stderr_tail.strip():
        text += f": {event.stderr_tail.strip()}"
    code = "adapter.no_terminal" if not event.exit_code else "adapter.exited"
    return Failure(aborted=False, message=text, code=code)
