"""Makes text of a body's bytes: unpacked, decoded, and empty when nobody could read it."""

from __future__ import annotations

__all__ = ("body_text",)

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_BYTES = 4_194_304
_GZIP = b"\x1f\x8b"
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_CHARSET = re.compile(r"charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_UNREADABLE = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_HEAD = 4096
# A cut character, or a few of another encoding, spoil no text.
_MOST_UNREADABLE = 0.1


def body_text(body: bytes | bytearray | str, fields: Mapping[str, str]) -> str:
    """Return the text of `body`, at most its first 4 MiB. Never raises.

    Args:
        body: What came. A gzip is unpacked whatever the headers say: some proxies forget them.
        fields: The headers, names in lower case; `content-encoding` and `content-type` count.
    """
    if isinstance(body, str):
        text = body[:_MOST_BYTES]
    else:
        text = _decoded(_unpacked(bytes(body[:_MOST_BYTES]), fields), fields)
    text = text.removeprefix("\ufeff")
    head = text[:_HEAD]
    return "" if len(_UNREADABLE.findall(head)) > _MOST_UNREADABLE * len(head) else text


def _unpacked(body: bytes, fields: Mapping[str, str]) -> bytes:
    encoding = fields.get("content-encoding", "").lower()
    if body.startswith(_GZIP):
        windows = (47,)
    elif "deflate" in encoding:
        windows = (15, -15)  # with a header, as it should be, and as some send it
    else:
        return body
    import zlib  # noqa: PLC0415 - few bodies are packed

    for bits in windows:
        try:
            # What was cut still gives its beginning; what unpacks to gigabytes, no more than this.
            return zlib.decompressobj(bits).decompress(body, _MOST_BYTES)
        except zlib.error:
            continue
    return body


def _decoded(body: bytes, fields: Mapping[str, str]) -> str:
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body.decode(encoding, errors="replace")
    named = _CHARSET.search(fields.get("content-type", ""))
    if named is not None:
        try:
            return body.decode(named[1], errors="replace")
        except (LookupError, ValueError):  # no such encoding, or none for text
            pass
    return body.decode(errors="replace")
