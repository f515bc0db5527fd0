"""The JSON of a message's piece is made by hand, and is to the byte what protobuf makes."""

from __future__ import annotations

import pytest
from google.protobuf.json_format import MessageToJson
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.errors.codes import OperationError
from compass_agent.frames import SessionFrame, as_state
from compass_agent.wire import FrameItem, item_to_json, item_to_subscriber_frame
from hostile import HOSTILE

words = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"])))


@st.composite
def frames(draw: st.DrawFn) -> SessionFrame:
    frame = SessionFrame(state=as_state(draw(st.sampled_from([0, 0, 0, 3, 99]))))
    event = frame.typed_event
    event.event_id = draw(words)
    event.at_unix_ms = draw(st.sampled_from([0, 1, -1, 2**63 - 1]))
    kind = draw(st.sampled_from(["assistant_text", "thinking", "prompt"]))
    piece = getattr(event, kind)
    piece.SetInParent()
    piece.text, piece.message_id = draw(words), draw(words)
    return frame


@given(
    frame=frames(),
    session=words,
    epoch=words,
    seq=st.sampled_from([0, 1, 2**64 - 1]),
    late=st.booleans(),
)
def test_a_piece_is_what_protobuf_makes_of_it(
    *, frame: SessionFrame, session: str, epoch: str, seq: int, late: bool
) -> None:
    item = FrameItem(epoch, seq, frame.SerializeToString(), late=late)
    plain = MessageToJson(item_to_subscriber_frame(session, item), indent=None)
    assert item_to_json(session, item) == plain


def test_bytes_that_are_no_frame_are_refused() -> None:
    with pytest.raises(OperationError):
        item_to_json("s", FrameItem("0" * 16, 1, b"\xff"))
