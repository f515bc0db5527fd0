"""Reads what an SDK gives, its own objects or plain mappings, by name. Never raises.

No SDK is imported: a part that is missing, or of another type, is empty.
"""

from __future__ import annotations

__all__ = ("arguments_of", "entries", "name_of", "number", "part", "plain", "text")

import json
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from compass_agent.errors.foreign import attribute, called
from compass_agent.errors.shapes import as_list, as_object, is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping


def part(value: object, *names: str) -> object:
    """Return what stands at the path of `names`; None when there is none."""
    for name in names:
        value = value.get(name) if is_object(value) else attribute(value, name)
    return value


def text(value: object, *names: str) -> str:
    """Return the text at the path of `names`; empty when there is none."""
    found = part(value, *names)
    return str(found) if isinstance(found, str) else ""


def number(value: object, *names: str) -> int:
    """Return the whole number at the path of `names`; 0 when there is none."""
    found = part(value, *names)
    return found if isinstance(found, int) else 0


def entries(value: object, *names: str) -> list[object]:
    """Return the list at the path of `names`; empty when there is none."""
    return [*as_list(part(value, *names))]


def name_of(value: object) -> str:
    """Return the name of the class of `value`."""
    return type(value).__name__


def plain(value: object) -> object:
    """Return an SDK's object as plain data where it can be, so that it reads as such."""
    if is_list(value):
        return [plain(item) for item in value]
    if is_object(value):
        return value
    made = called(value, "model_dump")
    if not is_object(made) and is_dataclass(value) and not isinstance(value, type):
        made = {each.name: plain(attribute(value, each.name)) for each in fields(value)}
    return made if is_object(made) else value


def arguments_of(value: object) -> Mapping[str, object]:
    """Return the arguments of a call, which come as a mapping or as its JSON."""
    if not isinstance(value, str):
        return as_object(value)
    try:
        return as_object(json.loads(value))
    except (ValueError, RecursionError):
        return {}
