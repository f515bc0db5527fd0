"""Decides who may ask at all, before anything else is looked at.

In this order, on every route: the Host must be one of ours, so that no page can reach us under a
name of its own (DNS rebinding); a browser's request must come from our own pages, unless somebody
follows a link to one of them; and who comes by TCP must bring the token. No answer permits another
origin to read it.
"""

from __future__ import annotations

__all__ = ("LOOPBACK_HOSTS", "Guard")

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from compass_agent.services.bearer import Bearer
from compass_agent.services.http.problems import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.datastructures import Headers
    from starlette.responses import Response

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""The names under which a machine reaches itself."""

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII)
_OUR_SITES = frozenset({"same-origin", "none"})


class Guard:
    """Checks requests by their headers.

    Args:
        token: What a caller must bring, as `Authorization: Bearer TOKEN`; None: nothing.
        hosts: The names in the Host header that are taken, without a port.
        is_open: Whether a path needs no token.
        is_page: Whether a path is a page without data, to which any site may have a link.
    """

    def __init__(
        self,
        token: str | None,
        hosts: Iterable[str],
        is_open: Callable[[str], bool],
        is_page: Callable[[str], bool],
    ) -> None:
        self._bearer = None if token is None else Bearer(token)
        self._hosts = frozenset(host.lower() for host in hosts)
        self._is_open = is_open
        self._is_page = is_page

    def refuse(self, method: str, path: str, headers: Headers) -> Response | None:
        """Return the answer for a request that is refused; None: it may go on."""
        if not self._is_our_host(headers.getlist("host")):
            message = "This host name is not served here."
            return refusal(HTTPStatus.MISDIRECTED_REQUEST, message)
        follows = method == "GET" and self._is_page(path) and _is_navigation(headers)
        if not follows and not _is_our_site(headers):
            message = "Pages of other origins may not ask."
            return refusal(HTTPStatus.FORBIDDEN, message)
        if not self._is_open(path) and not self._is_admitted(headers):
            message = "A token is needed, as a bearer."
            challenge = {"WWW-Authenticate": 'Bearer realm="compass"'}
            return refusal(HTTPStatus.UNAUTHORIZED, message, headers=challenge)
        return None

    def _is_our_host(self, given: list[str]) -> bool:
        if len(given) != 1:
            return False
        host = _HOST.fullmatch(given[0].lower())
        return host is not None and host[1].rstrip(".") in self._hosts

    def _is_admitted(self, headers: Headers) -> bool:
        given = headers.getlist("authorization")
        return self._bearer is None or self._bearer.admits(given[0] if len(given) == 1 else "")


def _is_our_site(headers: Headers) -> bool:
    """Tell whether a browser says that the request comes from our own pages, or no browser asks."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in _OUR_SITES:
        return False
    host = headers.get("host", "").lower()
    return all(
        origin.lower() in {f"http://{host}", f"https://{host}"}
        for origin in headers.getlist("origin")
    )


def _is_navigation(headers: Headers) -> bool:
    """Tell whether a browser says that it opens a page in a tab, as when a link is followed.

    A page of another site sees nothing of what it leads to, and may not show it in a frame.
    """
    told = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return told == ("navigate", "document") and "origin" not in headers
