"""Takes out of a text what only Python knows: addresses, reprs of objects and tasks, scopes."""

from __future__ import annotations

__all__ = ("GROUP", "is_internal", "without_internals")

import re

GROUP = re.compile(
    r"(?:unhandled errors in a TaskGroup|Exceptions from Trio nursery|multiple tasks failed)"
    r" \([0-9]{1,9} sub-exceptions?\)"
)
"""What a group of exceptions says, which is nothing about any of them."""

_NAME = r"[\w.]{1,200}(?:<locals>[\w.]{1,200}){0,4}"
_OBJECT = re.compile(
    rf"<(?:(?:coroutine|async_generator|generator|function|built-in (?:method|function))"
    rf"(?: object)? ({_NAME})(?: of [^<>]{{1,200}})?|({_NAME}) object)"
    r"(?:,? [^<>]{0,200})? at 0x[0-9a-fA-F]{4,16}>"
)
_BOUND = re.compile(rf"<bound method ({_NAME}) of [^<>]{{1,200}}>")
_INNER = r"(?:[^<>]{1,400}|<[^<>]{0,400}>){0,40}"
_TASK = re.compile(
    rf"(?:\b(?:Task|Future) )?<(Task|Future)\b(?:[^<>]{{1,400}}|<{_INNER}>){{0,40}}>"
)
_TASK_NAME = re.compile(r"\bname='([^'<>]{1,100})'")
_SCOPE = re.compile(r"\b(Cancel(?:l)?ed) (?:by|via) cancel scope [0-9a-fA-F]{4,16}\b")
_BY_TASK = re.compile(r"(?<=ancelled) by (?:a (?:task|future)\b|(?:task|future) [\w.:-]{1,100})")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,16}\b")


def is_internal(text: str) -> bool:
    """Tell whether `text` is the repr of an object and nothing else."""
    return _OBJECT.fullmatch(text) is not None


def without_internals(text: str) -> str:
    """Return `text` with names in place of reprs, and without addresses."""
    if "0x" in text:
        text = _OBJECT.sub(_named, text)
    if "<" in text:
        text = _BOUND.sub(_named, text)
        text = _TASK.sub(_task, text)
    if "cancel scope" in text:
        text = _BY_TASK.sub("", _SCOPE.sub(r"\1", text))
    return _ADDRESS.sub("", text) if "0x" in text else text


def _named(found: re.Match[str]) -> str:
    """Return the last part of a dotted name: the class, or the function."""
    whole = next(name for name in found.groups() if name)
    return whole.rsplit("<locals>.", 1)[-1].rsplit(".", 1)[-1]


def _task(found: re.Match[str]) -> str:
    name = _TASK_NAME.search(found[0])
    return f"{found[1].lower()} {name[1]}" if name else f"a {found[1].lower()}"
