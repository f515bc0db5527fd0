"""Batches and answers cross between an agent and a hub without a change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass.v1 import agent_gateway_pb2, compass_pb2
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.wire import Answer, Batch, EndMark, SessionMeta
from compass_agent.wire.malformed import MalformedRequestError
from compass_agent.wire.publish import (
    PUBLISH_FRAME,
    answer_from_bytes,
    answer_to_bytes,
    request_from_bytes,
    request_to_bytes,
)
from compass_agent.wire.relay import SUBSCRIBE

GOLDEN = Path(__file__).parent / "golden"
EPOCH = "0123456789abcdef"
STARTING = b"\x08\x01"

numbers = st.integers(0, 2**64 - 1)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
frames = st.lists(st.tuples(numbers, st.binary(max_size=20)), max_size=4)
marks = st.builds(EndMark, st.integers(0, 6), texts, numbers, numbers)
batches = st.builds(
    Batch, texts, texts, numbers, frames, frames, numbers, numbers, st.none() | marks, numbers
)
answers = st.builds(
    Answer,
    numbers,
    numbers,
    numbers,
    numbers,
    numbers,
    st.booleans(),
    st.none() | st.sampled_from(ErrorCode),
)


def golden(name: str) -> bytes:
    stored = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    return bytes.fromhex(stored["hex"])


@given(batches, st.none() | st.builds(SessionMeta, texts, texts, texts), st.booleans())
def test_a_batch_that_was_sent_reads_as_equal(
    batch: Batch, meta: SessionMeta | None, recovered: bool
) -> None:
    sent = request_to_bytes(batch, meta, recovered=recovered)
    assert request_from_bytes(sent) == (batch, meta, recovered and meta is not None)


@given(texts, texts, answers)
def test_an_answer_that_was_sent_reads_as_equal(session: str, epoch: str, answer: Answer) -> None:
    data = answer_to_bytes(session, epoch, answer)
    assert answer_from_bytes(data) == (session, epoch, answer)


OPENED = Batch("s1", EPOCH, 1, [(1, STARTING)], [(2, b""), (4, STARTING)], through=4)
ENDED = Batch("s1", EPOCH, 2, [], [], 9, 8, EndMark(4, "closed", 9, 8))
LOST = Batch("s1", EPOCH, 3, lost_priority=7)


@pytest.mark.requirement("G-WIRE-1")
@pytest.mark.parametrize(
    ("name", "batch", "meta"),
    [
        ("publish_open", OPENED, SessionMeta("Fix the build", "pi", "1.2.3")),
        ("publish_end", ENDED, None),
        ("publish_lost_priority", LOST, None),
    ],
)
def test_the_golden_batches_read_and_write_the_same(
    name: str, batch: Batch, meta: SessionMeta | None
) -> None:
    assert request_from_bytes(golden(name)) == (batch, meta, False)
    assert request_to_bytes(batch, meta) == golden(name)


@pytest.mark.requirement("G-WIRE-1")
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("published", Answer(1, 1, 4, late_trace=1)),
        ("published_missing", Answer(2, 0, 0, missing_from=3)),
        ("published_sealed", Answer(3, 0, 0, sealed=True)),
        ("published_refused", Answer(4, 0, 0, code=ErrorCode.UNSUPPORTED_INPUT)),
    ],
)
def test_the_golden_answers_read_and_write_the_same(name: str, answer: Answer) -> None:
    assert answer_from_bytes(golden(name)) == ("s1", EPOCH, answer)
    assert answer_to_bytes("s1", EPOCH, answer) == golden(name)


def test_half_a_character_of_a_title_or_reason_is_sent_as_unknown() -> None:
    batch = Batch("s1", EPOCH, 1, end=EndMark(4, "\ud83d", 1, 0))
    read, meta, _ = request_from_bytes(request_to_bytes(batch, SessionMeta("a\udc00")))
    assert read.end == EndMark(4, "\ufffd", 1, 0)
    assert meta == SessionMeta("a\ufffd")


def test_a_code_from_a_newer_hub_reads_as_internal() -> None:
    response = agent_gateway_pb2.PublishFrameResponse(batch=1, code="out_of_cheese")
    assert answer_from_bytes(response.SerializeToString())[2].code is ErrorCode.INTERNAL


def test_bytes_that_are_no_message_are_refused_or_unknown() -> None:
    with pytest.raises(MalformedRequestError):
        request_from_bytes(b"\xff\xff")
    with pytest.raises(OperationError) as caught:
        answer_from_bytes(b"\xff\xff")
    assert caught.value.code is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("method", "service"),
    [
        (PUBLISH_FRAME, agent_gateway_pb2.DESCRIPTOR.services_by_name["AgentGatewayService"]),
        (SUBSCRIBE, compass_pb2.DESCRIPTOR.services_by_name["CompassService"]),
    ],
)
def test_the_methods_are_those_of_the_contract(method: tuple[str, str], service: object) -> None:
    assert getattr(service, "full_name", None) == method[0]
    assert method[1] in getattr(service, "methods_by_name", {})
