"""Takes the pictures of the session pane in docs/pane/, which are for the eye.

    PYTHONPATH=src:gen:tests python tests/pane_shots.py

What they show, the tests in tests/pane hold the page to.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from browsing import Tabs, chromium
from hubs import short_folder
from pane_scenes import write_scenes
from pane_sites import Site, serving_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pane"
SCENES = {
    "board": ("/", "tbody tr"),
    "run": ("/s/s-run", ".diff"),
    "failed": ("/s/s-429", ".card.error"),
    "empty": ("/s/s-empty", ".card.error"),
    "aborted": ("/s/s-abort", ".card.aborted"),
    "missing": ("/s/s-drop", ".card.missing"),
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def _take(page: Page, name: str) -> None:
    page.evaluate("() => document.fonts.ready")
    page.screenshot(path=PICTURES / f"{name}.png")


def _scenes(site: Site, tabs: Tabs, scheme: Literal["light", "dark"]) -> None:
    page = tabs.context(scheme=scheme, width=1000, height=560).new_page()
    for name, (path, shown) in SCENES.items():
        page.goto(site.page(path))
        page.reload()
        page.locator(shown).first.wait_for()
        page.locator(".conn", has_text="Live").wait_for()
        _take(page, f"{name}-{scheme}")
    phone = tabs.context(scheme=scheme, width=390, height=700).new_page()
    phone.goto(site.page("/s/s-429"))
    phone.locator(".card.error").wait_for()
    _take(phone, f"phone-{scheme}")


def _reconnect(site: Site, tabs: Tabs) -> None:
    pages = {
        scheme: tabs.context(scheme=scheme, width=1000, height=560).new_page() for scheme in SCHEMES
    }
    for page in pages.values():
        page.goto(site.page("/s/s-run"))
        page.locator(".conn", has_text="Live").wait_for()
    site.kill()
    for scheme, page in pages.items():
        page.locator(".banner", has_text="attempt 2").wait_for()
        _take(page, f"reconnect-{scheme}")


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with short_folder() as folder, serving_site(folder) as site:
        write_scenes(site.log)
        with chromium() as browser:
            tabs = Tabs(browser)
            for scheme in SCHEMES:
                _scenes(site, tabs, scheme)
            _reconnect(site, tabs)
            tabs.close()


if __name__ == "__main__":
    main()
