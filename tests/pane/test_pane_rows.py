"""What can be done with a row, by pointer and by keys, and what a row keeps as it changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from commands import compass
from compass_agent.frames import AgentToolCallStatus
from frame_words import ERROR, WORKING
from pane_scenes import Pen

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from browsing import Tabs
    from pane_sites import Site

RUNS = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_IN_PROGRESS
PASTED = "(text) => navigator.clipboard.readText().then((found) => found.includes(text))"
FOCUSED = "() => document.activeElement.textContent"


def expect_copied(page: Page, text: str) -> None:
    page.wait_for_function(PASTED, arg=text, polling=50)


def test_every_row_can_be_copied_linked_and_looked_at_and_stays_as_it_was_left(
    tabs: Tabs, site: Site
) -> None:
    pen = Pen(site.log, "rows")
    build = pen.build
    pen.write(
        build.lifecycle(WORKING),
        build.prompt("a prompt", "p"),
        build.notice("a notice"),
        build.tool_call("t", "bash: wait"),
        build.tool_call_update("t", RUNS, "one line\n" * 30),
    )
    context = tabs.context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(site.page("/s/rows"))
    tool = page.locator(".k-toolCall")
    expect(page.locator(".conn")).to_have_text("● Live")
    page.keyboard.press("k")
    expect(page.locator(".row.target")).to_contain_text("bash: wait")
    page.keyboard.press("c")
    expect_copied(page, "bash: wait\none line\none line")
    page.keyboard.press("l")
    expect_copied(page, f"{site.base}/s/rows#at-{'1' * 16}-4")
    page.keyboard.press("r")
    expect(tool.locator(".raw pre")).to_contain_text('"toolCallId": "t"')
    page.keyboard.press("k")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "Copy"
    page.keyboard.press("Enter")
    expect_copied(page, "a notice")
    expect_pointed_at(page)
    expect_kept(page, pen)


def expect_pointed_at(page: Page) -> None:
    prompt = page.locator(".k-prompt")
    expect(prompt.get_by_role("button")).to_have_count(0)
    prompt.hover()
    prompt.get_by_role("button", name="Copy", exact=True).click()
    expect_copied(page, "a prompt")
    page.get_by_label("Search in this session").fill("copy link")
    expect(page.locator(".row:visible")).to_have_count(0)
    page.get_by_label("Search in this session").fill("")


def expect_kept(page: Page, pen: Pen) -> None:
    build = pen.build
    fold = page.locator(".k-toolCall .fold")
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    pen.write(build.tool_call_update("t", RUNS, "one line\n" * 30 + "the last"))
    output = page.locator(".k-toolCall .body pre")
    expect(output).to_contain_text("the last")
    expect(fold).to_be_focused()
    page.reload()
    expect(fold).to_have_attribute("aria-expanded", "true")
    expect(output).to_be_visible()


def test_a_late_failure_has_its_advice_at_once_and_a_removed_session_is_told(
    tabs: Tabs, site: Site
) -> None:
    old = Pen(site.log, "leaving", epoch="1" * 16)
    old.write(old.build.lifecycle(WORKING))
    new = Pen(site.log, "leaving", epoch="2" * 16)
    new.write(new.build.lifecycle(WORKING), new.build.prompt("newer", "p"))
    page = tabs.open(site.page("/s/leaving"))
    expect(page.locator(".conn")).to_have_text("● Live")
    old.write(old.build.session_error(ERROR, "busy", status=503))
    card = page.locator(".card.error")
    expect(card).to_contain_text("busy")
    expect(card).to_contain_text("What to do")
    expect(card).to_contain_text(re.compile("Retry *Yes"))
    compass("sessions", "rm", "--log", site.log, "--yes", "--force", "leaving")
    expect(page.locator(".banner")).to_contain_text("The session was removed")
    expect(page.get_by_text("newer", exact=True)).to_be_visible()
