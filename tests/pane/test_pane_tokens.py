"""The token in a browser: brought by a link, given by hand, changed while pages are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from frame_words import WORKING
from hubs import short_folder
from pane_scenes import Pen
from pane_sites import TOKEN, serving_site

if TYPE_CHECKING:
    from browsing import Tabs
    from pane_sites import Site


@pytest.mark.slow
def test_without_the_token_the_page_asks_for_it(tabs: Tabs, site: Site) -> None:
    page = tabs.open(f"{site.base}/s/s-429#t=wrong")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    expect(page.locator(".card.error")).to_be_visible()
    # That the first request was refused is all that the console has to tell.
    assert all("401" in error for error in tabs.errors)
    tabs.errors.clear()


def test_a_link_with_a_wrong_token_costs_none_that_works(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page())
    expect(page.locator("tbody tr").first).to_be_visible()
    page.goto(f"{site.base}/s/s-429#at-{'1' * 16}-5&t=wrong")
    expect(page.locator(".row.target .card.error")).to_be_visible()
    expect(page.locator(".told")).to_contain_text("The token in that address is refused")
    assert page.url == f"{site.base}/s/s-429#at-{'1' * 16}-5"
    assert all("401" in error for error in tabs.errors)
    tabs.errors.clear()


def test_a_link_that_has_the_token_first_leads_to_its_place(tabs: Tabs, site: Site) -> None:
    page = tabs.open(f"{site.page('/s/s-429')}&at-{'1' * 16}-5")
    expect(page.locator(".row.target .card.error")).to_be_visible()
    assert page.url == f"{site.base}/s/s-429#at-{'1' * 16}-5"


@pytest.mark.slow
def test_a_token_that_was_changed_is_asked_for_once_for_all_tabs(tabs: Tabs) -> None:
    with short_folder() as folder, serving_site(folder) as site:
        pen = Pen(site.log, "s1")
        pen.write(pen.build.lifecycle(WORKING))
        context = tabs.context()
        pages = [context.new_page() for _ in range(3)]
        for page, path in zip(pages, ("/s/s1", "/s/s1", "/"), strict=True):
            page.goto(site.page(path))
            expect(page.locator(".conn")).to_have_text("● Live")
        site.kill()
        site.change_token("f" * 32)
        site.start()
        for page in pages:
            expect(page.locator(".banner")).to_contain_text("The server asks for its token")
        pages[0].get_by_label("Token").fill("f" * 32)
        pages[0].get_by_role("button", name="Open").click()
        for page in pages:
            expect(page.locator(".conn")).to_have_text("● Live")
            expect(page.locator(".banner")).to_be_hidden()
        # Or by the address that a new start prints.
        site.kill()
        site.change_token("e" * 32)
        site.start()
        expect(pages[2].get_by_label("Token")).to_be_visible()
        pages[2].goto(f"{site.base}/#t={'e' * 32}")
        for page in pages:
            expect(page.locator(".conn")).to_have_text("● Live")
    tabs.errors.clear()
