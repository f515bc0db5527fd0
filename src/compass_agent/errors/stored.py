"""Codes of stored records that do not validate, by the shape of the validation error.

Nothing is imported for it: pydantic and libraries like it give `errors()`, a list of mappings with
`loc` and `type`; others an `issues` or `errors` list with `path`; jsonschema a `path` of its own.
"""

from __future__ import annotations

__all__ = ("code_of_mismatch",)

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode
from compass_agent.errors.foreign import attribute, called, class_names
from compass_agent.errors.shapes import as_list, as_object, is_list, is_object, word

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATES = frozenset({"state", "status"})
# Older pydantic names the root, newer ones leave the path empty.
_ROOTS = frozenset({"__root__", "$", ""})
# What libraries call "this is no record at all": pydantic, pydantic 1, and those that say `code`.
_NOT_THERE = frozenset({"invalid_type", "none_required", "is_instance_of", "type", "missing"})


@dataclass(frozen=True, slots=True)
class _Issue:
    field: str | None
    wrong_type: bool


def code_of_mismatch(error: BaseException) -> ErrorCode | None:
    """Return the code when `error` says that a record does not validate, else None.

    An issue at the root decides first: a wrong type means that nothing is there (`not_found`), any
    other is a guard that only a bug trips (`internal`). Then a field `state` or `status`
    (`not_ready`), then any other field (`conflict`). A field is the first element of a path.
    """
    issues = _issues(error)
    if not issues:
        return None
    root = next((issue for issue in issues if issue.field is None), None)
    if root is not None:
        return ErrorCode.NOT_FOUND if root.wrong_type else ErrorCode.INTERNAL
    if any(issue.field in _STATES for issue in issues):
        return ErrorCode.NOT_READY
    return ErrorCode.CONFLICT


def _issues(error: BaseException) -> list[_Issue]:
    for name in ("errors", "issues"):
        # `called` gives nothing when the method raises, as one whose context has no JSON may.
        found = [
            issue
            for item in as_list(called(error, name))
            if is_object(item) and (issue := _issue(item)) is not None
        ]
        if found:
            return found
    if "ValidationError" in class_names(error) and word(attribute(error, "validator")):
        wrong_type = attribute(error, "validator") == "type"
        return [_Issue(_field(_elements(attribute(error, "absolute_path"))), wrong_type)]
    return []


def _issue(item: Mapping[str, object]) -> _Issue | None:
    path = item.get("loc", item.get("path"))
    if isinstance(path, str):
        path = [part for part in path.removeprefix("$").split(".") if part]
    if not is_list(path):
        return None
    kind = word(item.get("type")) or word(item.get("code"))
    wrong_type = kind.endswith("_type") or kind.startswith("type_error") or kind in _NOT_THERE
    return _Issue(_field(list(path)), wrong_type)


def _field(path: list[object]) -> str | None:
    """Return the first element of `path`; None for the root."""
    if not path:
        return None
    # valibot has an object for each element, with the name as `key`.
    first = str(as_object(path[0]).get("key", path[0]))
    return None if first in _ROOTS and len(path) == 1 else first


def _elements(path: object) -> list[object]:
    # jsonschema has a deque.
    return [*path] if isinstance(path, Sequence) and not isinstance(path, str) else []
