"""Masks private keys in PEM, whole or cut, with line ends as they are or escaped."""

from __future__ import annotations

__all__ = ("without_private_keys",)

import re

from compass_agent.errors.marks import cut

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# What the block holds, and what line ends look like in a text that was escaped.
_BODY = r"[A-Za-z0-9+/=\s\\]"
_BODY_BACKWARDS = re.compile(rf"{_BODY}*")
_FIRST_LINE = re.compile(r"(?:\s|\\+[nr])*(?:[A-Za-z0-9+/=]{16}|Proc-Type|Version:|Comment:)")
_SHORTEST_BODY = 16


def without_private_keys(text: str) -> str:
    """Return `text` with the blocks of private keys masked, also of those that were cut."""
    if "PRIVATE KEY" not in text:
        return text
    spans: list[tuple[int, int]] = []
    done = 0
    for end in _END.finditer(text):
        begin = _BEGIN.search(text, done, end.start())
        if begin is not None:
            spans.append((begin.start(), end.end()))
        else:
            # The text begins in the middle of the block.
            body = _BODY_BACKWARDS.match(text[done : end.start()][::-1])
            length = len(body[0].rstrip()) if body else 0
            if length >= _SHORTEST_BODY:
                spans.append((end.start() - length, end.end()))
        done = end.end()
    begin = _BEGIN.search(text, done)
    if begin is not None and _FIRST_LINE.match(text, begin.end()):
        spans.append((begin.start(), len(text)))
    return cut(text, spans)
