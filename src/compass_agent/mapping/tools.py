"""Which tool calls are open, so that none stays open when its turn is over and none reopens."""

from __future__ import annotations

__all__ = ("OpenTools",)

# Updates of a call that has ended come within moments of its end; older ends may be forgotten.
_REMEMBERED_ENDS = 1_024


class OpenTools:
    """Counts calls by id: agents repeat ids, within a turn and over turns.

    Attributes:
        late: How many results came after their call was ended for the agent.
    """

    __slots__ = ("_ended", "_open", "late")

    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        # The value: it was ended for the agent, which may still say how.
        self._ended: dict[str, bool] = {}
        self.late = 0

    def __len__(self) -> int:
        return sum(self._open.values())

    def start(self, tool_call_id: str) -> None:
        """Note that a call began."""
        self._open[tool_call_id] = self._open.get(tool_call_id, 0) + 1
        self._ended.pop(tool_call_id, None)

    def has_ended(self, tool_call_id: str) -> bool:
        """Tell whether the call was seen to end and has not begun anew."""
        return tool_call_id in self._ended and tool_call_id not in self._open

    def came_late(self, tool_call_id: str) -> None:
        """Note a result of a call that has ended; it counts once, and when the agent gave none."""
        if self._ended.get(tool_call_id):
            self._ended[tool_call_id] = False
            self.late += 1

    def end(self, tool_call_id: str) -> None:
        """Note that a call ended."""
        left = self._open.pop(tool_call_id, 1) - 1
        if left:
            self._open[tool_call_id] = left
        self._remember(tool_call_id)

    def end_all(self) -> list[str]:
        """Note that all open calls ended; return their ids, one for each call."""
        ids = [name for name, count in self._open.items() for _ in range(count)]
        self._open.clear()
        for name in ids:
            self._remember(name, early=True)
        return ids

    def _remember(self, tool_call_id: str, *, early: bool = False) -> None:
        self._ended.pop(tool_call_id, None)
        self._ended[tool_call_id] = early
        if len(self._ended) > _REMEMBERED_ENDS:
            del self._ended[next(iter(self._ended))]
