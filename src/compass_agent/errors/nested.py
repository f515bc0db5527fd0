"""Masks secrets in values of mappings and lists, as JSON is, and of what Python has besides."""

from __future__ import annotations

__all__ = ("redact_value",)

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from compass_agent.errors.foreign import said
from compass_agent.errors.marks import MASK
from compass_agent.errors.redaction import redact
from compass_agent.errors.secret_names import Secrecy, looks_secret, secrecy
from compass_agent.errors.shapes import is_list, is_object, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DEEPEST = 64
_PAIR = 2
# Names whose text is masked here, although in a sentence they say little.
_ALWAYS = frozenset({"auth", "bearer"})


class _Walk(NamedTuple):
    """What masking one value needs: the registered values, and what is being walked through."""

    secrets: tuple[str, ...]
    open: set[int]


def redact_value(value: object, secrets: Iterable[str] = ()) -> object:
    """Return `value` with secrets masked in every text in it, at any depth; names become texts.

    What stands under a name such as `api_key`, `openaiKey` or `authorization` is masked as a whole,
    whether text, number, list or mapping; None, True and False stay. So is the second of a pair
    whose first is such a name, as headers are, what lies deeper than 64 levels, and a value within
    itself. Bytes and exceptions become texts, sets become lists.

    Args:
        value: A text, a mapping, a list or tuple, or anything else.
        secrets: Values that must not appear.
    """
    return _masked(value, _Walk(tuple(secrets), set()))


def _masked(value: object, walk: _Walk) -> object:
    if isinstance(value, str):
        return redact(value, walk.secrets)
    if isinstance(value, bytes | bytearray):
        return redact(value.decode(errors="replace"), walk.secrets)
    if isinstance(value, BaseException):
        return redact(valid_text(said(value)), walk.secrets)
    if not (is_object(value) or is_list(value) or _is_set(value)):
        return value
    if id(value) in walk.open or len(walk.open) >= _DEEPEST:
        return MASK
    walk.open.add(id(value))
    try:
        if is_object(value):
            return _masked_object(value, walk)
        if is_list(value):
            return _masked_list(value, walk)
        return [_masked(item, walk) for item in _in_order(value)] if _is_set(value) else value
    finally:
        walk.open.discard(id(value))


def _masked_object(value: Mapping[str, object], walk: _Walk) -> dict[str, object]:
    masked: dict[str, object] = {}
    for key, item in value.items():
        name = _name(key)  # JSON's names are texts; a mapping of Python may have any
        shown = redact(name, walk.secrets)
        masked[shown] = MASK if _hides(name, item) else _masked(item, walk)
    # A header, a variable or a field as an object of its own.
    named = value.get("name", value.get("key"))
    if isinstance(named, str) and _hides(named, value.get("value")):
        masked["value"] = MASK
    return masked


def _masked_list(items: list[object] | tuple[object, ...], walk: _Walk) -> list[object]:
    if len(items) == _PAIR and isinstance(items[0], str | bytes):
        name = _name(items[0])
        # A list of two names is no pair of name and value: only headers come as lists.
        if _hides(name, items[1]) and (isinstance(items, tuple) or "-" in name or _is_header(name)):
            return [redact(name, walk.secrets), MASK]
    before = (None, *items)
    return [
        MASK if _is_option_value(option, item) else _masked(item, walk)
        for option, item in zip(before, items, strict=False)
    ]


def _is_option_value(option: object, value: object) -> bool:
    """Tell whether `value` is what an option such as `--api-key` takes, in a list of arguments."""
    if not isinstance(option, str) or not isinstance(value, str) or not option.startswith("--"):
        return False
    return "=" not in option and not value.startswith("-") and _is_secret_option(option, value)


def _is_secret_option(option: str, value: str) -> bool:
    return bool(value) and secrecy(option) >= Secrecy.TOKEN


def _is_header(name: str) -> bool:
    return name.lower() in ("authorization", "cookie")


def _name(key: object) -> str:
    return key.decode(errors="replace") if isinstance(key, bytes) else str(key)


def _hides(name: str, value: object) -> bool:
    """Tell whether `value` is a secret by its name."""
    level = Secrecy.SURE if name.lower() in _ALWAYS else secrecy(name)
    if (
        level is Secrecy.NONE
        or value is None
        or isinstance(value, bool)
        or value in ("", b"", MASK)
    ):
        return False
    if level is Secrecy.SURE:
        return not (_is_container(value) and not value)
    return isinstance(value, str) and " " not in value and looks_secret(value)


def _is_container(value: object) -> bool:
    return is_object(value) or is_list(value) or _is_set(value)


def _is_set(value: object) -> TypeGuard[AbstractSet[object]]:
    return isinstance(value, AbstractSet)


def _in_order(value: AbstractSet[object]) -> list[object]:
    """Return what a set holds, in an order that does not change from run to run."""
    return sorted(value, key=repr)
