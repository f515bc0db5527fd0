"""What the operations return, as JSON has it: the one form for every way in that speaks JSON.

Names are protobuf's canonical ones: lowerCamelCase, 64-bit numbers of frames as strings, values of
enums by name (one that nobody knows by its number). Facts that were not told are absent, or null
where that is said.
"""

from __future__ import annotations

__all__ = (
    "cause_to_dict",
    "detail_to_dict",
    "entries_to_dict",
    "entry_to_dict",
    "frames_to_dict",
    "gap_to_dict",
    "item_to_dict",
    "row_to_dict",
    "sessions_to_dict",
)

from typing import TYPE_CHECKING, Any

from compass_agent.frames import (
    AgentPlanEntryStatus,
    AgentSessionState,
    AgentToolCallStatus,
    SessionEvent,
    as_state,
)
from compass_agent.services.entries import kind_of_entry
from compass_agent.view.entries import (
    Ended,
    Failure,
    Injection,
    Message,
    Missing,
    Notice,
    Plan,
    PlanStep,
    Prompt,
    Restart,
    StateChange,
    StepStatus,
    ToolCall,
    ToolStatus,
    Unknown,
)
from compass_agent.view.failure import FailureKind
from compass_agent.wire import item_to_subscriber_frame

if TYPE_CHECKING:
    from compass_agent.frames import Cursor
    from compass_agent.services.detail import SessionDetail
    from compass_agent.services.entries import EntriesPage
    from compass_agent.services.listing import SessionsPage
    from compass_agent.services.reading import FramesPage
    from compass_agent.services.sessions import SessionRow
    from compass_agent.view.entries import Entry
    from compass_agent.view.failure import Cause
    from compass_agent.wire import Gap, Item

_Json = dict[str, Any]

_JSON_NAMES = {field.name: field.json_name for field in SessionEvent.DESCRIPTOR.fields}
_ERROR_KINDS = {
    FailureKind.ERROR: "SESSION_ERROR_KIND_ERROR",
    FailureKind.ABORTED: "SESSION_ERROR_KIND_ABORTED",
    FailureKind.UNKNOWN: "SESSION_ERROR_KIND_UNSPECIFIED",
}
_TOOL_STATUSES = {
    ToolStatus.PENDING: AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_PENDING,
    ToolStatus.RUNNING: AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_IN_PROGRESS,
    ToolStatus.COMPLETED: AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED,
    ToolStatus.FAILED: AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED,
    ToolStatus.INTERRUPTED: AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_INTERRUPTED,
}
_STEP_STATUSES = {
    StepStatus.PENDING: AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_PENDING,
    StepStatus.ACTIVE: AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_IN_PROGRESS,
    StepStatus.DONE: AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_COMPLETED,
    StepStatus.UNKNOWN: AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_UNSPECIFIED,
}


def row_to_dict(row: SessionRow) -> _Json:
    """Return `row`; `lastError` is null when nothing went wrong, else as `cause_to_dict` has it."""
    summary = row.summary
    return {
        "sessionId": summary.session,
        "state": _state(summary.state),
        "epoch": summary.epoch,
        "cursor": str(summary.cursor),
        "title": summary.title,
        "agent": summary.agent,
        "version": summary.version,
        "openedMs": summary.opened_ms,
        "updatedMs": summary.updated_ms,
        "frames": summary.frames,
        "ended": summary.ended,
        "lastError": None if row.cause is None else cause_to_dict(row.cause),
    }


def cause_to_dict(cause: Cause) -> _Json:
    """Return the SessionError in protobuf's JSON, with the advice that follows from it beside it.

    Always there are `message` (empty: the agent gave none), `title`, `retryable` (null: not known)
    and `guidance`.
    """
    out: _Json = {"kind": _ERROR_KINDS[cause.kind], "message": cause.message}
    if cause.status is not None:
        out["status"] = cause.status
    if cause.retry_after_ms is not None:
        out["retryAfterMs"] = str(cause.retry_after_ms)
    told = (("code", cause.code), ("requestId", cause.request_id), ("stoppedBy", cause.stopped_by))
    out |= {name: text for name, text in told if text}
    return out | {"title": cause.title, "retryable": cause.retryable, "guidance": cause.guidance}


def sessions_to_dict(page: SessionsPage) -> _Json:
    """Return a page of a list; `nextPage` is absent on the last one."""
    out: _Json = {"sessions": [row_to_dict(row) for row in page.rows], "total": page.total}
    return out | {"nextPage": page.next_page} if page.next_page else out


def detail_to_dict(detail: SessionDetail) -> _Json:
    """Return one session: its row, and what was counted."""
    return row_to_dict(detail.row) | {
        "kinds": {_json_name(kind): count for kind, count in detail.kinds.items()},
        "first": _cursor(detail.first),
        "last": str(detail.last),
        "missing": detail.missing,
        "gaps": [gap_to_dict(gap) for gap in detail.gaps],
    }


