"""Writes the golden files that are missing, and never touches one that is there.

    python tests/wire/write_golden.py

A golden file is a promise: these bytes decode for ever to these values. To cover something new, add
a sample below under a new name and run this. A sample whose file exists is not even compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from google.protobuf import json_format
from google.protobuf.message import Message

from compass.v1 import compass_pb2 as pb
from compass.v1.agent_gateway_pb2 import (
    PublishFrameRequest,
    PublishFrameResponse,
    SequencedFrame,
    SessionOpen,
)

GOLDEN = Path(__file__).parent / "golden"
AT = 1_767_225_600_123
EPOCH = "0123456789abcdef"


def event(number: int, **arm: Message) -> pb.SessionEvent:
    """Return an event with one arm set."""
    made = pb.SessionEvent(event_id=str(number), at_unix_ms=AT + number)
    for name, value in arm.items():
        getattr(made, name).CopyFrom(value)
        getattr(made, name).SetInParent()
    return made


def frame(number: int, **arm: Message) -> pb.SessionFrame:
    """Return a frame with one event."""
    return pb.SessionFrame(typed_event=event(number, **arm))


def received(seq: int = 0, **fields: object) -> pb.AgentSessionFrame:
    """Return what a subscriber receives."""
    made = pb.AgentSessionFrame(session_id="s1", epoch=EPOCH, seq=seq)
    made.MergeFrom(pb.AgentSessionFrame(**fields))  # pyright: ignore[reportArgumentType] - by name
    return made


def content() -> Iterator[tuple[str, Message]]:
    """Frames with an event, one for each arm and each thing that an arm can say."""
    yield (
        "assistant_text",
        frame(1, assistant_text=pb.SessionAssistantText(text="Hello, 世界 🙂\n", message_id="1")),
    )
    yield "thinking", frame(2, thinking=pb.SessionThinking(text="Let me see.", message_id="1"))
    for status, number in pb.AgentToolCallStatus.items():
        word = status.removeprefix("AGENT_TOOL_CALL_STATUS_").lower()
        yield (
            f"tool_call_{word}",
            frame(
                3,
                tool_call=pb.SessionToolCall(tool_call_id="call-1", title="Run it", status=number),
            ),
        )
    update = pb.SessionToolCallUpdate(
        tool_call_id="call-1",
        status=pb.AGENT_TOOL_CALL_STATUS_COMPLETED,
        output="2 files changed",
        diffs=[
            pb.SessionFileDiff(path="new.txt", new_text="made\n"),
            pb.SessionFileDiff(path="old.txt", old_text="before\n", new_text="after\n"),
            pb.SessionFileDiff(path="was_empty.txt", old_text="", new_text="after\n"),
        ],
    )
    yield "tool_call_update_with_diffs", frame(4, tool_call_update=update)
    cut = pb.SessionToolCallUpdate(
        tool_call_id="call-1",
        status=pb.AGENT_TOOL_CALL_STATUS_INTERRUPTED,
        output="aaa…",
        full_output_chars=2**40,
    )
    yield "tool_call_update_cut", frame(5, tool_call_update=cut)
    plan = pb.SessionPlan(
        entries=[
            pb.AgentPlanEntry(content=f"step {number}", status=number)
            for number in pb.AgentPlanEntryStatus.values()
        ]
    )
    yield "plan", frame(6, plan=plan)
    yield "plan_empty", frame(7, plan=pb.SessionPlan())
    yield "notice", frame(8, notice=pb.SessionNotice(text="Retrying in 2 s"))
    yield (
        "notice_with_link",
        frame(9, notice=pb.SessionNotice(text="Read more", link="https://example.org/a?b=c")),
    )
    yield "notice_with_empty_link", frame(10, notice=pb.SessionNotice(text="None", link=""))
    for kind, number in pb.SessionInjectionKind.items():
        word = kind.removeprefix("SESSION_INJECTION_KIND_").lower()
        injection = pb.SessionInjection(op_kind=number, message_id="m-1", from_handle="@ada")
        yield f"session_injection_{word}", frame(11, session_injection=injection)
    traced = pb.SessionInjection(
        op_kind=pb.SESSION_INJECTION_KIND_STEER,
        message_id="m-2",
        from_handle="@ada",
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    yield "session_injection_traced", frame(12, session_injection=traced)
    yield "prompt", frame(13, prompt=pb.SessionPrompt(text="Fix the build", message_id="1"))


def errors() -> Iterator[tuple[str, Message]]:
    """Frames with the content of a failed or stopped turn."""
    for kind, number in pb.SessionErrorKind.items():
        word = kind.removeprefix("SESSION_ERROR_KIND_").lower()
        for name, status in (("", None), ("_status_0", 0), ("_status_429", 429)):
            error = pb.SessionError(kind=number, message="It did not work", status=status)
            yield f"session_error_{word}{name}", frame(14, session_error=error)
    full = pb.SessionError(
        kind=pb.SESSION_ERROR_KIND_ERROR,
        message="Rate limit reached",
        status=429,
        retry_after_ms=9816,
        code="rate_limit_exceeded",
        request_id="req-1",
    )
    yield "session_error_full", frame(15, session_error=full)
    at_once = pb.SessionError(kind=pb.SESSION_ERROR_KIND_ERROR, status=503, retry_after_ms=0)
    yield "session_error_retry_at_once", frame(16, session_error=at_once)
    stopped = pb.SessionError(kind=pb.SESSION_ERROR_KIND_ABORTED, stopped_by="@ada")
    yield "session_error_stopped_by", frame(17, session_error=stopped)
    yield "session_error_empty", frame(18, session_error=pb.SessionError())


def lifecycle() -> Iterator[tuple[str, Message]]:
    """Transitions, alone and beside an event."""
    for state, number in pb.AgentSessionState.items():
        word = state.removeprefix("AGENT_SESSION_STATE_").lower()
        yield f"lifecycle_{word}", pb.SessionFrame(state=number)
    both = frame(19, notice=pb.SessionNotice(text="Opened"))
    both.state = pb.AGENT_SESSION_STATE_STARTING
    yield "state_and_event", both


def to_subscribers() -> Iterator[tuple[str, Message]]:
    """What subscribers send and receive."""
    failed = event(
        20, session_error=pb.SessionError(kind=pb.SESSION_ERROR_KIND_ERROR, message="no", status=0)
    )
    yield "received_event", received(5, event=failed)
    yield "received_state", received(6, state=pb.AGENT_SESSION_STATE_ERRORED)
    yield "received_by_an_old_writer", pb.AgentSessionFrame(session_id="s1", event=failed)
    yield "received_late", received(7, event=failed, late=True)
    yield "received_caught_up", received(caught_up=True)
    yield "received_signal", received(state=pb.AGENT_SESSION_STATE_DISCONNECTED)
    for reason, number in pb.SessionGapReason.items():
        gap = pb.SessionGap(first_seq=8, last_seq=2**53 + 1, count=2**53 - 6, reason=number)
        word = reason.removeprefix("SESSION_GAP_REASON_").lower()
        yield f"received_gap_{word}", received(2**53 + 1, gap=gap)
    lost = pb.SessionGap(first_seq=3, last_seq=4, count=2, reason=pb.SESSION_GAP_REASON_DROPPED)
    yield "received_gap_before_event", received(5, event=failed, gap=lost)
    for reason, number in pb.SessionResetReason.items():
        word = reason.removeprefix("SESSION_RESET_REASON_").lower()
        yield f"received_reset_{word}", received(reset=pb.SessionReset(reason=number))
    end = pb.SessionEnd(
        state=pb.AGENT_SESSION_STATE_STOPPED, reason="closed", last_seq=9, prev_priority=8
    )
    yield "received_end", received(9, end=end)
    more = received(5, event=failed)
    more.more.extend([received(6, state=pb.AGENT_SESSION_STATE_ERRORED), received(9, end=end)])
    yield "received_more", more
    ask = pb.SubscribeAgentSessionRequest
    yield "subscribe_old", ask(session_id="s1")
    yield "subscribe_no_follow", ask(session_id="s1", follow=False)
    yield (
        "subscribe_all",
        ask(
            session_id="s1",
            after_epoch=EPOCH,
            after_seq=2**64 - 1,
            follow=True,
            kinds=["session_error", "plan"],
            max_batch=64,
        ),
    )


def about_sessions() -> Iterator[tuple[str, Message]]:
    """What readers ask about sessions, and what they are told."""
    session = pb.SessionSummary(
        session_id="s1",
        epoch=EPOCH,
        seq=9,
        state=pb.AGENT_SESSION_STATE_ERRORED,
        last_error=pb.SessionError(
            kind=pb.SESSION_ERROR_KIND_ERROR, message="Overloaded", status=529
        ),
        title="Fix the build",
        agent="pi",
        version="1.2.3",
        opened_unix_ms=1767225600000,
        updated_unix_ms=1767225600123,
        frames=9,
        ended=True,
    )
    yield (
        "list_sessions",
        pb.ListSessionsRequest(
            limit=50,
            page_token="more",  # noqa: S106 - no secret
            states=[pb.AGENT_SESSION_STATE_ERRORED, pb.AGENT_SESSION_STATE_DISCONNECTED],
            query="build",
        ),
    )
    yield (
        "listed_sessions",
        pb.ListSessionsResponse(
            sessions=[session, pb.SessionSummary(session_id="s2")],
            next_page_token="more",  # noqa: S106 - no secret
        ),
    )
    yield "get_session", pb.GetSessionRequest(session_id="s1")
    yield "got_session", pb.GetSessionResponse(session=session)


def gateway() -> Iterator[tuple[str, Message]]:
    """What agent processes and a hub say to each other."""
    state = pb.SessionFrame(state=pb.AGENT_SESSION_STATE_STARTING).SerializeToString()
    yield (
        "publish_open",
        PublishFrameRequest(
            session_id="s1",
            epoch=EPOCH,
            priority=[SequencedFrame(seq=1, frame=state)],
            trace=[SequencedFrame(seq=2, frame=b""), SequencedFrame(seq=4, frame=state)],
            through=4,
            open=SessionOpen(title="Fix the build", agent="pi", version="1.2.3"),
            batch=1,
        ),
    )
    yield (
        "publish_end",
        PublishFrameRequest(
            session_id="s1",
            epoch=EPOCH,
            through=9,
            prev_priority=8,
            batch=2,
            end=pb.SessionEnd(
                state=pb.AGENT_SESSION_STATE_STOPPED, reason="closed", last_seq=9, prev_priority=8
            ),
        ),
    )
    yield (
        "publish_lost_priority",
        PublishFrameRequest(session_id="s1", epoch=EPOCH, batch=3, lost_priority=7),
    )
    yield (
        "publish_recovered",
        PublishFrameRequest(
            session_id="s1",
            epoch=EPOCH,
            priority=[SequencedFrame(seq=3, frame=state)],
            open=SessionOpen(title="Fix the build", recovered=True),
            batch=1,
        ),
    )
    yield (
        "published",
        PublishFrameResponse(
            session_id="s1", epoch=EPOCH, batch=1, last_priority=1, through=4, late_trace=1
        ),
    )
    yield (
        "published_missing",
        PublishFrameResponse(session_id="s1", epoch=EPOCH, batch=2, missing_from=3),
    )
    yield (
        "published_sealed",
        PublishFrameResponse(session_id="s1", epoch=EPOCH, batch=3, sealed=True),
    )
    yield (
        "published_refused",
        PublishFrameResponse(session_id="s1", epoch=EPOCH, batch=4, code="unsupported_input"),
    )


def samples() -> Iterator[tuple[str, Message]]:
    """Every sample: its name and the message."""
    yield from content()
    yield from errors()
    yield from lifecycle()
    yield from to_subscribers()
    yield from about_sessions()
    yield from gateway()


def write_missing(folder: Path) -> list[str]:
    """Write each sample that has no file in `folder`; return the names that were written."""
    written: list[str] = []
    for name, message in samples():
        text = json.dumps(
            {
                "message": message.DESCRIPTOR.name,
                "hex": message.SerializeToString(deterministic=True).hex(),
                "json": json_format.MessageToDict(message),
            },
            indent=2,
            ensure_ascii=False,
        )
        try:
            with (folder / f"{name}.json").open("x", encoding="utf-8") as file:
                file.write(text + "\n")
        except FileExistsError:
            continue
        written.append(name)
    return written


if __name__ == "__main__":
    print("\n".join(write_missing(GOLDEN)) or "nothing is missing")
