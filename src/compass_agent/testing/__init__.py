"""For tests of hosts, of logs and of publishers: what Compass promises, ready to be checked.

- `capture_frames` gives a test the frames that the code under test told, without any log.
- `FaultyTransport` fails, stalls, repeats and reorders on demand.
- `check_log` holds a session log to all that readers and writers rely on.
- `check_adapter` holds an agent's adapter to what readers rely on, `check_events` what it gives.

It needs no test framework: what is wrong is an AssertionError.
"""

from __future__ import annotations

__all__ = (
    "CapturedFrames",
    "Fault",
    "FaultyTransport",
    "capture_frames",
    "check_adapter",
    "check_events",
    "check_log",
)

from compass_agent.testing.adapters import check_adapter, check_events
from compass_agent.testing.capture import CapturedFrames, capture_frames
from compass_agent.testing.check import check_log
from compass_agent.testing.faulty import Fault, FaultyTransport
