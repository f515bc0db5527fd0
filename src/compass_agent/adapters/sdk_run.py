"""A run whose loop is an SDK's own: its objects come one after the other, its tools too."""

from __future__ import annotations

__all__ = ("SdkRun",)

from typing import TYPE_CHECKING

from compass_agent.adapters.fields import name_of, text
from compass_agent.adapters.telling import Telling
from compass_agent.events.classes import InnerEvent, Noticed

if TYPE_CHECKING:
    from collections.abc import Iterable


class SdkRun(Telling):
    """Turns an SDK's objects into inner events; a subclass says what one means. Never raises.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._unknown: set[str] = set()

    def begin(self) -> list[InnerEvent]:
        """Return the event of the run's start, which comes before the SDK does anything."""
        return self._begin()

    def feed(self, item: object) -> list[InnerEvent]:
        """Return the events of one object; what is not known is told once of each kind."""
        events: list[InnerEvent] | None
        try:
            events = self._item(item)
        except Exception as error:  # noqa: BLE001 - nothing that a stream holds may stop it
            events = [Noticed(f"A {name_of(item)} could not be read: {name_of(error)}")]
        return self._cleaned(self._not_known(item) if events is None else events)

    def _item(self, item: object) -> list[InnerEvent] | None:
        """Return the events of one object; None when it is not known."""
        raise NotImplementedError

    def _not_known(self, item: object) -> list[InnerEvent]:
        names = (text(item, "event_kind"), text(item, "type"), name_of(item))
        name = next(name for name in names if name)
        if name in self._unknown:
            return []
        self._unknown.add(name)
        return [Noticed(f"The stream holds what is not known: {name}")]
