"""The bytes of a journal: what is whole is read, what is torn is not."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.errors.codes import OperationError
from compass_agent.sink.records import (
    STOP,
    JournalHead,
    KeptFrame,
    pack_end,
    pack_frame,
    pack_head,
    pack_refused,
    seed_of,
    unpack,
)
from compass_agent.wire import EndMark, SessionMeta
from journals import EPOCH, HEAD

SEED = seed_of(EPOCH)


def headed(text: bytes) -> bytes:
    """A journal whose head is this text."""
    return b"compass journal\n" + struct.pack("<II", len(text), crc32(text)) + text


def changed(**changes: object) -> bytes:
    """A journal whose head has other values."""
    return headed(json.dumps({"version": 1, **asdict(HEAD), **changes}).encode())


def ending(**changes: object) -> bytes:
    """A journal whose end mark has other values."""
    text = b"E" + json.dumps({**asdict(END), **changes}).encode()
    return pack_head(HEAD) + struct.pack("<II", len(text), crc32(text, SEED)) + text


ONE, TWO = KeptFrame(3, 0, b"one"), KeptFrame(7, 3, b"two" * 20)
END = EndMark(4, "done…", 9, 7)


def test_what_goes_in_comes_out() -> None:
    data = pack_head(HEAD) + pack_refused(2, b"bad", SEED)
    data += pack_frame(ONE, SEED) + pack_frame(TWO, SEED) + pack_end(END, SEED) + STOP

    found = unpack(data)

    assert found.head == HEAD
    assert found.frames == [ONE, TWO]
    assert found.end == END
    assert found.refused == [(2, b"bad")]


@given(st.text(), st.text(), st.lists(st.binary(max_size=50), max_size=5))
def test_any_text_and_any_bytes_survive(log: str, title: str, bodies: list[bytes]) -> None:
    head = JournalHead("s", EPOCH, log, SessionMeta(title))
    frames = [KeptFrame(seq, seq - 1, body) for seq, body in enumerate(bodies, 1)]

    found = unpack(pack_head(head) + b"".join(pack_frame(one, SEED) for one in frames))

    assert (found.head, found.frames) == (head, frames)


@pytest.mark.parametrize("rest", [b"", STOP, b"\xff" * 40], ids=["nothing", "the end", "rubbish"])
def test_a_record_that_is_torn_at_any_byte_leaves_those_before_it(rest: bytes) -> None:
    whole = pack_head(HEAD) + pack_frame(ONE, SEED)
    last = pack_frame(TWO, SEED)

    for length in range(len(last)):
        assert unpack(whole + last[:length] + rest).frames == [ONE], length
    assert unpack(whole + last + rest).frames == [ONE, TWO]


def test_a_flipped_bit_anywhere_in_the_last_record_leaves_those_before_it() -> None:
    whole = pack_head(HEAD) + pack_frame(ONE, SEED)
    last = pack_frame(TWO, SEED)

    for place in range(len(last)):
        torn = bytearray(last)
        torn[place] ^= 0x10
        assert unpack(whole + bytes(torn) + STOP).frames == [ONE], place


def test_what_stands_behind_from_before_is_not_read() -> None:
    old = pack_frame(KeptFrame(5, 0, b"old"), SEED) + pack_frame(KeptFrame(6, 5, b"old"), SEED)
    new = pack_frame(KeptFrame(7, 6, b"new"), SEED)

    over = new + old[len(new) :]

    assert [frame.seq for frame in unpack(pack_head(HEAD) + over).frames] == [7]


def test_a_record_of_another_epoch_does_not_count() -> None:
    foreign = pack_frame(ONE, seed_of("f" * 16))

    assert unpack(pack_head(HEAD) + foreign).frames == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"compass journal\n",
        pack_head(HEAD)[:-1],
        pack_head(HEAD).replace(b'"version": 1', b'"version": 2'),
        b"C" + pack_head(HEAD)[1:],
        headed(b"[]"),
        headed(b"[" * 200_000),
        headed(b'{"a":' * 200_000),
        changed(session=5),
        changed(epoch=None),
        changed(log=["sqlite:/log.db"]),
        changed(meta={"title": 3, "agent": "", "version": ""}),
        changed(meta=[]),
        changed(more=1),
        ending(last_seq="q"),
        ending(prev_priority=None),
        ending(state=4.0),
        ending(reason=5),
        pack_head(HEAD) + struct.pack("<II", 2, crc32(b"Fx", SEED)) + b"Fx",
    ],
    ids=lambda data: f"{len(data)}-{crc32(data):08x}",
)
def test_what_no_writer_makes_is_refused(data: bytes) -> None:
    with pytest.raises(OperationError):
        unpack(data)
