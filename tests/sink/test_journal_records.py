"""The bytes of a journal: what is whole is read, what is torn is not."""

from __future__ import annotations

import struct
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
        b"compass journal\n" + struct.pack("<II", 2, crc32(b"[]")) + b"[]",
        pack_head(HEAD) + struct.pack("<II", 2, crc32(b"Fx", SEED)) + b"Fx",
    ],
    ids=["empty", "cut", "torn", "changed", "another file", "no head", "no record"],
)
def test_what_no_writer_makes_is_refused(data: bytes) -> None:
    with pytest.raises(OperationError):
        unpack(data)
