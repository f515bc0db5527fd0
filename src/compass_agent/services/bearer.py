"""The token that callers by TCP must bring, checked alike by every server."""

from __future__ import annotations

__all__ = ("Bearer",)

import hmac

_SCHEME = b"bearer"


class Bearer:
    """Checks what callers send as `authorization`: `Bearer TOKEN`, the first word in any case.

    Args:
        token: What they must bring.
    """

    def __init__(self, token: str) -> None:
        self._expected = b"Bearer " + token.encode()

    def admits(self, given: str | bytes) -> bool:
        """Tell whether that is the token; how long it takes tells nothing of it."""
        offered = given if isinstance(given, bytes) else given.encode("utf-8", "replace")
        scheme, blank, token = offered.partition(b" ")
        if blank and scheme.lower() == _SCHEME:
            offered = b"Bearer " + token.lstrip(b" ")
        return hmac.compare_digest(offered, self._expected)
