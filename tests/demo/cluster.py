"""`make demo-cluster`: three servers, two hubs, four agents and a tail; a leader and a hub die.

What each agent told is then counted: all of it must be there, in order, none of it twice.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import anyio

from compass_agent.log import open_log
from compass_agent.wire import FrameItem, Gap
from hubs import serving
from nats_clusters import NatsCluster

DATA = Path(__file__).resolve().parent.parent / "data"
COMPASS = Path(sys.executable).with_name("compass")
RECORDINGS = {
    "thinks": DATA / "omp" / "thinking-text.jsonl",
    "works": DATA / "omp" / "edit-diff.jsonl",
    "fails": DATA / "pi" / "err-429.jsonl",
    "aborts": DATA / "omp" / "abort-streaming.rpc.jsonl",
}
WITHIN = "24"
STREAM = "demo"


def say(text: str) -> None:
    print(f"\n=== {text}", flush=True)


def recorded(session: str, log: str, *more: str) -> list[str]:
    """Record a session from its recording; the command."""
    recording = str(RECORDINGS[session])
    return [str(COMPASS), "replay", recording, "--session", session, "--log", log, *more]


async def read(session: str, log: str) -> tuple[dict[int, bytes], int, int]:
    """What is kept: the priority frames, how many trace frames, and how many that are told lost."""
    opened = open_log(log)
    urgent: dict[int, bytes] = {}
    trace = lost = last = 0
    async for page in opened.read(session, follow=False):
        for item in page.items:
            if isinstance(item, Gap):
                last, lost = item.last_seq, lost + item.count
            elif isinstance(item, FrameItem):
                assert item.seq == last + 1, "a hole, or a repeat"
                last = item.seq
                if item.priority:
                    urgent[item.seq] = item.data
                else:
                    trace += 1
    await opened.aclose()
    return urgent, trace, lost


def first_words(session: str, log: str) -> None:
    """Wait until the session says something, for half a minute at most."""
    command = [str(COMPASS), "tail", session, "--log", log, "--wait", "30", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tail:
        assert tail.stdout is not None
        assert tail.stdout.readline(), f"{session} says nothing"
        tail.kill()


def play(folder: Path, cluster: NatsCluster) -> bool:
    """Run all of it; tell whether nothing was lost."""
    log = cluster.log_url(STREAM)
    with serving("--log", log, "--unix", str(folder / "a" / "s")) as (_, (near,)):
        agents: list[subprocess.Popen[bytes]] = []
        with serving("--log", log, "--unix", str(folder / "b" / "s")) as (doomed, (far,)):
            say("Four agents publish to two hubs; a tail reads at the one what the other takes")
            tail = subprocess.Popen([COMPASS, "tail", "fails", "--log", near, "--wait", "20"])
            for number, session in enumerate(RECORDINGS):
                way = near if number % 2 else far
                command = recorded(session, way, "--pace", "--within", WITHIN, "--quiet")
                agents.append(subprocess.Popen(command))
            for session, way in zip(RECORDINGS, (far, near, far, near), strict=True):
                first_words(session, way)
            leader = anyio.run(cluster.leader, STREAM)
            say(f"kill -9 of the leader, {leader.url}")
            leader.kill()
            print(f"    {anyio.run(cluster.leader, STREAM).url} leads now", flush=True)
            say("The server comes back; kill -9 of a hub")
            leader.start()
            doomed.kill()
            doomed.wait()
        (folder / "b" / "s").unlink(missing_ok=True)
        say("The hub comes back; its agents send again what it did not answer")
        with serving("--log", log, "--unix", str(folder / "b" / "s")):
            statuses = [agent.wait(90) for agent in agents]
            print(f"    agents ended with {statuses}", flush=True)
            # What an agent had no time for is in its journal; the next one at its hub delivers it.
            for number, way in enumerate((near, far)):
                command = [str(COMPASS), "run", "--session", f"next-{number}", "--log", way, "-q"]
                subprocess.run([*command, "--", "true"], check=False, timeout=60)
            print(f"    the tail ended with {tail.wait(60)}", flush=True)
        return check(folder, log)


def check(folder: Path, log: str) -> bool:
    """Compare each session with the same recording in a file of its own."""
    say("What can be read, against the same recordings in a SQLite file")
    well = True
    plain = f"sqlite:{folder / 'plain.db'}"
    for session in RECORDINGS:
        subprocess.run(recorded(session, plain, "--quiet"), check=False, timeout=60)
        urgent, trace, lost = anyio.run(read, session, log)
        wanted, emitted, _ = anyio.run(read, session, plain)
        same = [*urgent] == [*wanted] and trace + lost == emitted
        well = well and same
        print(
            f"    {session}: {len(urgent)} of {len(wanted)} priority frames;"
            f" trace: {trace} received + {lost} told as lost = {emitted} emitted"
            f"{'' if same else '  NOT SO'}"
        )
    return well


def main() -> int:
    """Play it; return the exit status."""
    with tempfile.TemporaryDirectory(prefix="compass-", dir="/tmp") as name:
        folder = Path(name)
        for hub in ("a", "b"):
            (folder / hub).mkdir(mode=0o700)
        cluster = NatsCluster(folder / "nats")
        try:
            say("Three servers find each other")
            cluster.start(STREAM)
            well = play(folder, cluster)
        finally:
            cluster.stop()
    print("\nNothing was lost." if well else "\nSomething was lost.", flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    raise SystemExit(main())
