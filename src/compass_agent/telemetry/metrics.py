"""Observable instruments over the counters of this process.

All values of one collection are of one moment, so sums over them hold: for each lane
`emitted == delivered + lost + waiting + in_doubt`.
"""

from __future__ import annotations

__all__ = ("INSTRUMENTS", "Instrument", "Look", "export", "finish")

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry.metrics import MeterProvider, Observation, get_meter_provider

from compass_agent import __version__
from compass_agent.runtime.totals import HUBS, SESSIONS

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable

    from opentelemetry.metrics import CallbackOptions

    from compass_agent.sink import LaneStatistics, SinkStatistics

_logger = logging.getLogger("compass_agent.telemetry")

_SCOPE = "compass_agent"
_LANE = "compass.lane"
_API = "opentelemetry.metrics"


class Look(NamedTuple):
    """All counters at one moment."""

    sessions: SinkStatistics
    still_open: int
    batches: Counter[str]
    lost_trace: int | None
    readers: Counter[str]


class Instrument(NamedTuple):
    """One instrument.

    Attributes:
        name: Its name.
        unit: What is counted.
        description: For people.
        read: Takes its values out of a look.
        falls: The value may fall; else it only grows.
    """

    name: str
    unit: str
    description: str
    read: Callable[[Look], Iterable[Observation]]
    falls: bool = False


def _of_lanes(read: Callable[[LaneStatistics], int]) -> Callable[[Look], Iterable[Observation]]:
    def observe(look: Look) -> Iterable[Observation]:
        yield Observation(read(look.sessions.priority), {_LANE: "priority"})
        yield Observation(read(look.sessions.trace), {_LANE: "trace"})

    return observe


def _one(read: Callable[[Look], int | None]) -> Callable[[Look], Iterable[Observation]]:
    def observe(look: Look) -> Iterable[Observation]:
        value = read(look)
        if value is not None:
            yield Observation(value)

    return observe


def _batches(look: Look) -> Iterable[Observation]:
    for code, count in look.batches.items():
        yield Observation(count, {"error.type": code} if code else {})


def _readers(look: Look) -> Iterable[Observation]:
    for protocol, count in look.readers.items():
        yield Observation(count, {"compass.protocol": protocol})


INSTRUMENTS = (
    Instrument(
        "compass.frames.emitted",
        "{frame}",
        "Frames that entered a lane.",
        _of_lanes(lambda lane: lane.emitted),
    ),
    Instrument(
        "compass.frames.delivered",
        "{frame}",
        "Frames that the log has stored.",
        _of_lanes(lambda lane: lane.delivered),
    ),
    Instrument(
        "compass.frames.lost",
        "{frame}",
        "Frames that were dropped, refused, too late, or not answered by the end.",
        _of_lanes(lambda lane: lane.lost),
    ),
    Instrument(
        "compass.frames.waiting",
        "{frame}",
        "Frames that wait to be sent.",
        _of_lanes(lambda lane: lane.waiting),
        falls=True,
    ),
    Instrument(
        "compass.frames.in_doubt",
        "{frame}",
        "Frames that were sent and are not answered yet.",
        _of_lanes(lambda lane: lane.in_doubt),
        falls=True,
    ),
    Instrument(
        "compass.frames.rejected",
        "{frame}",
        "What was emitted but is no frame.",
        _one(lambda look: look.sessions.rejected),
    ),
    Instrument(
        "compass.frames.shortened",
        "{frame}",
        "Frames that were too large and were cut.",
        _one(lambda look: look.sessions.shortened),
    ),
    Instrument(
        "compass.frames.after_end",
        "{frame}",
        "Frames that were emitted after the end of their session.",
        _one(lambda look: look.sessions.after_end),
    ),
    Instrument(
        "compass.publish.retries",
        "{attempt}",
        "Attempts to publish that failed, so that the same was tried again.",
        _one(lambda look: look.sessions.retries),
    ),
    Instrument(
        "compass.journal.errors",
        "{error}",
        "Priority frames and end marks that could not be written to a journal.",
        _one(lambda look: look.sessions.journal_errors),
    ),
    Instrument(
        "compass.sessions.open",
        "{session}",
        "Sessions that are open.",
        _one(lambda look: look.still_open),
        falls=True,
    ),
    Instrument(
        "compass.hub.batches",
        "{batch}",
        "Batches that this hub answered; those that it did not take have an error.type.",
        _batches,
    ),
    Instrument(
        "compass.hub.frames.lost",
        "{frame}",
        "Trace frames that came to this hub too late, or from a writer that was replaced.",
        _one(lambda look: look.lost_trace),
    ),
    Instrument(
        "compass.hub.readers",
        "{reader}",
        "Readers that follow a session at this hub.",
        _readers,
        falls=True,
    ),
)


class _Looks:
    """Gives the instruments of one provider what they tell: one look for each collection.

    An instrument that asks again is asked for the next collection.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._look: Look | None = None
        self._told: set[str] = set()

    def observe(self, instrument: Instrument, _options: CallbackOptions) -> list[Observation]:
        """Return the values of `instrument`."""
        with self._lock:
            if self._look is None or instrument.name in self._told:
                self._look = _look()
                self._told.clear()
            self._told.add(instrument.name)
            look = self._look
        return list(instrument.read(look))


def _look() -> Look:
    return Look(*SESSIONS.statistics(), HUBS.batches(), HUBS.lost_trace(), HUBS.readers())


class _Exports:
    """The providers that read already."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._providers: list[MeterProvider] = []
        self._to_global = False

    def add(self, given: MeterProvider | None) -> bool:
        """Register the instruments with a provider, once."""
        common = get_meter_provider()
        provider = common if given is None else given
        with self._lock:
            # The API's own provider hands on to the one that is set later: that is registered, too.
            known = any(provider is one for one in self._providers)
            if not known and not (self._to_global and provider is common):
                _register(provider)
                self._providers.append(provider)
            self._to_global = self._to_global or provider is common
        return not type(provider).__module__.startswith(_API)


_exports = _Exports()


def finish(timeout_s: float) -> bool:
    """As `compass_agent.telemetry.finish_metrics`."""
    # Only the SDK's own provider has it; no type says so.
    shutdown: Any = getattr(get_meter_provider(), "shutdown", None)
    if shutdown is None:
        return True
    sent: list[bool] = []

    def work() -> None:
        try:
            shutdown(timeout_millis=timeout_s * 1000)
        except Exception:
            _logger.debug("the last metrics did not go out", exc_info=True)
        else:
            sent.append(True)

    giving = threading.Thread(target=work, daemon=True)
    giving.start()
    giving.join(timeout_s * 1.5)
    return bool(sent)


def export(meter_provider: MeterProvider | None) -> bool:
    """Register the instruments; tell whether there is an SDK behind them."""
    return _exports.add(meter_provider)


def _register(provider: MeterProvider) -> None:
    meter = provider.get_meter(_SCOPE, __version__)
    looks = _Looks()
    for one in INSTRUMENTS:
        if one.falls:
            create = meter.create_observable_up_down_counter
        else:
            create = meter.create_observable_counter
        create(one.name, [partial(looks.observe, one)], one.unit, one.description)
