"""`make demo-cluster` shows that nothing was lost, and would say so if something were."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compass.v1.compass_pb2 import AgentSessionFrame
from compass_agent.frames import FrameBuilder, SessionInjectionKind
from compass_agent.wire import FrameItem, Gap, GapReason
from tallies import Tally, faults

ROOT = Path(__file__).resolve().parent.parent.parent
E1 = "1" * 16
_BUILD = FrameBuilder(lambda: 0)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.requirement("G-NATS-4")
def test_a_leader_and_a_hub_that_die_lose_nothing() -> None:
    stamp = f"{sys.prefix}/dev.stamp"  # not to be made anew: it is what runs here
    shown = subprocess.run(
        ["make", "--no-print-directory", "demo-cluster", f"VENV={sys.prefix}", "-o", stamp],
        cwd=ROOT,
        env={**os.environ, "COMPASS_TEST_CLUSTER_KILLS": "1"},
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert shown.returncode == 0, shown.stdout[-4000:] + shown.stderr[-2000:]
    assert "kill -9 of the leader" in shown.stdout
    assert "kill -9 of a hub" in shown.stdout
    assert shown.stdout.rstrip().endswith("Nothing was lost.")


def injection(number: int) -> bytes:
    kind = SessionInjectionKind.SESSION_INJECTION_KIND_STEER
    return _BUILD.session_injection(kind, str(number), "test").SerializeToString()


def read(*places: int | None, ended: int) -> Tally:
    """What a reader got: injections "0", "1", … at these places; None: one that it lacks."""
    tally = Tally()
    for number, seq in enumerate(places):
        if seq is None:
            continue
        frame = AgentSessionFrame(epoch=E1, seq=seq)
        if (last := tally.last.get(E1, 0)) + 1 != seq:
            frame.gap.first_seq, frame.gap.last_seq = last + 1, seq - 1
            frame.gap.count = seq - 1 - last
        frame.event.session_injection.message_id = str(number)
        tally.note(frame)
    over = AgentSessionFrame(epoch=E1)
    over.end.last_seq = ended
    tally.note(over)
    return tally


def stored(*places: int) -> list[FrameItem | Gap]:
    return [FrameItem(E1, seq, injection(number), True, False) for number, seq in enumerate(places)]


def test_a_session_of_which_all_was_read_has_no_fault() -> None:
    kept = [*stored(1, 3), Gap(E1, 2, 2, GapReason.DROPPED)]
    assert faults(2, read(1, 3, ended=3), kept) == []


@pytest.mark.parametrize(
    ("told", "tally", "kept", "fault"),
    [
        (2, read(1, None, ended=2), stored(1, 2), "its reader lacks injections"),
        (2, read(1, 2, ended=2), stored(1), "injections are not stored"),
        (2, read(1, 2, ended=3), stored(1, 2), "what its reader got and its gaps are not all"),
        (2, read(1, 2, ended=3), stored(1, 2), "what is stored and its gaps are not all"),
        (2, read(1, 2, ended=2), stored(2, 1), "what is stored is not in order"),
        (1, read(1, ended=1), [*stored(1), *stored(1)], "injections are not stored, or twice"),
        (0, read(1, ended=1), stored(1), "its agent told nothing"),
    ],
)
def test_what_is_lost_or_there_twice_is_a_fault(
    told: int, tally: Tally, kept: list[FrameItem | Gap], fault: str
) -> None:
    assert [one for one in faults(told, tally, kept) if one.startswith(fault)]
