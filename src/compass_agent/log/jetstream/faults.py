"""What the engine's answers mean to a caller."""

from __future__ import annotations

__all__ = ("BusyError", "ConflictError", "DamagedError", "EngineError", "FullError", "fault")

from compass_agent.errors.codes import ErrorCode, OperationError

_WRONG_LAST = frozenset({10071, 10164})
_FULL = frozenset({
    10077,  # a limit of the stream: its bytes, its messages
    10023,  # resources: the disk or the memory of the server
    10047,  # storage
    10122,
})  # fmt: skip
_NO_STREAM = 10059
_TOO_LARGE = 10054
_BAD_REQUEST = 400
_NO_JETSTREAM = frozenset({10039, 10076})
_NONE = "the engine has no such stream; `compass engine init` makes it"


class EngineError(OperationError):
    """The engine says no; `reason` says why, to the person who runs it."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(code)
        self.reason = reason


class ConflictError(EngineError):
    """Somebody else wrote to the session since it was looked at."""


class BusyError(EngineError):
    """Others write to the session all the time, so nothing could be changed; later it may be."""

    def __init__(self, why: str = "others write to the session all the time") -> None:
        super().__init__(ErrorCode.UNAVAILABLE, why)


class FullError(EngineError):
    """There is no room for what was to be stored. Nothing was stored."""


class DamagedError(EngineError):
    """What is stored of one session cannot be read. Others of the server's file may follow."""

    def __init__(self, session: str, why: str) -> None:
        text = f"what is stored of the session {session} cannot be read: {why}"
        super().__init__(ErrorCode.STORAGE_FAILED, text)
        self.args = (session, why)


def fault(number: int, status: int, text: str) -> EngineError:
    """Return the error for an answer of JetStream.

    Args:
        number: Its own code of the error (`err_code`).
        status: The code that is like one of HTTP.
        text: What it says.
    """
    if number in _WRONG_LAST:
        return ConflictError(ErrorCode.CONFLICT, text)
    if number in _FULL:
        return FullError(ErrorCode.UNAVAILABLE, text)
    if number == _NO_STREAM:
        return EngineError(ErrorCode.UNAVAILABLE, _NONE)
    if number in _NO_JETSTREAM:
        return EngineError(ErrorCode.UNAVAILABLE, f"this account has no JetStream: {text}")
    if number == _TOO_LARGE:
        return EngineError(ErrorCode.UNSUPPORTED_INPUT, text)
    code = ErrorCode.STORAGE_FAILED if status == _BAD_REQUEST else ErrorCode.UNAVAILABLE
    return EngineError(code, text)
