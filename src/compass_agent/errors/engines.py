"""Codes of exceptions by their type and attributes: databases, timeouts, connections, rights.

No library is imported: classes are known by their names and modules, databases by their own codes.
"""

from __future__ import annotations

__all__ = ("code_of_type", "is_lost", "is_no_answer")

import errno
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode
from compass_agent.errors.foreign import NO_ANSWER, attribute, called, class_names, own_text
from compass_agent.errors.groups import leaves
from compass_agent.errors.shapes import word

if TYPE_CHECKING:
    from collections.abc import Callable

_DENIED, _CONFLICT = ErrorCode.PERMISSION_DENIED, ErrorCode.CONFLICT
_AWAY, _REFUSED = ErrorCode.UNAVAILABLE, ErrorCode.STORAGE_FAILED

# SQLite's primary result codes, the low byte of what it gives; they never change.
_SQLITE_AWAY = frozenset({5, 6, 7, 9, 10, 13, 14, 15})
"""BUSY, LOCKED, NOMEM, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL."""
_SQLITE_DENIED = frozenset({3, 23})
"""PERM, AUTH."""
# The texts that SQLite itself has for those codes, for exceptions that were made without one.
_SQLITE_AWAY_TEXTS = (
    "database is locked",
    "database table is locked",
    "database schema is locked",
    "unable to open database file",
    "disk I/O error",
    "database or disk is full",
    "interrupted",
    "locking protocol",
)

# SQLSTATE, as PostgreSQL and its relatives have it: a class, or one state.
_SQL_STATES = {
    "08": _AWAY,  # connection
    "53": _AWAY,  # resources: connections, memory, disk
    "58": _AWAY,  # the system under it
    "40001": _AWAY,  # serialisation
    "40P01": _AWAY,  # deadlock
    "55P03": _AWAY,  # lock not available
    "55006": _AWAY,  # object in use
    "57014": _AWAY,  # statement timeout
    "57P": _AWAY,  # shut down, starting
    "25006": _REFUSED,
    "42501": _DENIED,
    "23505": _CONFLICT,  # unique
}
_SQL_STATE_LENGTH = 5

_HTTP_CODES = {
    403: _DENIED,
    404: ErrorCode.NOT_FOUND,
    409: _CONFLICT,
    408: _AWAY,
    429: _AWAY,
    503: _AWAY,
    504: _AWAY,
}
# JetStream says 400 for a last sequence that is not the expected one.
_WRONG_LAST_SEQUENCE = 10071

_GRPC = {
    "UNAVAILABLE": _AWAY,
    "DEADLINE_EXCEEDED": _AWAY,
    "PERMISSION_DENIED": _DENIED,
    "NOT_FOUND": ErrorCode.NOT_FOUND,
    "ABORTED": _CONFLICT,
    "INVALID_ARGUMENT": ErrorCode.UNSUPPORTED_INPUT,
}

_SYSTEM = {
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EROFS: _REFUSED,
    errno.EAGAIN: _AWAY,
    errno.EBUSY: _AWAY,
    errno.EIO: _AWAY,
    errno.ENOSPC: _AWAY,
    errno.EDQUOT: _AWAY,
    errno.EMFILE: _AWAY,
    errno.ENFILE: _AWAY,
}

# A deadline of whoever asks, which may be about more than a connection.
_TIMED_OUT = frozenset({"TimeoutError", "TooSlowError"})
_CONNECTION = frozenset({
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ETIMEDOUT,
    errno.ENOTCONN,
    errno.EADDRNOTAVAIL,
})  # fmt: skip


def is_no_answer(error: BaseException) -> bool:
    """Tell whether `error` means that there was no answer: refused, cut, DNS, TLS, a timeout."""
    names = class_names(error)
    if "HTTPError" in names and isinstance(attribute(error, "code"), int):
        return False  # urllib's is a URLError, although there was an answer
    if not names.isdisjoint(NO_ANSWER | _TIMED_OUT):
        return True
    if type(error) is OSError and error.errno is None:
        # anyio: all attempts to connect failed, and the cause says why.
        return any(is_no_answer(leaf) for leaf in leaves(error.__cause__ or ValueError()))
    return is_lost(error)


def is_lost(error: BaseException) -> bool:
    """Tell whether `error` is the system's own for a connection that failed or broke."""
    return isinstance(error, OSError) and (
        isinstance(error, ConnectionError) or error.errno in _CONNECTION
    )


def code_of_type(error: BaseException) -> ErrorCode | None:
    """Return the code that the type of `error` and its attributes give; None when they say nothing.

    What wraps the error of a database driver, with the driver's as `orig`, counts as that.
    """
    inner = attribute(error, "orig")
    if isinstance(inner, BaseException) and inner is not error:
        code = _judged(inner)
        if code is not None:
            return code
    return _judged(error)


def _judged(error: BaseException) -> ErrorCode | None:
    return next((code for judge in _JUDGES if (code := judge(error)) is not None), None)


def _of_sqlite(error: BaseException) -> ErrorCode | None:
    if not any(
        kind.__name__ == "Error" and _module(kind) in ("sqlite3", "pysqlite3", "sqlite3.dbapi2")
        for kind in type(error).__mro__
    ):
        return None
    code = attribute(error, "sqlite_errorcode")
    if isinstance(code, int):
        kind = code & 0xFF
        if kind in _SQLITE_AWAY:
            return _AWAY
        return _DENIED if kind in _SQLITE_DENIED else _REFUSED
    return _AWAY if own_text(error).startswith(_SQLITE_AWAY_TEXTS) else _REFUSED


def _module(kind: type) -> str:
    return word(attribute(kind, "__module__"))  # a class that is made by hand may have none


def _of_sql_state(error: BaseException) -> ErrorCode | None:
    state = word(attribute(error, "sqlstate")) or word(attribute(error, "pgcode"))
    if len(state) != _SQL_STATE_LENGTH:
        return None
    for length in (_SQL_STATE_LENGTH, 3, 2):
        code = _SQL_STATES.get(state[:length])
        if code is not None:
            return code
    return _REFUSED


def _of_jetstream(error: BaseException) -> ErrorCode | None:
    if not any(_module(kind).startswith("nats.") for kind in type(error).__mro__):
        return None
    code = attribute(error, "code")
    if not isinstance(code, int):
        return None  # no answer, or a mistake in the call: the names of the classes say it
    if attribute(error, "err_code") == _WRONG_LAST_SEQUENCE:
        return _CONFLICT
    return _HTTP_CODES.get(code, _REFUSED)


def _of_grpc(error: BaseException) -> ErrorCode | None:
    if class_names(error).isdisjoint({"RpcError", "GRPCError"}):
        return None
    status = attribute(error, "status") or called(error, "code")
    return _GRPC.get(word(attribute(status, "name")))


def _of_system(error: BaseException) -> ErrorCode | None:
    if isinstance(error, PermissionError):
        return _DENIED
    if is_no_answer(error):
        return _AWAY
    return _SYSTEM.get(error.errno or 0) if isinstance(error, OSError) else None


_JUDGES: tuple[Callable[[BaseException], ErrorCode | None], ...] = (
    _of_sqlite,
    _of_sql_state,
    _of_jetstream,
    _of_grpc,
    _of_system,
)
