"""Makes a readable text of HTML and XML bodies."""

from __future__ import annotations

__all__ = ("markup_text",)

import re

_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_XML = re.compile(r"(?:<\?xml\b[^>]{0,200}\?>\s*)?<(?:[A-Za-z]{1,30}:)?(?:Error|ErrorResponse)\b")
_TITLE = re.compile(r"<title\b[^>]{0,200}>([^<]{1,300})", re.IGNORECASE)
_HEADING = re.compile(r"<h[12]\b[^>]{0,200}>([^<]{1,300})", re.IGNORECASE)
_MESSAGE = re.compile(r"<Message>([^<]{1,8192})")
_CODE = re.compile(r"<Code>([A-Za-z][A-Za-z0-9_.]{1,79})<")
_REQUEST_ID = re.compile(r"<Request(?:Id|ID)>([A-Za-z0-9_=+/-]{1,120})<")
_HIDDEN = re.compile(r"<(script|style|head)\b.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_BLANKS = re.compile(r"\s+")
# A title stands near the top; what a proxy says before its page is short.
_LONGEST_PAGE = 65_536
_LONGEST_COMMENT = 262_144
_LONGEST_PREFIX = 200
_LONGEST_TEXT = 500


def markup_text(text: str) -> tuple[str, str, str] | None:
    """Return the title of a page, or the message of an XML error with its code and request id.

    None when `text` is neither. The title is empty when the page has no text at all.
    """
    if "<" not in text[:_LONGEST_PREFIX]:
        return None
    page = _without_comments(text)[:_LONGEST_PAGE]
    if _XML.match(page):
        message, code = _MESSAGE.search(page), _CODE.search(page)
        if message is not None:
            request_id = _REQUEST_ID.search(page)
            found = [match[1] if match else "" for match in (code, request_id)]
            return _readable(message[1]), found[0], found[1]
    start = _HTML.search(page, 0, _LONGEST_PREFIX)
    if start is None or "\n\n" in page[: start.start()]:
        return None
    for pattern in (_TITLE, _HEADING):
        match = pattern.search(page)
        if match is not None and (title := _readable(match[1])):
            return title, "", ""
    bare = _TAG.sub(" ", _HIDDEN.sub(" ", page))
    return _readable(bare)[:_LONGEST_TEXT], "", ""


def _without_comments(text: str) -> str:
    """Return `text` without the comments that it begins with: licences, notes of proxies."""
    text = text.lstrip()
    while text.startswith("<!--"):
        _, closed, rest = text[:_LONGEST_COMMENT].partition("-->")
        if not closed:
            break
        text = text[len(text[:_LONGEST_COMMENT]) - len(rest) :].lstrip()
    return text


def _readable(text: str) -> str:
    import html  # noqa: PLC0415 - few failures need its large table

    return _BLANKS.sub(" ", html.unescape(text)).strip()
