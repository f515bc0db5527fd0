"""What is not there yet is waited for, in words; what cannot be had now is told, and had later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from compass_agent.frames import AgentSessionState
from frame_words import WORKING
from pane_scenes import Pen

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from browsing import Tabs
    from pane_sites import Site

EPOCH = "1" * 16
# The page's patience, twenty times as short.
HASTY = """
const patience = AbortSignal.timeout;
AbortSignal.timeout = (ms) => patience.call(AbortSignal, ms / 20);
"""


def silent(_: Route) -> None:
    """Take a request, and never answer."""


def busy(route: Route) -> None:
    route.fulfill(status=503, json={"detail": "The log is busy."})


def retry(page: Page) -> None:
    # No real click: by then the page may have come back by itself, and hidden the button.
    button = page.get_by_role("button", name="Retry now", include_hidden=True)
    button.dispatch_event("click")


def test_a_session_that_is_not_there_yet_is_waited_for(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/soon"))
    expect(page.locator(".banner")).to_contain_text("No session named soon yet; waiting for it.")
    expect(page.locator(".conn")).to_have_text("◌ Waiting")
    pen = Pen(site.log, "soon", "It came")
    pen.write(pen.build.lifecycle(WORKING), pen.build.prompt("first", "p1"))
    expect(page.get_by_text("first", exact=True)).to_be_visible()
    expect(page.locator(".conn")).to_have_text("● Live")
    expect(page.locator(".banner")).to_be_hidden()
    expect(page.locator("h1")).to_contain_text("It came")
    pen.write(pen.build.prompt("second", "p2"))
    expect(page.get_by_text("second", exact=True)).to_be_visible()
    assert all("404" in error for error in tabs.errors)
    tabs.errors.clear()


def test_a_link_to_what_is_not_there_yet_goes_there_when_it_comes(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "ahead")
    pen.write(pen.build.lifecycle(WORKING), pen.build.prompt("first", "p1"))
    context = tabs.context()
    page, other = context.new_page(), context.new_page()
    told = page.locator(".told")
    for one in (page, other):
        one.goto(f"{site.page('/s/ahead')}&at-{EPOCH}-4")
        expect(one.locator(".told")).to_contain_text("this page waits for it")
    other.get_by_role("button", name="Paused").click()
    expect(other.locator(".told")).to_be_empty()
    pen.write(pen.build.prompt("second", "p2"))
    expect(page.get_by_text("second", exact=True)).to_be_visible()
    expect(page.locator(".row.target")).to_have_count(0)
    expect(told).to_contain_text("this page waits for it")
    pen.write(*[pen.build.prompt(f"more {number}", f"q{number}") for number in range(80)])
    expect(page.locator(".row.target")).to_contain_text("more 0")
    expect(page.locator(".row.target")).to_be_in_viewport()
    expect(told).to_be_empty()
    # Who follows has changed their mind.
    expect(other.get_by_text("more 79")).to_be_in_viewport()
    expect(other.locator(".row.target")).to_have_count(0)
    # A run that is over brings no more.
    state = AgentSessionState.AGENT_SESSION_STATE_STOPPED
    pen.write(pen.build.lifecycle(state), end=state)
    expect(page.locator(".conn")).to_have_text("□ Ended")
    page.evaluate("(at) => { location.hash = at; }", f"#at-{EPOCH}-999")
    expect(told).to_have_text("That is not kept any more, or never was.")


@pytest.mark.parametrize(("path", "there"), [("/s/s-429", ".card.error"), ("/", "tbody tr")])
def test_a_server_that_takes_requests_and_never_answers_is_told_and_asked_again(
    tabs: Tabs, site: Site, path: str, there: str
) -> None:
    context = tabs.context()
    context.add_init_script(HASTY)
    page = context.new_page()
    page.route("**/v1/**", silent)
    page.goto(site.page(path))
    banner = page.locator(".banner")
    expect(banner).to_contain_text("Connection lost.", timeout=3_000)
    expect(banner).to_contain_text(re.compile(r"attempt [2-9]"))
    expect(page.locator("header")).not_to_contain_text("last known")
    page.unroute("**/v1/**")
    retry(page)
    expect(page.locator(there).first).to_be_visible()
    expect(page.locator(".conn")).to_have_text("● Live")
    expect(banner).to_be_hidden()


def test_what_lies_before_and_cannot_be_loaded_is_told_as_that(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "before")
    prompts = [pen.build.prompt(f"row {number}", f"p{number}") for number in range(400)]
    pen.write(pen.build.lifecycle(WORKING), *prompts)
    page = tabs.context().new_page()
    earlier = "**/frames?before=*"
    page.route(earlier, busy)
    page.goto(f"{site.page('/s/before')}&at-{EPOCH}-11")
    told = page.locator(".told")
    expect(told).to_contain_text("The log is busy.")
    expect(page.locator(".earlier")).to_have_text("The log is busy. Load earlier")
    page.unroute(earlier)
    told.get_by_role("button", name="Try again").click()
    expect(page.locator(".row.target")).to_contain_text("row 9")
    expect(page.locator(".row.target")).to_be_in_viewport()
    expect(told).to_be_empty()
    assert all("503" in error for error in tabs.errors)
    tabs.errors.clear()


def test_what_two_tabs_fold_is_kept_of_both(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "folds")
    thoughts = [pen.build.thinking(f"thought {name} " * 40, name) for name in "abc"]
    pen.write(pen.build.lifecycle(WORKING), *thoughts, pen.build.prompt("done", "p"))
    context = tabs.context()
    pages = [context.new_page() for _ in range(2)]
    for page in pages:
        page.goto(site.page("/s/folds"))
        expect(page.locator(".k-thinking .fold")).to_have_count(3)
    for number, page in enumerate(pages):
        page.locator(".k-thinking .fold").nth(number).click()
    for page in pages:
        page.reload()
        opened = page.locator(".k-thinking .fold[aria-expanded=true]")
        expect(opened).to_have_count(2)
