"""A reader in a process of its own that subscribes, reads one message, and then never again.

Run as a program: `still_reader.py TARGET SESSION`.
"""

from __future__ import annotations

__all__ = ("still_reader",)

import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import grpc

from compass.v1.compass_pb2 import SubscribeAgentSessionRequest
from compass_agent.wire.relay import SUBSCRIBE

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def still_reader(target: str, session: str) -> Generator[None]:
    """Have one that is stopped by the system: nothing of it runs, and its connection stays."""
    with subprocess.Popen(
        [sys.executable, __file__, target, session], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "reads\n"
            process.send_signal(signal.SIGSTOP)
            yield
        finally:
            process.kill()


def _read_once(target: str, session: str) -> None:
    with grpc.insecure_channel(target) as channel:
        connected: Any = channel
        ask = connected.unary_stream("/{}/{}".format(*SUBSCRIBE))
        next(ask(SubscribeAgentSessionRequest(session_id=session).SerializeToString()))
        print("reads", flush=True)
        signal.pause()


if __name__ == "__main__":
    _read_once(*sys.argv[1:])
