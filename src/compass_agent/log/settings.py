"""What a log's URL may say of how it is kept: `?trace_frames=10000&ended_age=7d`."""

from __future__ import annotations

__all__ = (
    "Durability",
    "parse_count",
    "parse_duration",
    "parse_settings",
    "parse_size",
    "split_settings",
)

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.log.retention import Retention

Durability = Literal["normal", "full"]

_SETTINGS = re.compile(
    r"(?P<rest>.*?)\?(?P<settings>[a-z_]+=[^?&=]*(?:&[a-z_]+=[^?&=]*)*)", re.DOTALL
)
_NUMBER = re.compile(r"(\d{1,18}(?:\.\d{1,9})?) ?([A-Za-z]*)", re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_BYTES = {"": 1, "b": 1} | {
    unit: base**power
    for power, letter in enumerate("kmgt", 1)
    for unit, base in ((letter, 1024), (f"{letter}ib", 1024), (f"{letter}b", 1000))
}
_NO_LIMIT = "none"


def split_settings(text: str) -> tuple[str, str]:
    """Return what stands before the settings of a URL, and these; "" when there are none.

    A question mark that no `name=value` follows belongs to the name of a file.
    """
    found = _SETTINGS.fullmatch(text)
    return (text, "") if found is None else (found["rest"], found["settings"])


def parse_settings(
    settings: str, retention: Retention, durability: Durability
) -> tuple[Retention, Durability]:
    """Return `retention` and `durability` with what `settings` says instead.

    Raises:
        OperationError: `unsupported_input`: a name that means nothing, or no such value.
    """
    limits: dict[str, int | float | None] = {}
    for setting in settings.split("&") if settings else ():
        name, _, value = setting.partition("=")
        try:
            if name == "durability":
                durability = _durability(value)
            else:
                field, parse = _LIMITS[name]
                limits[field] = None if value == _NO_LIMIT else parse(value)
        except (KeyError, ValueError) as error:
            raise OperationError(ErrorCode.UNSUPPORTED_INPUT) from error
    return replace(retention, **limits), durability


def parse_duration(text: str) -> float:
    """Return the seconds that `text` says: `90`, `90s`, `5m`, `12h`, `30d`, `2w`.

    Raises:
        ValueError: It says none.
    """
    return _parse(text, _SECONDS)


def parse_size(text: str) -> int:
    """Return the bytes that `text` says: `4096`, `64KiB`, `500MB`, `2GiB`, `2G` (as GiB).

    Raises:
        ValueError: It says none.
    """
    return round(_parse(text, _BYTES))


def _parse(text: str, units: dict[str, int]) -> float:
    found = _NUMBER.fullmatch(text.strip())
    unit = None if found is None else units.get(found[2].lower())
    if found is None or unit is None:
        raise ValueError(text)
    return float(found[1]) * unit


def parse_count(text: str) -> int:
    """Return the whole number that `text` says.

    Raises:
        ValueError: It says none.
    """
    if not text.isascii() or not text.isdigit() or len(text) > 18:  # noqa: PLR2004 - what SQLite's integers hold
        raise ValueError(text)
    return int(text)


def _durability(text: str) -> Durability:
    if text == "full":
        return "full"
    if text == "normal":
        return "normal"
    raise ValueError(text)


_LIMITS: dict[str, tuple[str, Callable[[str], int | float]]] = {
    "trace_frames": ("trace_frames", parse_count),
    "trace_bytes": ("trace_bytes", parse_size),
    "trace_age": ("trace_age_s", parse_duration),
    "ended_age": ("ended_age_s", parse_duration),
    "total_bytes": ("total_bytes", parse_size),
}
