"""A real Chromium for tests, and what a page did in it: its errors, and what it asked for.

On a machine without Chromium such tests skip; with CI set they fail. The driver's loop runs in the
thread of the tests as long as the browser lives, so a browser lives for one module, and what needs
an event loop of its own runs in another thread (`aside`).
"""

from __future__ import annotations

__all__ = ("Tabs", "aside", "chromium", "no_chromium")

import importlib.util
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

_ARGUMENTS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_PATIENCE_MS = 15_000
_Result = TypeVar("_Result")


def no_chromium() -> str | None:
    """Why there is no browser to test with; None: there is one."""
    if importlib.util.find_spec("playwright") is None:
        return "needs playwright"
    return None if shutil.which("chromium") else "needs Debian's chromium"


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 - may be absent

    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def aside(work: Callable[[], _Result]) -> _Result:
    """Do `work` in another thread, where it may run an event loop; return its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@dataclass
class Tabs:
    """Opens pages, and remembers what went wrong in them.

    Attributes:
        browser: Where they are opened.
        errors: Errors of scripts, and of the console: what the policy refused is among them.
        requests: All addresses that pages asked for.
    """

    browser: Browser
    errors: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])
    _contexts: list[BrowserContext] = field(default_factory=list[Any])

    def context(
        self,
        *,
        scheme: Literal["light", "dark"] = "light",
        width: int = 1180,
        height: int = 820,
        **options: Any,
    ) -> BrowserContext:
        """A browser's profile of its own."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            timezone_id="UTC",
            **options,
        )
        context.set_default_timeout(_PATIENCE_MS)
        context.on("page", self._watch)
        context.on("request", self._on_request)
        self._contexts.append(context)
        return context

    def open(self, address: str, **options: Any) -> Page:
        """A page in a profile of its own."""
        page = self.context(**options).new_page()
        page.goto(address)
        return page

    def close(self) -> None:
        """Close all of them."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()

    def _watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._on_console)

    def _on_console(self, message: ConsoleMessage) -> None:
        # That a server cannot be reached is told by the browser itself.
        if message.type in {"error", "warning"} and "net::ERR_" not in message.text:
            self.errors.append(message.text)

    def _on_request(self, request: Request) -> None:
        self.requests.append(request.url)


def required() -> bool:
    """Whether a test may not be skipped."""
    return bool(os.environ.get("CI"))
