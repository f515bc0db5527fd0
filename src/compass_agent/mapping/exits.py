"""What the end of an agent's stream and the exit of its process mean."""

from __future__ import annotations

__all__ = ("describe_exit",)

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_agent.events import AgentExited

# A shell reports a child that was killed by signal N as 128 + N.
_SHELL_SIGNAL_BASE = 128
# An exit status of its own may look so, too: only what does kill is taken for it.
_KILLING = frozenset(
    {
        *("SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE"),
        *("SIGKILL", "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM"),
        *("SIGXCPU", "SIGXFSZ", "SIGSYS"),
    }
)


def describe_exit(event: AgentExited) -> str:
    """Return how the agent's process ended, for a person, without its standard error."""
    code = event.exit_code
    if code is None:
        return "The agent's stream ended"
    number = -code if code < 0 else code - _SHELL_SIGNAL_BASE
    if code < 0 or number > 0:
        name = _signal_name(number)
        if name is not None and (code < 0 or name in _KILLING):
            hint = ", possibly out of memory" if number == signal.SIGKILL else ""
            return f"The agent was killed by {name}{hint}"
    return f"The agent exited with code {code}"


def _signal_name(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None
