"""Numbers of enums as the generated code types them."""

from __future__ import annotations

__all__ = ("as_state",)

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass.v1.compass_pb2 import AgentSessionState


def as_state(number: int) -> AgentSessionState.ValueType:
    """Return the number of a session state, known or not, as the generated type."""
    return number  # pyright: ignore[reportReturnType] - ValueType is a name for int
