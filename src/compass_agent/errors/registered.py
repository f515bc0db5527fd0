"""Masks values that a host registered: as they are, escaped, or encoded."""

from __future__ import annotations

__all__ = ("Registered", "without_registered")

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from compass_agent.errors.marks import MASK

if TYPE_CHECKING:
    from collections.abc import Iterable

# Shorter values would be found inside ordinary words.
_SHORTEST_SECRET = 4
_SHORTEST_CORE = 6
_RUN = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_MARKED = "&<>\"'"
# As Python, browsers and others name them; a text between elements needs no quotes.
_MARKUP = (
    ("&amp;", "&lt;", "&gt;", "&quot;", "&#x27;"),
    ("&amp;", "&lt;", "&gt;", "&quot;", "&#39;"),
    ("&amp;", "&lt;", "&gt;", "&#34;", "&#39;"),
    ("&amp;", "&lt;", "&gt;", "&quot;", "&apos;"),
    ("&amp;", "&lt;", "&gt;", '"', "'"),
)


class Registered:
    """Masks some values in texts, whatever form a text gives them.

    Args:
        secrets: The values; empty ones are ignored. Forms are known of those with at least four
            characters.
        shortest: Shorter values are ignored.
    """

    def __init__(self, secrets: Iterable[str], shortest: int = 1) -> None:
        values = {secret for secret in secrets if len(secret) >= max(shortest, 1)}
        long = {value for value in values if len(value) >= _SHORTEST_SECRET}
        plain = values | {form for value in long for form in _escaped(value)}
        # Of Base64, what is the value's whatever stands before it.
        cores = {core for value in long for core in _base64(value)}
        self._plain = _any_of(plain)
        self._cores = _any_of(cores)
        self._by_first: dict[str, list[str]] = {}
        for form in plain | cores:
            self._by_first.setdefault(form[0], []).append(form)
        self._first = re.compile("|".join(map(re.escape, self._by_first)) or r"(?!)")
        self._longest = max(map(len, plain | cores), default=0)

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def mask(self, text: str) -> str:
        """Return `text` without the values, and without JSON, URL, HTML or Base64 forms of them."""
        # The mask itself stays whole, even when a value is a part of it.
        text = self._plain.sub(MASK, text)
        if self._cores.search(text):
            # Of the run that holds it all goes: its ends hold bits of the secret too.
            text = MASK.join(_RUN.sub(self._without_core, part) for part in text.split(MASK))
        return text

    def split(self, text: str) -> tuple[str, str]:
        """Split off the longest end of `text` that begins a value, or a form of one."""
        near = max(0, len(text) - self._longest + 1)
        for found in self._first.finditer(text, near):
            tail = text[found.start() :]
            if any(
                len(form) > len(tail) and form.startswith(tail) for form in self._by_first[found[0]]
            ):
                return text[: found.start()], tail
        return text, ""

    def _without_core(self, run: re.Match[str]) -> str:
        return MASK if self._cores.search(run[0]) else run[0]


def without_registered(text: str, secrets: tuple[str, ...]) -> str:
    """Return `text` without `secrets` of four characters or more, in any form."""
    return _registered(secrets).mask(text)


@lru_cache(maxsize=64)
def _registered(secrets: tuple[str, ...]) -> Registered:
    return Registered(secrets, _SHORTEST_SECRET)


def _any_of(forms: Iterable[str]) -> re.Pattern[str]:
    """Return what finds each of `forms`, of two that begin alike the longer one."""
    ordered = sorted(forms, key=len, reverse=True)
    if not ordered:
        return re.compile(r"(?!)")
    return re.compile("|".join(map(re.escape, (MASK, *ordered))))


def _escaped(value: str) -> set[str]:
    from urllib.parse import quote, quote_plus  # noqa: PLC0415 - few hosts register values

    # What reads a page of HTML makes one blank of several.
    forms = {value, repr(value)[1:-1], " ".join(value.split()), *_json(value)}
    for quoted in (
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
    ):
        forms |= {quoted, _PERCENT.sub(lambda code: code[0].lower(), quoted)}
    for names in _MARKUP:
        marked_up = value
        for sign, name in zip(_MARKED, names, strict=True):
            marked_up = marked_up.replace(sign, name)
        forms.add(marked_up)
    # What holds it may be in JSON again.
    forms |= {again for form in forms for again in _json(form)}
    # Go and PHP escape more than they need to.
    forms |= {form.replace("/", "\\/") for form in forms}
    return {form for form in forms if form}


def _json(value: str) -> tuple[str, str]:
    return json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]


def _base64(value: str) -> set[str]:
    """Return what the Base64 of a text holds that has `value` in it, at each of three places."""
    import base64  # noqa: PLC0415 - likewise

    data = value.encode(errors="replace")
    cores: set[str] = set()
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + data).decode()
        core = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        cores |= {core, core.replace("+", "-").replace("/", "_")}
    return {core for core in cores if len(core) >= _SHORTEST_CORE}
