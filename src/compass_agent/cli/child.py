"""Starts a command, reads its output as it comes, and stops it step by step."""

from __future__ import annotations

__all__ = ("Child", "StartError")

import os
import signal
import sys
from collections import deque
from subprocess import PIPE
from typing import TYPE_CHECKING

import anyio

from compass_agent.cli.pass_on import PassOn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import ByteReceiveStream, Process

# Seconds between SIGINT, SIGTERM and SIGKILL.
_STOP_STEPS = ((signal.SIGINT, 5.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))

# What the command's own children may still write after it has exited.
_AFTER_EXIT_S = 2.0
_STDERR_LINES = 20
_STDERR_BYTES = 8 * 1024

_EXIT_NOT_EXECUTABLE = 126
_EXIT_NOT_FOUND = 127


class StartError(Exception):
    """The command could not be started.

    Attributes:
        exit_status: 127: not found; 126: found, but it cannot be run.
    """

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(message)
        self.exit_status = exit_status


class Child:
    """A command in a session of its own, so that a signal reaches it and all that it started.

    It reads our standard input; its standard error is passed on and its last lines are kept.

    Attributes:
        on_stderr: Called when something came there.
    """

    def __init__(self, process: Process) -> None:
        self.on_stderr: Callable[[], None] | None = None
        self._process = process
        self._stderr: deque[bytes] = deque(maxlen=_STDERR_LINES)
        self._stopping = anyio.Event()
        self._hurry = anyio.Event()
        self._pass_on = PassOn(sys.stderr.fileno())

    @classmethod
    async def start(cls, command: list[str]) -> Child:
        """Start the command.

        Raises:
            StartError: It is not there, or it cannot be run.
        """
        name = command[0]
        try:
            process = await anyio.open_process(
                command, stdin=None, stdout=PIPE, stderr=PIPE, start_new_session=True
            )
        except FileNotFoundError:
            raise StartError(f"Command not found: {name}", _EXIT_NOT_FOUND) from None
        except PermissionError:
            raise StartError(f"Not executable: {name}", _EXIT_NOT_EXECUTABLE) from None
        except (OSError, ValueError) as error:
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "bad"
            raise StartError(f"Cannot start {name}: {why}", _EXIT_NOT_EXECUTABLE) from error
        return cls(process)

    @property
    def stderr_tail(self) -> str:
        """The last lines of its standard error."""
        return b"".join(self._stderr)[-_STDERR_BYTES:].decode("utf-8", "replace").strip()

    async def run(self, on_output: Callable[[bytes], Awaitable[None]]) -> None:
        """Read until the command has ended.

        Args:
            on_output: Takes each piece of its standard output.
        """
        stdout, stderr = self._process.stdout, self._process.stderr
        if stdout is None or stderr is None:
            raise RuntimeError("the command was started without pipes")
        async with anyio.create_task_group() as tasks:
            stopper = anyio.CancelScope()
            tasks.start_soon(self._stop_when_asked, stopper)
            try:
                async with anyio.create_task_group() as readers:
                    readers.start_soon(_read, stdout, on_output)
                    readers.start_soon(_read, stderr, self._on_stderr)
                    await self._process.wait()
                    # A process that the command left behind may hold the pipes open.
                    readers.cancel_scope.deadline = anyio.current_time() + _AFTER_EXIT_S
            finally:
                stopper.cancel()

    async def wait(self) -> int:
        """Return its exit code, once it has ended; negative: killed by that signal."""
        return await self._process.wait()

    async def _on_stderr(self, data: bytes) -> None:
        lines = data.splitlines(keepends=True)
        if self._stderr and not self._stderr[-1].endswith(b"\n") and lines:
            lines[0] = (self._stderr.pop() + lines[0])[-_STDERR_BYTES:]
        self._stderr.extend(lines)
        if self.on_stderr is not None:
            self.on_stderr()
        await self._pass_on.send(data)

    def stop(self) -> None:
        """Ask the command to stop: SIGINT, then SIGTERM, then SIGKILL. Again: the next at once."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    async def _stop_when_asked(self, scope: anyio.CancelScope) -> None:
        with scope:
            await self._stopping.wait()
            for number, grace in _STOP_STEPS:
                self._signal(number)
                self._hurry = anyio.Event()
                with anyio.move_on_after(grace):
                    await self._hurry.wait()

    def kill(self) -> None:
        """Kill the command and all that it started, at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            # It ended by itself; what it left behind, if anything, is not ours to signal.
            return


async def _read(stream: ByteReceiveStream, on_data: Callable[[bytes], Awaitable[None]]) -> None:
    async for data in stream:
        await on_data(data)
