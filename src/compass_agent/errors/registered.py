"""Masks values that a host registered: as they are, escaped, or encoded."""

from __future__ import annotations

__all__ = ("without_registered",)

import json
import re
from functools import lru_cache
from typing import NamedTuple

from compass_agent.errors.marks import MASK

# Shorter values would be found inside ordinary words.
_SHORTEST_SECRET = 4
_SHORTEST_CORE = 6
_RUN = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_MARKUP = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;"))


class _Forms(NamedTuple):
    """The forms of some values, longest first; of Base64, what is theirs whatever stands before."""

    plain: tuple[str, ...]
    cores: tuple[str, ...]


def without_registered(text: str, secrets: tuple[str, ...]) -> str:
    """Return `text` without `secrets`, and without JSON, URL, HTML or Base64 forms of them."""
    forms = _forms(secrets)
    for value in forms.plain:
        if value in text:
            # The mask itself stays whole, even when a secret is a part of it.
            text = MASK.join(part.replace(value, MASK) for part in text.split(MASK))
    for core in forms.cores:
        if core in text:
            # Of the run that holds it all goes: its ends hold bits of the secret too.
            text = MASK.join(_without_runs(part, core) for part in text.split(MASK))
    return text


def _without_runs(text: str, core: str) -> str:
    return _RUN.sub(lambda run: MASK if core in run[0] else run[0], text)


@lru_cache(maxsize=64)
def _forms(secrets: tuple[str, ...]) -> _Forms:
    values = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
    plain = {form for value in values for form in (value, *_escaped(value))}
    cores = {core for value in values for core in _base64(value)}
    return _Forms(
        tuple(sorted(plain, key=len, reverse=True)), tuple(sorted(cores, key=len, reverse=True))
    )


def _escaped(value: str) -> set[str]:
    from urllib.parse import quote, quote_plus  # noqa: PLC0415 - few hosts register values

    once = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    forms = once | {json.dumps(form, ensure_ascii=False)[1:-1] for form in once}
    # Go and PHP escape more than they need to.
    forms |= {form.replace("/", "\\/") for form in forms}
    for quoted in (
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
    ):
        forms |= {quoted, _PERCENT.sub(lambda code: code[0].lower(), quoted)}
    marked_up = value
    for sign, name in _MARKUP:
        marked_up = marked_up.replace(sign, name)
    return forms | {marked_up}


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
