"""What people see on the pane's two pages, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pane_scenes import LIMIT
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsing import Tabs
    from pane_sites import Site


def test_the_board_shows_what_failed_first_and_why_in_the_row(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page())
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(5)
    expect(page.locator(".conn")).to_have_text("● Live")
    states = [row.inner_text().split("\n")[0] for row in rows.all()]
    words = [re.sub(r"\W", "", state.split("\t")[0]) for state in states]
    assert words == ["Errored", "Errored", "Disconnected", "Working", "Ready"]
    failed = page.locator("tr[data-session=s-429]")
    expect(failed).to_contain_text("Rate limited · HTTP 429 Too Many Requests")
    expect(failed).to_contain_text(LIMIT)
    expect(page.locator("tr[data-session=s-empty]")).to_contain_text("reported no message")
    expect(page.locator("tr[data-session=s-abort]")).to_contain_text("Turn aborted by user (steer)")
    assert "#" not in page.url, "the token stays in the address"


def test_a_turn_that_failed_has_a_card_with_all_that_is_known(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-429"))
    card = page.locator(".card.error")
    expect(card.locator(".card-title")).to_have_text("✖ Rate limited HTTP 429 Too Many Requests")
    expect(card.locator(".message")).to_have_text(LIMIT)
    expect(card).to_contain_text(re.compile(r"RetryYes, in \d+ s|RetryYes; the waiting time has"))
    expect(card).to_contain_text("then try again")
    expect(card).to_contain_text("req_011CUx")
    expect(page.locator("header .badge")).to_have_text("✖ Errored")
    expect(page.locator(".conn")).to_have_text("● Live")
