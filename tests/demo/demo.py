"""`make demo`: the main job on real input, in two processes.

A recorded run of a real agent that fails with HTTP 429 is replayed at its pace into a session log,
while a second process tails the session live. Then the same for a run that its user aborted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
COMPASS = Path(sys.executable).with_name("compass")
SECONDS = "4"


@dataclass(frozen=True)
class Scene:
    """One recorded run, and the exit status that its tail must have."""

    session: str
    recording: Path
    says: str
    tail_status: int


SCENES = (
    Scene(
        "demo-thinks",
        DATA / "omp" / "thinking-text.jsonl",
        "An agent thinks, then answers.",
        0,
    ),
    Scene(
        "demo-works",
        DATA / "omp" / "edit-diff.jsonl",
        "An agent edits a file: tool calls, a diff, text.",
        0,
    ),
    Scene(
        "demo-429",
        DATA / "pi" / "err-429.jsonl",
        "An agent's turn fails: its provider answers HTTP 429, twice more after its retries.",
        75,
    ),
    Scene(
        "demo-abort",
        DATA / "omp" / "abort-streaming.rpc.jsonl",
        "A user stops an agent in the middle of its answer: an abort, not a crash.",
        0,
    ),
)


def play(scene: Scene, log: str) -> bool:
    """Tail the session in one process, replay the run in another; tell whether both did well."""
    print(f"\n=== {scene.says}\n    ({scene.recording.relative_to(DATA)})\n", flush=True)
    tail = subprocess.Popen([COMPASS, "tail", scene.session, "--log", log, "--wait", "20"])
    command = [COMPASS, "replay", scene.recording, "--session", scene.session, "--log", log]
    replay = subprocess.run(
        [*command, "--pace", "--within", SECONDS, "--quiet"], check=False, timeout=60
    )
    status = tail.wait(timeout=60)
    print(f"\n    replay ended with {replay.returncode}, tail with {status}", flush=True)
    return status == replay.returncode == scene.tail_status


def main() -> int:
    """Play the scenes; return the exit status."""
    folder = Path(tempfile.mkdtemp(prefix="compass-demo-"))
    log = f"sqlite:{folder / 'sessions.db'}"
    well = [play(scene, log) for scene in SCENES]
    print("\n=== The sessions, failed ones first\n", flush=True)
    subprocess.run([COMPASS, "sessions", "--log", log], check=True)
    if not all(well):
        print("\nThe demo did not end as it should.", file=sys.stderr)
        return 1
    python = Path(sys.executable)
    print(f"""
=== Try next

  {COMPASS} tail demo-429 --log {log}
  {COMPASS} tail demo-429 --log {log} --json
  {COMPASS} run -- pi --mode json "Fix the failing test"     (with pi installed)
  {COMPASS} run -- sh -c 'cat {SCENES[2].recording}; exit 0'
  {COMPASS} sessions
  {python} -c 'import compass_agent; help(compass_agent)'
""")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
