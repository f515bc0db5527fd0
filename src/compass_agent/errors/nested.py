"""Masks secrets in values made of mappings and lists, as JSON is."""

from __future__ import annotations

__all__ = ("redact_value",)

import re
from typing import TYPE_CHECKING

from compass_agent.errors.redaction import MASK, redact
from compass_agent.errors.shapes import is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEEPEST = 64
# Names whose value is a secret whatever it looks like, in small letters without signs. "token" is
# none: that may be a word of a text that a model made.
_SECRET_NAMES = re.compile(
    r"(?:.*(?:apikey|password|passwd|passphrase|secret|secretkey|accesskey|accountkey|privatekey|"
    r"signingkey|accesstoken|authtoken|refreshtoken|idtoken|bearertoken|sessiontoken|apitoken|"
    r"connectionstring|credentials?)|(?:proxy)?authorization|(?:set)?cookie|xgoogapikey|pwd|dsn)"
)
_SIGNS = re.compile(r"[^a-z0-9]+")


def redact_value(value: object, secrets: Iterable[str] = ()) -> object:
    """Return `value` with secrets masked in every text in it, at any depth; names become texts.

    The text under a name such as `api_key` or `authorization` is masked as a whole, and so is what
    lies deeper than 64 levels.

    Args:
        value: A text, a mapping, a list or tuple, or anything else.
        secrets: Values that must not appear.
    """
    return _masked(value, tuple(secrets), 0)


def _masked(value: object, secrets: tuple[str, ...], depth: int) -> object:
    if isinstance(value, str):
        return redact(value, secrets)
    if is_object(value):
        if depth >= _DEEPEST:
            return MASK
        return {
            redact(str(key), secrets): MASK
            if _names_secret(str(key), item)
            else _masked(item, secrets, depth + 1)
            for key, item in value.items()
        }
    if is_list(value):
        return MASK if depth >= _DEEPEST else [_masked(item, secrets, depth + 1) for item in value]
    return value


def _names_secret(key: str, value: object) -> bool:
    if not isinstance(value, str) or not value:
        return False
    return _SECRET_NAMES.fullmatch(_SIGNS.sub("", key.lower())) is not None
