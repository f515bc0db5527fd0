"""Whoever uses one operation loads that one: a tail prints its first line the sooner."""

from __future__ import annotations

import subprocess
import sys

import pytest

from compass_agent import services

_LOADED = (
    "import sys; before = set(sys.modules); {}; "
    "print(*sorted(name for name in set(sys.modules) - before if name.startswith('compass_agent')))"
)


def loaded_by(statement: str) -> set[str]:
    """The modules of ours that a statement loads in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED.format(statement)],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


def test_the_package_alone_loads_no_operation() -> None:
    assert loaded_by("import compass_agent.services") == {"compass_agent", "compass_agent.services"}


def test_a_tail_loads_neither_what_exports_nor_what_explains_failures() -> None:
    loaded = loaded_by("import compass_agent.cli.following")
    assert "compass_agent.services.reading" in loaded
    assert not loaded & {
        "compass_agent.errors.failure",
        "compass_agent.services.detail",
        "compass_agent.services.entries",
        "compass_agent.services.export",
        "compass_agent.services.listing",
        "compass_agent.view.markdown",
    }


@pytest.mark.parametrize("name", services.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(services, name) is not None
    assert name in dir(services)


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(services, "nothing")  # noqa: B009 - type checkers know that it is not there
