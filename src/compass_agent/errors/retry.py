"""Reads how long a provider asks to wait, from its headers, its body or its text. Never raises."""

from __future__ import annotations

__all__ = ("header_fields", "retry_after_seconds", "seconds_in_text", "wait_after")

import math
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from compass_agent.errors.shapes import as_list, as_object, is_list, is_object, parsed_json, word
from compass_agent.errors.times import duration_s, epoch_s, http_date_s, number, timestamp_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_LONGEST_WAIT = 86_400.0
_SMALLEST_EPOCH = 1e9
_DEEPEST = 6
_WAITING = frozenset({408, 425, 429})
_FORBIDDEN = 403
_SERVER = 500
_MOST_VALUES = 400
_LONGEST_TEXT = 65_536

_BARE_RESETS = ("x-ratelimit-reset", "x-rate-limit-reset")
_WINDOW_RESET = re.compile(
    r"(?:x-|anthropic-)?(?:rate-?limit[a-z]*|priority)-(?:[a-z0-9-]+-)?reset(?:-[a-z0-9-]+)?"
)
_LISTED_WINDOW = re.compile(r";\s*(r|t)\s*=\s*([0-9]{1,10})(?![0-9.])")
_OLD_WINDOW = re.compile(r"\b(remaining|reset)\s*=\s*([0-9]{1,10})(?![0-9.])", re.IGNORECASE)
_ASKS = (
    r"(?:try again|retry|retry after|reset|resets|available again|wait|replenished)(?: again)?"
    r"(?: in| after| for)?:?[ ]{1,3}(?:about |approximately |at least )?"
)
_UNIT = (
    r"(?:milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|ms|[smhd])(?![A-Za-z0-9'_-])"
)
_IN_TEXT = re.compile(
    rf"{_ASKS}(?:(?P<clock>(?:[0-9]{{1,3}}\.)?[0-9]{{1,2}}:[0-9]{{2}}:[0-9]{{2}})(?![0-9:])"
    r"|(?P<go>[0-9]{1,10}(?:\.[0-9]{1,12})?(?:ms|[smhd])(?:[0-9][0-9a-z.]{0,40})?)"
    r"(?![a-z])(?![ ][0-9])"
    rf"|(?P<span>[0-9]{{1,10}}(?:\.[0-9]{{1,12}})?[ ]?{_UNIT}"
    rf"(?:(?:,? and|,)?[ ][0-9]{{1,4}}(?:\.[0-9]{{1,12}})?[ ]?{_UNIT}){{0,3}}))",
    re.IGNORECASE,
)
_SPAN_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)[ ]?([a-z]+)", re.IGNORECASE)
_HINT = re.compile(
    r"\bretry[-_]after[-_]ms[\"']?\s{0,4}[=:]\s{0,4}([0-9]{1,10})(?![0-9])", re.IGNORECASE
)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BODY_SECONDS = (
    "retry_after",
    "retryAfter",
    "retry_after_seconds",
    "retry_after_s",
    "retryAfterSeconds",
)
_BODY_MILLISECONDS = ("retry_after_ms", "retryAfterMs")


def retry_after_seconds(
    headers: object = None, body: object = None, now: object = None
) -> float | None:
    """Return how many seconds a failed answer asks to wait; None when it does not say.

    In this order: `retry-after-ms`; `Retry-After`; RetryInfo in the body; `RateLimit` with nothing
    remaining; the resets of exhausted windows; a number in the text. The result is between 0 and
    86,400; nonsense is ignored. Call it for failures only: good answers have windows too.

    Args:
        headers: A mapping, or pairs, of names and values; names in any case.
        body: The body: text, bytes, or what JSON made of it.
        now: The moment of the answer, for hints that name a moment: a datetime, epoch seconds, or
            one of both as text. Without it the answer's Date counts, else the clock.

    >>> from compass_agent.errors import retry_after_seconds
    >>> retry_after_seconds({"Retry-After": "30"})
    30.0
    """
    fields = header_fields(headers)
    value = _value(body)
    values = list(_inside(value))
    for item in values:
        inner = as_object(item).get("headers")
        fields = {**header_fields(inner), **fields} if is_object(inner) else fields
    date = http_date_s(fields.get("date", ""))
    moment = _epoch(now, date)
    seconds = _first(
        _asked(fields, moment if date is None else date),
        _retry_info(values),
        _rate_limit(fields.get("ratelimit", "")),
        _resets(fields, moment, moment if date is None else date),
        _in_texts(values),
    )
    return None if seconds is None else min(max(seconds, 0.0), _LONGEST_WAIT)


