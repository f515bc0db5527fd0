"""Connections are broken off at the place that is named, and nowhere else."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from compass_agent.services.connections import break_off
from hubs import short_folder

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture
def folder() -> Generator[Path]:
    """A private folder whose name leaves room for a socket's."""
    with short_folder() as made:
        yield made


def connected(stack: ExitStack, place: socket.socket) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection that came in there."""
    place.listen()
    there = stack.enter_context(socket.socket(place.family))
    there.settimeout(10)
    there.connect(place.getsockname())
    here = stack.enter_context(place.accept()[0])
    return here, there


def opened() -> list[str]:
    """The files that this process has open."""
    return sorted(path.name for path in Path("/dev/fd").iterdir())


def test_what_came_in_at_a_place_is_broken_off_and_no_other(folder: Path) -> None:
    with ExitStack() as stack:
        ends: list[tuple[socket.socket, socket.socket]] = []
        for path in (folder / "one", folder / "two"):
            place = stack.enter_context(socket.socket(socket.AF_UNIX))
            place.bind(os.fspath(path))
            ends.append(connected(stack, place))
        for _ in range(2):
            place = stack.enter_context(socket.socket())
            place.bind(("127.0.0.1", 0))
            ends.append(connected(stack, place))
        port = ends[2][0].getsockname()[1]
        before = opened()

        assert break_off([f"unix:{folder}/one", f"0.0.0.0:{port}"]) == 2

        assert opened() == before
        assert [ends[number][1].recv(1) for number in (0, 2)] == [b"", b""]
        for number in (1, 3):
            here, there = ends[number]
            here.sendall(b"x")
            assert there.recv(1) == b"x"
