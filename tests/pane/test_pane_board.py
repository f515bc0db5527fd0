"""What a row of the board keeps room for, and what it says when an agent gave it a poor title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from frame_words import ERROR, ERRORED, WORKING
from pane_scenes import Pen

if TYPE_CHECKING:
    from browsing import Tabs
    from pane_sites import Site


def test_a_long_title_leaves_the_reason_its_room_and_is_told_whole_on_demand(
    tabs: Tabs, site: Site
) -> None:
    title = "Port the parser " * 40 + "x" * 400
    pen = Pen(site.log, "long-title", title)
    failed = pen.build.session_error(ERROR, "disk full", status=500)
    pen.write(pen.build.lifecycle(WORKING), failed, pen.build.lifecycle(ERRORED))
    page = tabs.open(site.page())
    row = page.locator("tr[data-session=long-title]")
    link = row.get_by_role("link")
    expect(link).to_have_attribute("title", title)
    # Rows are drawn anew at any time: all of it in one go.
    *widths, height = page.evaluate(
        """() => {
          const row = document.querySelector("tr[data-session=long-title]");
          const widths = [...row.children].map((one) => one.offsetWidth);
          return [...widths, row.querySelector("a").offsetHeight];
        }"""
    )
    assert abs(widths[1] - widths[2]) <= 1, widths
    assert min(widths[0], widths[3]) > 100, widths
    assert height < 30, "more than one line"
    assert page.evaluate("() => document.querySelector('main').scrollWidth") <= 1180
    expect(row).to_contain_text("disk full")


def test_a_blank_title_is_none(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "blank-title", " \t ")
    pen.write(pen.build.lifecycle(WORKING), pen.build.prompt("a prompt", "p"))
    page = tabs.open(site.page())
    row = page.locator("tr[data-session=blank-title]")
    expect(row.get_by_role("link")).to_have_text("blank-title")
    expect(row.get_by_text("blank-title")).to_have_count(1)
    row.get_by_role("link").click()
    expect(page.locator(".k-prompt")).to_be_visible()
    expect(page.locator("h1")).to_have_text("blank-title")
    expect(page.locator("h1 small")).to_have_count(0)
    expect(page).to_have_title("blank-title · Compass")