def wait_after(
    status: int | None, headers: object, body: object, now: object = None, *, limited: bool = False
) -> float | None:
    """Return the wait after a failure with `status`.

    As `retry_after_seconds`, but windows of a rate limit count only where waiting can help: some
    services send them with every answer, a 404 too.

    Args:
        status: The HTTP status; 0 or None without one.
        headers: As for `retry_after_seconds`; so are `body` and `now`.
        body: The body.
        now: The moment of the answer.
        limited: The text tells of a rate limit, which some services answer with 403.
    """
    limited = limited and status == _FORBIDDEN
    if status and status < _SERVER and status not in _WAITING and not limited:
        fields = header_fields(headers)
        headers = {name: value for name, value in fields.items() if "limit" not in name}
    return retry_after_seconds(headers, body, now)


def seconds_in_text(text: str) -> float | None:
    """Return the wait that a sentence names, such as "try again in 9.816s"; None without one."""
    text = text[:_LONGEST_TEXT]
    hint = _HINT.search(text)
    if hint is not None:
        return int(hint[1]) / 1000
    match = _IN_TEXT.search(text)
    if match is None:
        return None
    if match["go"]:
        return duration_s(match["go"].rstrip(".").lower())
    if match["clock"]:
        days, _, clock = match["clock"].rpartition(".")
        hours, minutes, seconds = map(int, clock.split(":"))
        return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60.0 + seconds
    parts = _SPAN_PART.findall(match["span"])
    return sum(_seconds(float(amount), unit.lower()) for amount, unit in parts)


def _seconds(amount: float, unit: str) -> float:
    milliseconds = unit.startswith(("ms", "mil"))
    return amount / 1000 if milliseconds else amount * _UNITS[unit[0]]


def _first(*candidates: float | None) -> float | None:
    return next((seconds for seconds in candidates if seconds is not None), None)


def header_fields(headers: object) -> dict[str, str]:
    """Return the text fields of `headers`, a mapping or pairs, with names in lower case."""
    try:
        pairs = _pairs(headers)
    except Exception:  # noqa: BLE001 - headers of any class: one that fails has none
        return {}
    return {
        name: value
        for pair in pairs
        if is_list(pair)
        and len(pair) == 2  # noqa: PLR2004 - a name and a value
        and (name := _header_text(pair[0]).lower())
        and (value := _header_text(pair[1]))
    }


def _pairs(headers: object) -> list[object] | tuple[object, ...]:
    items: Callable[[], Iterable[object]] | None = getattr(headers, "items", None)
    return list(items()) if callable(items) else as_list(headers)


def _header_text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1").strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if is_list(value) and value:
        return _header_text(value[0])
    return word(value)


def _value(body: object) -> object:
    if isinstance(body, bytes | bytearray):
        body = body.decode(errors="replace")
    if isinstance(body, str):
        value = parsed_json(body)
        return body if value is None else value
    return body


def _inside(value: object) -> Iterator[object]:
    """Yield `value` and what it holds, also what is JSON inside a text; bounded."""
    left = _MOST_VALUES
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting and left:
        left -= 1
        item, depth = waiting.pop(0)
        if isinstance(item, str):
            inner = parsed_json(item) if depth else None
            yield item
            items: Iterable[object] = () if inner is None else (inner,)
        else:
            yield item
            items = item.values() if is_object(item) else as_list(item)
        if depth < _DEEPEST:
            waiting += [(child, depth + 1) for child in items]


