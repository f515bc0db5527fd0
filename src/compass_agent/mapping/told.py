"""What failures are told as, and which were, so that one failure is told once."""

from __future__ import annotations

__all__ = ("ToldFailures", "without_secrets")

from compass_agent import errors

# Retries of one prompt; more different texts than this are not compared.
_REMEMBERED = 64


def without_secrets(text: str) -> str:
    """Return `text` with what looks like a secret masked: no frame may hold one."""
    # An attribute of the package: what masks is imported with the first failure, and not before.
    return errors.redact(text) if text else text


class ToldFailures:
    """The texts that were told since the current work began, as they were told: without secrets."""

    __slots__ = ("_statuses", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._statuses: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, text: str, status: int | None = None) -> None:
        """Note that a failure was told."""
        text = without_secrets(text)
        if text not in self._texts:
            self._texts = [*self._texts[-_REMEMBERED:], text]
        if status is not None:
            self._statuses.add(status)

    def covers(self, text: str) -> bool:
        """Tell whether `text` equals a told text or contains one."""
        text = without_secrets(text)
        return any(told == text or (told and told in text) for told in self._texts)

    def is_same_failure(self, text: str, status: int | None) -> bool:
        """Tell whether a later report of other origin is one of the told failures.

        Besides what `covers` takes: `text` is a part of a told text, or its status was told.
        """
        if status is not None and status in self._statuses:
            return True
        if self.covers(text):
            return True
        text = without_secrets(text)
        return any(text and text in told for told in self._texts)

    def clear(self) -> None:
        """Forget everything: new work began."""
        self._texts.clear()
        self._statuses.clear()
