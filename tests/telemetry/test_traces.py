"""An injection carries the trace of whoever sent it, and its receiver goes on with that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from compass_agent import open_session
from compass_agent.runtime.tracing import TRACING
from compass_agent.telemetry import carry_traces, context_of, traces
from compass_agent.testing import capture_frames

if TYPE_CHECKING:
    from collections.abc import Generator

    from compass.v1.compass_pb2 import SessionInjection

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@dataclass
class Spans:
    """A tracer, and the spans that have ended."""

    tracer: trace.Tracer
    ended: InMemorySpanExporter


@dataclass
class Traced:
    """Anything that has a trace context."""

    traceparent: Any


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Generator[Spans]:
    monkeypatch.setattr(TRACING, "current", TRACING.current)
    provider, ended = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(ended))
    yield Spans(provider.get_tracer("tests"), ended)
    provider.shutdown()


def injected(traceparent: str = "") -> SessionInjection:
    """What is told of one injection."""
    with capture_frames() as frames, open_session("s1") as session:
        session.inject("steer", "m1", "@me", traceparent)
    (told,) = [
        frame.typed_event.session_injection
        for frame in frames
        if frame.typed_event.HasField("session_injection")
    ]
    return told


def is_new(traceparent: object) -> bool:
    """Tell whether a span in that context begins a trace of its own."""
    return not trace.get_current_span(context_of(Traced(traceparent))).get_span_context().is_valid


@pytest.mark.requirement("G-OTEL-2")
def test_whoever_receives_an_injection_goes_on_with_its_trace(spans: Spans) -> None:
    carry_traces()
    with spans.tracer.start_as_current_span("send"):
        injection = injected()
    with spans.tracer.start_as_current_span("handle", context=context_of(injection)):
        pass
    sent, handled = spans.ended.get_finished_spans()
    assert sent.context is not None
    assert handled.parent is not None
    assert handled.parent.trace_id == sent.context.trace_id
    assert handled.parent.span_id == sent.context.span_id


@pytest.mark.requirement("G-OTEL-2")
def test_a_trace_context_that_is_given_is_told_as_it_is(spans: Spans) -> None:
    carry_traces()
    with spans.tracer.start_as_current_span("send"):
        assert injected(GIVEN).traceparent == GIVEN
        assert injected("no trace at all").traceparent == "no trace at all"


@pytest.mark.requirement("G-OTEL-2")
def test_without_a_span_or_without_being_asked_nothing_is_made_up(spans: Spans) -> None:
    with spans.tracer.start_as_current_span("send"):
        assert injected().traceparent == ""
    carry_traces()
    assert injected().traceparent == ""


def test_an_injection_goes_on_when_its_trace_context_fails(
    spans: Spans, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    carry_traces()
    monkeypatch.setattr(traces, "_propagator", None)
    with spans.tracer.start_as_current_span("send"):
        assert injected().message_id == "m1"
    assert "without its trace context" in caplog.text


@pytest.mark.requirement("G-OTEL-2")
@pytest.mark.parametrize(
    "malformed",
    ["", "00", GIVEN.upper(), GIVEN + "-x", "ff" + GIVEN[2:], "\ud800", "0" * 9_999, None, 7],
)
def test_a_malformed_trace_context_begins_a_trace_of_its_own(malformed: object) -> None:
    assert is_new(malformed)
    assert not is_new(GIVEN)


@pytest.mark.requirement("G-OTEL-2")
@given(st.text() | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}-?"))
def test_no_trace_context_raises(traceparent: str) -> None:
    context_of(Traced(traceparent))
