"""Says in words what an exception means, where a line in a log or on a terminal tells of it."""

from __future__ import annotations

__all__ = ("words_of",)

import re

from compass_agent.errors.codes import OperationError

_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST = 500


def words_of(error: BaseException) -> str:
    """Return in one line, with secrets masked, what `error` says to a person. Never raises.

    That is its own reason, or what the system says of its number, or its text; else its class, as
    words. Of a group it is what its first exception says.

    >>> words_of(OSError(28, "No space left on device", "/a/journal"))
    'No space left on device'
    >>> words_of(ConnectionResetError())
    'connection reset'
    """
    # Dear to import, and only for failures.
    from compass_agent.errors.foreign import attribute, said  # noqa: PLC0415 - see above
    from compass_agent.errors.groups import leaves  # noqa: PLC0415 - likewise
    from compass_agent.errors.redaction import redact  # noqa: PLC0415 - likewise
    from compass_agent.errors.shapes import valid_text, word  # noqa: PLC0415 - likewise

    error = next(iter(leaves(error)), error)
    reason = attribute(error, "reason") if isinstance(error, OperationError) else None
    text = word(reason) or word(attribute(error, "strerror")) or said(error)
    if text == type(error).__name__:
        text = "no answer in time" if isinstance(error, TimeoutError) else _spelled(text)
    return redact(" ".join(valid_text(text[:_LONGEST]).split()))


def _spelled(name: str) -> str:
    """Return the name of a class of exceptions as words."""
    return _HUMPS.sub(" ", name.removesuffix("Error").removesuffix("Exception") or name).lower()
