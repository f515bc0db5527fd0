"""What only Python knows is no part of a failure's text: addresses, reprs, groups, scopes."""

from __future__ import annotations

import asyncio
import time

import pytest

from compass_agent.errors import describe_failure
from compass_agent.errors.internals import without_internals

GROUP = "unhandled errors in a TaskGroup (2 sub-exceptions)"


class Thing:
    """Its repr is Python's own."""


def raised_from(text: str, cause: BaseException) -> RuntimeError:
    wrapper = RuntimeError(text)
    wrapper.__cause__ = cause
    return wrapper


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("could not read <app.Thing object at 0x7f2b9c0d1e50>", "could not read Thing"),
        ("<function main.<locals>.work at 0x7f2b9c0d1e50> is no tool", "work is no tool"),
        ("<bound method Thing.go of <app.Thing object at 0x7f2b9c0d1e50>> failed", "go failed"),
        ("<coroutine object fetch at 0x7f2b9c0d1e50> was never awaited", "fetch was never awaited"),
        ("<async_generator object items at 0x7f2b9c0d1e50> broke", "items broke"),
        (
            "Task <Task pending name='Task-1' coro=<main.<locals>.go() running at /a.py:1>> is odd",
            "task Task-1 is odd",
        ),
        ("<Future pending cb=[wake() at /a.py:3]> has no loop", "a future has no loop"),
        ("Cancelled via cancel scope 7f2b9c0d1e50 by <Task pending coro=<x() at /a>>", "Cancelled"),
        (
            "Cancelled by cancel scope 7f2b9c0d1e50; reason: deadline exceeded",
            "Cancelled; reason: deadline exceeded",
        ),
        ("segment fault at 0x7f2b9c0d1e50 in a tool", "segment fault in a tool"),
        ("a < b, and c > d", "a < b, and c > d"),
        ("the mask 0xff is wrong", "the mask 0xff is wrong"),
        ("<Response [500 Internal Server Error]>", "<Response [500 Internal Server Error]>"),
    ],
)
def test_a_name_stands_for_a_repr_and_no_address_is_told(text: str, shown: str) -> None:
    assert describe_failure(RuntimeError(text)).message == shown
    assert describe_failure(text).message == shown


def test_a_text_that_is_only_a_repr_is_the_name_of_its_class() -> None:
    assert describe_failure(RuntimeError(str(Thing()))).message == "RuntimeError"
    assert describe_failure(raised_from(f"lost {Thing()}", ValueError())).message == "lost Thing"


def test_what_was_raised_from_a_group_says_what_the_group_holds() -> None:
    held = ExceptionGroup(GROUP, [ValueError("no such file"), OSError("disk full")])
    told = "no such file; disk full"
    assert describe_failure(held).message == told
    assert describe_failure(raised_from(GROUP, held)).message == told
    assert describe_failure(raised_from(f"It broke: {GROUP}", held)).message == f"It broke: {told}"


def test_a_cancellation_beside_a_failure_is_not_its_reason() -> None:
    stop = asyncio.CancelledError("Cancelled via cancel scope 7f2b9c0d1e50")
    held = BaseExceptionGroup(GROUP, [stop, ValueError("no such file")])
    assert describe_failure(held).message == "no such file"
    assert describe_failure(BaseExceptionGroup(GROUP, [stop])).message == "Cancelled"


@pytest.mark.parametrize("piece", ["<Task ", "<Task<", "<bound method a of ", "<a object at 0x"])
def test_hostile_text_takes_no_long_time(piece: str) -> None:
    began = time.process_time()
    without_internals(piece * 40_000)
    assert time.process_time() - began < 2