def _epoch(now: object, date: float | None) -> float:
    if isinstance(now, datetime):
        return (now if now.tzinfo else now.replace(tzinfo=UTC)).timestamp()
    if isinstance(now, str):
        said = _first(timestamp_s(now), http_date_s(now), epoch_s(now))
        now = said
    if isinstance(now, int | float) and math.isfinite(now):
        return float(now)
    return time.time() if date is None else date


def _asked(fields: Mapping[str, str], moment: float) -> float | None:
    said = fields.get("retry-after-ms", fields.get("x-ms-retry-after-ms", ""))
    milliseconds = number(said)
    if milliseconds is not None and milliseconds >= 0:
        return milliseconds / 1000
    text = fields.get("retry-after", fields.get("x-retry-after", ""))
    seconds = number(text)
    if seconds is not None:
        return seconds if seconds >= 0 else None  # no header has that
    date = http_date_s(text)
    return None if date is None else date - moment


def _retry_info(values: list[object]) -> float | None:
    for item in values:
        if not is_object(item):
            continue
        kind = item.get("@type")
        if isinstance(kind, str) and kind.endswith("RetryInfo"):
            return _span(item.get("retryDelay", item.get("retry_delay")))
    objects = [item for item in values if is_object(item)]
    for keys, factor in ((_BODY_MILLISECONDS, 1000), (_BODY_SECONDS, 1)):
        for item in objects:
            found = _first(*(_span(item.get(key)) for key in keys))
            if found is not None:
                return found / factor
    return None


def _span(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return number(f"{value:.6f}") if abs(value) < 1e10 else None  # noqa: PLR2004 - as `number`
    if is_object(value):
        seconds, nanos = _span(value.get("seconds")), _span(value.get("nanos"))
        return None if seconds is None else seconds + (nanos or 0.0) * 1e-9
    text = word(value)
    return _first(duration_s(text), number(text))


def _rate_limit(text: str) -> float | None:
    """Read `"name";r=0;t=295`, or the older `limit=10, remaining=0, reset=50`."""
    waits: list[float] = []
    for part in text.split(",") if ";" in text else ():
        facts = dict(_LISTED_WINDOW.findall(part))
        if int(facts.get("r", "1")) == 0 and "t" in facts:
            waits.append(float(facts["t"]))
    old = {name.lower(): value for name, value in _OLD_WINDOW.findall(text)}
    if int(old.get("remaining", "1")) == 0 and "reset" in old:
        waits.append(float(old["reset"]))
    return max(waits, default=None)


def _resets(fields: Mapping[str, str], now: float, date: float) -> float | None:
    """Return the longest wait of the windows that are, or may be, exhausted."""
    waits: list[float] = []
    for name, text in fields.items():
        bare = name in _BARE_RESETS
        if not bare and not (_WINDOW_RESET.fullmatch(name) and _exhausted(name, fields)):
            continue
        wait = _reset_wait(text, now if bare else date)
        if wait is not None:
            waits.append(wait)
    return max(waits, default=None)


def _exhausted(name: str, fields: Mapping[str, str]) -> bool:
    head, _, tail = name.rpartition("reset")
    if fields.get(f"{head}status{tail}", "").startswith("allowed"):
        return False
    remaining = fields.get(f"{head}remaining{tail}")
    return remaining is None or number(remaining) == 0


def _reset_wait(text: str, moment: float) -> float | None:
    plain = number(text)
    if plain is not None and plain < _SMALLEST_EPOCH:
        return plain
    moment_named = _first(epoch_s(text), timestamp_s(text), http_date_s(text))
    return duration_s(text) if moment_named is None else moment_named - moment


def _in_texts(values: list[object]) -> float | None:
    texts = (value for value in values if isinstance(value, str))
    return _first(*(seconds_in_text(text) for text in texts))