def gap_to_dict(gap: Gap) -> _Json:
    """Return where frames are missing, how many, and why."""
    return {
        "epoch": gap.epoch,
        "firstSeq": str(gap.first_seq),
        "lastSeq": str(gap.last_seq),
        "count": str(gap.count),
        "reason": f"SESSION_GAP_REASON_{gap.reason.name}",
    }


def item_to_dict(session: str, item: Item) -> _Json:
    """Return `item` as the AgentSessionFrame that a subscriber receives.

    Raises:
        OperationError: `unsupported_input`, when the item holds bytes that are no frame.
    """
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 - dear to import

    return MessageToDict(item_to_subscriber_frame(session, item))


def frames_to_dict(page: FramesPage) -> _Json:
    """Return a page of frames.

    Raises:
        OperationError: As `item_to_dict`.
    """
    return {
        "sessionId": page.session,
        "frames": [item_to_dict(page.session, item) for item in page.items],
        "prev": _cursor(page.prev),
        "next": _cursor(page.next),
        "more": page.more,
        "missing": page.missing,
        "heldBack": page.held_back,
    }


def entries_to_dict(page: EntriesPage) -> _Json:
    """Return a page of entries."""
    return {
        "sessionId": page.session,
        "items": [entry_to_dict(entry) for entry in page.entries],
        "prev": _cursor(page.prev),
        "next": _cursor(page.next),
        "more": page.more,
        "missing": page.missing,
    }


def entry_to_dict(entry: Entry) -> _Json:
    """Return `entry`: its place, its time when that is known, its content under its kind's name."""
    kind = _json_name(kind_of_entry(entry))
    out: _Json = {
        "kind": kind,
        "epoch": entry.epoch,
        "seq": str(entry.seq),
        "lastSeq": str(entry.last_seq),
    }
    if entry.at_ms is not None:
        out["atUnixMs"] = str(entry.at_ms)
    if entry.late:
        out["late"] = True
    return out | {kind: _content(entry)}


def _content(entry: Entry) -> _Json:
    match entry:
        case Message():
            status = entry.status.name
            return {"text": entry.text, "messageId": entry.message_id, "status": status}
        case ToolCall():
            return _tool(entry)
        case Failure():
            return cause_to_dict(entry.cause)
        case Plan():
            return {"entries": [_step(step) for step in entry.steps]}
        case Prompt():
            return {"text": entry.text, "messageId": entry.message_id}
        case Notice():
            return {"text": entry.text} | ({} if entry.link is None else {"link": entry.link})
        case _:
            return _mark(entry)


def _mark(entry: Entry) -> _Json:
    match entry:
        case Injection():
            kind = "UNSPECIFIED" if entry.kind == "unknown" else entry.kind.upper()
            return {
                "opKind": f"SESSION_INJECTION_KIND_{kind}",
                "messageId": entry.message_id,
                "fromHandle": entry.from_handle,
                "traceparent": entry.traceparent,
            }
        case StateChange():
            return {"state": _state(entry.state), "signal": entry.signal}
        case Missing():
            reason = f"SESSION_GAP_REASON_{entry.reason.name}"
            return {"count": str(entry.count), "reason": reason}
        case Restart():
            return {"reason": f"SESSION_RESET_REASON_{entry.reason.name}"}
        case Ended():
            return {"state": _state(entry.state), "reason": entry.reason}
        case Unknown():
            return {"eventId": entry.event_id, "size": entry.size}
        case _:
            return {}


def _step(step: PlanStep) -> _Json:
    status = AgentPlanEntryStatus.Name(_STEP_STATUSES[step.status])
    return {"content": step.content, "status": status}


def _tool(tool: ToolCall) -> _Json:
    known = _TOOL_STATUSES.get(tool.status)
    out: _Json = {
        "toolCallId": tool.tool_call_id,
        "title": tool.title,
        "status": tool.number if known is None else AgentToolCallStatus.Name(known),
        "output": tool.output,
        "diffs": [
            {"path": diff.path, "newText": diff.new_text}
            | ({} if diff.old_text is None else {"oldText": diff.old_text})
            for diff in tool.diffs
        ],
    }
    if tool.full_output_chars is not None:
        out["fullOutputChars"] = str(tool.full_output_chars)
    if tool.ended_ms is not None:
        out["endedUnixMs"] = str(tool.ended_ms)
    return out


def _json_name(kind: str) -> str:
    return _JSON_NAMES.get(kind, kind)


def _cursor(cursor: Cursor | None) -> str | None:
    return None if cursor is None else str(cursor)


def _state(number: int) -> str | int:
    try:
        return AgentSessionState.Name(as_state(number))
    except ValueError:
        return number
