"""Exit statuses of the command, and how every command ends: quietly, and never with a traceback.

Those of a failed operation stand in the table of codes, and nowhere else.
"""

from __future__ import annotations

__all__ = (
    "EXIT_ABORTED",
    "EXIT_FAILED",
    "EXIT_FAILED_FOR_NOW",
    "EXIT_INTERRUPTED",
    "EXIT_IO",
    "EXIT_MISSING",
    "EXIT_NO_INPUT",
    "EXIT_OK",
    "EXIT_PIPE_CLOSED",
    "EXIT_TIMEOUT",
    "EXIT_USAGE",
    "CommandError",
    "NamedFailureError",
    "guarded",
    "session_exit",
)

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.errors.codes import OperationError
    from compass_agent.frames import SessionError

EXIT_OK = 0
EXIT_USAGE = 2
EXIT_FAILED = 3
"""The session failed; trying again does not help, or it is not known whether it does."""
EXIT_MISSING = 6
"""Frames are missing, and the user wants that to count as a failure."""
EXIT_ABORTED = 7
"""The work was stopped on purpose, and the user wants that to count as a failure."""
EXIT_FAILED_FOR_NOW = 75
"""The session failed and the same may succeed later (EX_TEMPFAIL)."""
EXIT_NO_INPUT = 66
"""The input is not there, or cannot be read (EX_NOINPUT)."""
EXIT_IO = 74
"""An output cannot be written (EX_IOERR)."""
EXIT_TIMEOUT = 124
"""The time that the user gave is over."""
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141


class CommandError(Exception):
    """The command cannot do what its command line asks for; the text says why, for a person.

    Args:
        message: The text.
        ends: The exit status, or the code of the table whose exit status it is.

    Attributes:
        row: The code of the table; None: it is a fault of the command line, or of a file.
        exit_status: The exit status of the command.
    """

    def __init__(self, message: str, ends: int | str = "unsupported_input") -> None:
        super().__init__(message)
        self.row = None if isinstance(ends, int) else ends
        self.exit_status = ends if isinstance(ends, int) else _exit_status(ends)


class NamedFailureError(CommandError):
    """A failed operation that is told to a person by a line of its own, which names what failed.

    Programs get the object of its code; what can be done stands on the next line, as always.

    Args:
        line: The line.
        code: The code of the failed operation.
    """

    def __init__(self, line: str, code: str) -> None:
        super().__init__(line, code)
        self.code = code


def _exit_status(code: str) -> int:
    from compass_agent.errors.codes import TABLE, ErrorCode  # noqa: PLC0415 - dear to import

    return TABLE[ErrorCode(code)].exit_status


def session_exit(state: int, last_error: SessionError | None) -> int:
    """Return the exit status for a session that was left in `state`.

    Args:
        state: The number of its AgentSessionState.
        last_error: The last SessionError of its current work; None when later work began.

    Returns:
        0 when the last work did not fail, or was stopped on purpose; 75 when it failed and trying
        again may help; else 3. A kind of error that is not known is a failure.
    """
    from compass_agent.view.failure import explain  # noqa: PLC0415 - dear to import
    from compass_agent.view.words import ERRORED  # noqa: PLC0415 - dear to import

    cause = explain(last_error) if last_error is not None else None
    if cause is None or cause.aborted:
        return EXIT_FAILED if state == ERRORED else EXIT_OK
    return EXIT_FAILED_FOR_NOW if cause.retryable else EXIT_FAILED


def guarded(command: Callable[[], int], *, as_json: bool = False) -> int:
    """Run `command`; return its exit status, or that of what stopped it.

    A failed operation is told on stderr: what happened, and on the next line what to do, or as one
    JSON object. A closed pipe and Ctrl-C are quiet.
    """
    try:
        status = command()
        if sys.stdout is not None:  # None: it was closed at the start
            sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BaseExceptionGroup as group:
        # A second Ctrl-C strikes in the middle of a task.
        if group.subgroup(KeyboardInterrupt) is not None:
            return EXIT_INTERRUPTED
        if not isinstance(group, Exception):
            raise
        return _failed(_cause(group), as_json=as_json)
    except Exception as error:  # noqa: BLE001 - users get no traceback, whatever it is
        return _failed(_cause(error), as_json=as_json)
    return status


def _cause(error: Exception) -> Exception:
    """Return what ended the command, out of a group; a closed pipe may be noticed twice at once."""
    from compass_agent.errors.groups import leaves, only_exception  # noqa: PLC0415 - dear to import

    closed = (one for one in leaves(error) if isinstance(one, BrokenPipeError))
    return next(closed, None) or only_exception(error)


def _failed(error: Exception, *, as_json: bool) -> int:
    if isinstance(error, BrokenPipeError):
        _forget_stdout()
        return EXIT_PIPE_CLOSED
    if isinstance(error, CommandError) and not isinstance(error, NamedFailureError):
        return _told(str(error), error.exit_status, as_json=as_json, code=error.row)
    if isinstance(error, OSError):
        _forget_stdout()
        return _told(error.strerror or type(error).__name__, EXIT_IO, as_json=as_json)
    from compass_agent.errors.answering import answer_for  # noqa: PLC0415 - as above
    from compass_agent.errors.codes import OperationError  # noqa: PLC0415 - as above

    told, line = answer_for(error, log=_debug), ""
    if isinstance(error, NamedFailureError):
        told, line = OperationError(error.code), str(error)
    # When even this cannot be said, the exit status says it.
    with contextlib.suppress(OSError):
        if as_json:
            print(_as_json(told), file=sys.stderr)
        else:
            from compass_agent.cli.talk import laid_out  # noqa: PLC0415 - as above

            line = laid_out(line or told.message, sys.stderr)
            print(f"{line}\n{told.guidance}", file=sys.stderr)
    return told.exit_status


def _debug(error: OperationError) -> None:
    """Log the cause for whoever asks for it: the terminal is the user's."""
    import logging  # noqa: PLC0415 - only for this

    from compass_agent.errors.logged import cause_text  # noqa: PLC0415 - as above

    logger = logging.getLogger("compass_agent.cli")
    if error.__cause__ is not None and logger.isEnabledFor(logging.DEBUG):
        logger.debug("the command failed:\n%s", cause_text(error.__cause__))


def _told(message: str, exit_status: int, *, as_json: bool, code: str | None = None) -> int:
    with contextlib.suppress(OSError):
        if as_json:
            message = _object(message, code)
        else:
            from compass_agent.cli.talk import laid_out  # noqa: PLC0415 - likewise

            message = laid_out(message, sys.stderr)
        print(message, file=sys.stderr)
    return exit_status


def _object(message: str, code: str | None) -> str:
    """Return the object of `code`, if there is one, with a message that says more."""
    import json  # noqa: PLC0415 - only for this

    told: dict[str, object] = {"success": False}
    if code is not None:
        from compass_agent.errors.codes import ErrorCode, OperationError  # noqa: PLC0415 - as above
        from compass_agent.errors.told import format_operation_error  # noqa: PLC0415 - likewise

        told = format_operation_error(OperationError(ErrorCode(code)))
    return json.dumps({**told, "message": message})


def _as_json(error: OperationError) -> str:
    import json  # noqa: PLC0415 - only for this

    from compass_agent.errors.told import format_operation_error  # noqa: PLC0415 - likewise

    return json.dumps(format_operation_error(error))


def _forget_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter's own flush does not fail."""
    with contextlib.suppress(io.UnsupportedOperation, OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
