"""The bytes of a journal: a head, then records. What is torn ends it; all before that is used.

A record is its length and its checksum, 4 bytes each, little-endian, then so many bytes. A length
of 0 ends the journal. The checksum is seeded with the epoch, so that nothing that an agent printed
can pass for a record.
"""

from __future__ import annotations

__all__ = (
    "STOP",
    "JournalContents",
    "JournalHead",
    "KeptFrame",
    "pack_end",
    "pack_frame",
    "pack_head",
    "pack_refused",
    "seed_of",
    "unpack",
)

import json
import struct
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.wire import EndMark, SessionMeta

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"compass journal\n"
_VERSION = 1

_RECORD = struct.Struct("<II")
_FRAME = struct.Struct("<cQQ")
_FRAME_KIND, _REFUSED_KIND, _END_KIND = b"F", b"R", b"E"

STOP = bytes(_RECORD.size)
"""What stands behind the last record."""


@dataclass(frozen=True, slots=True)
class JournalHead:
    """Whose frames a journal holds.

    Attributes:
        session: The session.
        epoch: The epoch of its writer.
        log: The URL of the log that they are for.
        meta: What the log is told about the session.
    """

    session: str
    epoch: str
    log: str
    meta: SessionMeta = field(default_factory=SessionMeta)


class KeptFrame(NamedTuple):
    """A priority frame, its place, and the place of the priority frame before it (0: none)."""

    seq: int
    prev_priority: int
    data: bytes


@dataclass(frozen=True, slots=True)
class JournalContents:
    """What a journal holds.

    Attributes:
        head: Whose it is.
        frames: Frames that were not acknowledged, and possibly some that were, ascending.
        end: The end mark; None: the writer did not come to its end.
        refused: The places and bytes of frames that the log refused for good.
    """

    head: JournalHead
    frames: list[KeptFrame] = field(default_factory=list[KeptFrame])
    end: EndMark | None = None
    refused: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])


def _record(payload: bytes, seed: int) -> bytes:
    return _RECORD.pack(len(payload), crc32(payload, seed)) + payload


def seed_of(epoch: str) -> int:
    """Return the seed of the checksums of an epoch's records."""
    return crc32(epoch.encode())


def pack_head(head: JournalHead) -> bytes:
    """Return how a journal begins."""
    return _MAGIC + _record(json.dumps({"version": _VERSION, **asdict(head)}).encode(), 0)


def pack_frame(frame: KeptFrame, seed: int) -> bytes:
    """Return the record of a frame."""
    seq, prev_priority, data = frame
    return _record(_FRAME.pack(_FRAME_KIND, seq, prev_priority) + data, seed)


def pack_refused(seq: int, data: bytes, seed: int) -> bytes:
    """Return the record of a frame that was refused."""
    return _record(_FRAME.pack(_REFUSED_KIND, seq, 0) + data, seed)


def pack_end(end: EndMark, seed: int) -> bytes:
    """Return the record of an end mark."""
    return _record(_END_KIND + json.dumps(asdict(end)).encode(), seed)


def unpack(data: bytes) -> JournalContents:
    """Return what these bytes hold, as far as they are whole.

    Raises:
        OperationError: `unsupported_input`: they do not begin with a head of this version, or hold
            a whole record that no writer makes.
    """
    try:
        return _unpack(data)
    except (
        struct.error,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
    ) as error:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT) from error


def _unpack(data: bytes) -> JournalContents:
    head, start = _unpack_head(data)
    contents = JournalContents(head)
    last = 0
    end: EndMark | None = None
    for payload in _payloads(data, start, seed_of(head.epoch)):
        if payload[:1] == _END_KIND:
            end = EndMark(**json.loads(payload[1:]))
            _check_types(end, EndMark(0, "", 0, 0))
            break
        kind, seq, prev_priority = _FRAME.unpack_from(payload)
        body = payload[_FRAME.size :]
        if kind == _REFUSED_KIND:
            contents.refused.append((seq, body))
        elif seq > last:
            contents.frames.append(KeptFrame(seq, prev_priority, body))
            last = seq
        else:  # left over from before the writer began anew at the top
            break
    return JournalContents(head, contents.frames, end, contents.refused)


def _unpack_head(data: bytes) -> tuple[JournalHead, int]:
    """Return the head, and where the records begin."""
    first = next(_payloads(data, len(_MAGIC), 0), None)
    if not data.startswith(_MAGIC) or first is None:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    told = json.loads(first)
    version, meta = told.pop("version"), SessionMeta(**told.pop("meta"))
    head = JournalHead(**told, meta=meta)
    _check_types(head, JournalHead("", "", ""))
    _check_types(meta, SessionMeta())
    if version != _VERSION:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    return head, len(_MAGIC) + _RECORD.size + len(first)


def _check_types(found: JournalHead | SessionMeta | EndMark, like: object) -> None:
    """Check that each field has the type that it has in `like`.

    Raises:
        TypeError: One has not.
    """
    for name in found.__dataclass_fields__:
        if type(getattr(found, name)) is not type(getattr(like, name)):
            raise TypeError(name)


def _payloads(data: bytes, offset: int, seed: int) -> Iterator[bytes]:
    """Give the records from `offset` on, up to the end or to what is torn."""
    while offset + _RECORD.size <= len(data):
        length, checksum = _RECORD.unpack_from(data, offset)
        offset += _RECORD.size
        payload = data[offset : offset + length]
        if not length or len(payload) < length or crc32(payload, seed) != checksum:
            return
        offset += length
        yield payload
