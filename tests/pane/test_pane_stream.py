"""The pane's stream: live, over a server that is killed, over tabs, and to the session's end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from frame_words import ABORTED, ERROR, ERRORED, READY, STOPPED, WORKING
from hubs import short_folder
from pane_scenes import Pen
from pane_sites import serving_site

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Page

    from browsing import Tabs
    from compass_agent.frames import SessionFrame
    from pane_sites import Site

AT_REST = """() => {
  const { scrollTop } = document.querySelector('main');
  const same = globalThis.before === scrollTop;
  globalThis.before = scrollTop;
  return same && scrollTop > 0;
}"""
NO_WORKER = "delete globalThis.SharedWorker"


@pytest.fixture
def own_site() -> Generator[Site]:
    """A server that a test may kill."""
    with short_folder() as folder, serving_site(folder) as made:
        yield made


def words(pen: Pen, first: int, count: int) -> list[SessionFrame]:
    """Prompts, each a row of its own."""
    numbers = range(first, first + count)
    return [pen.build.prompt(f"row {number}", f"p{number}") for number in numbers]


def numbers_on(page: Page) -> list[int]:
    texts = page.locator(".k-prompt .said").all_inner_texts()
    return [int(text.removeprefix("row ")) for text in texts]


@pytest.mark.requirement("G-PANE-1")
@pytest.mark.parametrize(
    "worker",
    [
        pytest.param(True, id="shared worker"),
        pytest.param(False, id="own stream", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_is_killed_costs_a_reader_nothing(
    tabs: Tabs, own_site: Site, *, worker: bool
) -> None:
    pen = Pen(own_site.log, "s1")
    pen.write(pen.build.lifecycle(WORKING), *words(pen, 1, 5))
    context = tabs.context()
    if not worker:
        context.add_init_script(NO_WORKER)
    page = context.new_page()
    page.goto(own_site.page("/s/s1"))
    chip, banner = page.locator(".conn"), page.locator(".banner")
    expect(chip).to_have_text("● Live")
    expect(page.locator(".k-prompt")).to_have_count(5)
    expect(banner).to_be_hidden()

    own_site.kill()
    expect(chip).to_have_text("↻ Reconnecting")
    expect(banner).to_contain_text("The session itself may still be running. Trying again in")
    expect(page.locator("header .badge")).to_contain_text(re.compile("Working, last known [0-9]"))
    pen.write(*words(pen, 6, 5))
    own_site.start()
    # No real click: by then the page may have come back by itself, and hidden the button.
    banner.get_by_role("button", name="Retry now", include_hidden=True).dispatch_event("click")

    expect(chip).to_have_text("● Live")
    expect(banner).to_be_hidden()
    expect(page.locator(".k-prompt")).to_have_count(10)
    pen.write(*words(pen, 11, 2))
    expect(page.locator(".k-prompt")).to_have_count(12)
    assert numbers_on(page) == list(range(1, 13))
    page.reload()
    expect(page.locator(".k-prompt")).to_have_count(12)
    assert numbers_on(page) == list(range(1, 13))


def test_the_stream_ends_when_the_session_ends(tabs: Tabs, own_site: Site) -> None:
    pen = Pen(own_site.log, "s1")
    pen.write(pen.build.lifecycle(WORKING), *words(pen, 1, 1))
    page = tabs.open(own_site.page("/s/s1"))
    expect(page.locator(".conn")).to_have_text("● Live")
    pen.write(pen.build.lifecycle(STOPPED), end=STOPPED)
    expect(page.locator(".conn")).to_have_text("□ Ended")
    expect(page.locator(".k-end")).to_contain_text("session ended □ Stopped")
    asked = [one for one in tabs.requests if "/v1/" in one]
    own_site.kill()
    # Nothing is open any more that could be lost: the page does not notice that the server is gone.
    assert page.evaluate("() => fetch('/healthz').then(() => 'there', () => 'gone')") == "gone"
    expect(page.locator(".banner")).to_be_hidden()
    assert [one for one in tabs.requests if "/v1/" in one] == asked


def test_a_failure_is_told_as_it_happens_and_later_work_clears_it(
    tabs: Tabs, own_site: Site
) -> None:
    pen = Pen(own_site.log, "s1")
    pen.write(pen.build.lifecycle(WORKING), pen.build.assistant_text("One **more**", "m"))
    page = tabs.open(own_site.page("/s/s1"))
    expect(page.locator(".conn")).to_have_text("● Live")
    expect(page.locator(".stream")).to_have_text("One **more**")
    body = '{"error": {"message": "Too many."}}'
    failed = pen.build.session_error(ERROR, body, status=429, retry_after_ms=42_000)
    pen.write(pen.build.assistant_text(" try", "m"), failed, pen.build.lifecycle(ERRORED))
    card = page.locator(".card.error")
    expect(card.locator(".message")).to_have_text(body)
    expect(card).to_contain_text(re.compile(r"Yes, in (4\d|3\d) s"))
    expect(card).to_contain_text("Rate limited")
    expect(card).to_contain_text("then try again")
    expect(page.get_by_role("alert")).to_have_text("Rate limited. Too many.")
    expect(page.locator(".k-assistantText strong")).to_have_text("more")
    expect(page.locator("header .badge")).to_have_text("✖ Errored")
    first = card.locator("dd").nth(1).inner_text()
    expect(card.locator("dd").nth(1)).not_to_have_text(first)

    # The card scrolls away: one line at the top says it, and leads back.
    pen.write(*words(pen, 1, 60))
    expect(page.locator(".strip")).to_contain_text("Rate limited · HTTP 429 Too Many Requests")
    page.locator(".strip").get_by_role("button", name="Show").click()
    expect(card).to_be_in_viewport()
    expect(page.locator(".strip")).to_be_hidden()
    page.get_by_role("button", name="Paused").click()
    pen.write(pen.build.lifecycle(WORKING), *words(pen, 61, 1))
    expect(page.locator(".k-prompt")).to_have_count(61)
    expect(page.locator(".strip")).to_be_hidden()
    stopped = pen.build.session_error(ABORTED, "stop", stopped_by="user")
    pen.write(stopped, pen.build.lifecycle(READY))
    expect(page.locator("header .badge")).to_have_text("○ Ready")


def test_who_reads_further_up_is_left_there_and_told_what_came(tabs: Tabs, own_site: Site) -> None:
    pen = Pen(own_site.log, "s1")
    pen.write(pen.build.lifecycle(WORKING), *words(pen, 1, 80))
    page = tabs.open(own_site.page("/s/s1"))
    expect(page.get_by_text("row 80", exact=True)).to_be_in_viewport()
    page.mouse.move(500, 500)
    page.mouse.wheel(0, -700)
    expect(page.get_by_role("button", name="Paused")).to_be_visible()
    where = "() => Math.round(document.querySelector('main').scrollTop)"
    page.wait_for_function(AT_REST, polling=100)
    before: int = page.evaluate(where)
    pen.write(*words(pen, 81, 5))
    pill = page.locator(".pill")
    expect(pill).to_contain_text("5 new, jump to latest")
    assert page.evaluate(where) == before
    pill.click()
    expect(page.get_by_text("row 85", exact=True)).to_be_in_viewport()
    expect(pill).to_be_hidden()
    pen.write(*words(pen, 86, 20))
    expect(page.get_by_text("row 105", exact=True)).to_be_in_viewport()


def test_who_moves_without_wheel_or_hand_is_left_there_and_told_of_what_can_be_seen(
    tabs: Tabs, own_site: Site
) -> None:
    pen = Pen(own_site.log, "s1")
    pen.write(pen.build.lifecycle(WORKING), *words(pen, 1, 300))
    page = tabs.open(own_site.page("/s/s1"))
    expect(page.get_by_text("row 300", exact=True)).to_be_in_viewport()
    page.wait_for_function(AT_REST, polling=100)
    # As the browser's own search does.
    page.get_by_text("row 120", exact=True).evaluate(
        "(row) => row.scrollIntoView({block: 'center'})"
    )
    expect(page.get_by_role("button", name="Paused")).to_be_visible()
    page.get_by_role("button", name="Prompt 300").click()
    pen.write(*words(pen, 301, 3), *[pen.build.notice("seen") for _ in range(2)])
    expect(page.locator(".pill")).to_contain_text("2 new, jump to latest")
    page.get_by_role("button", name="Prompt 303").click()
    page.keyboard.press("G")
    expect(page.get_by_text("seen").last).to_be_in_viewport()
    page.wait_for_function(AT_REST, polling=100)
    page.evaluate("() => document.querySelector('main').scrollBy(0, -300)")
    expect(page.get_by_role("button", name="Paused")).to_be_visible()
    page.keyboard.press("G")
    page.locator("h1").click()
    page.keyboard.press("PageUp")
    expect(page.get_by_role("button", name="Paused")).to_be_visible()


@pytest.mark.slow
@pytest.mark.requirement("G-PANE-1")
@pytest.mark.parametrize("worker", [True, False], ids=["shared worker", "one of the tabs"])
def test_twelve_tabs_share_one_stream_and_all_stay_live(
    tabs: Tabs, own_site: Site, *, worker: bool
) -> None:
    pens = [Pen(own_site.log, f"s{number}") for number in range(4)]
    for pen in pens:
        pen.write(pen.build.lifecycle(WORKING), *words(pen, 1, 2))
    context = tabs.context()
    if not worker:
        context.add_init_script(NO_WORKER)
    pages = [context.new_page() for _ in range(12)]
    for number, page in enumerate(pages):
        page.goto(own_site.page(f"/s/s{number % 4}"))
    for page in pages:
        expect(page.locator(".k-prompt")).to_have_count(2)
        expect(page.locator(".conn")).to_have_text("● Live")
    for pen in pens:
        pen.write(*words(pen, 3, 3))
    for page in pages:
        expect(page.locator(".k-prompt")).to_have_count(5)
        assert numbers_on(page) == [1, 2, 3, 4, 5]
    # The first one, which has the stream where there is no worker, goes.
    pages.pop(0).close()
    for pen in pens:
        pen.write(*words(pen, 6, 1))
    for page in pages:
        expect(page.locator(".k-prompt")).to_have_count(6)
        assert numbers_on(page) == [1, 2, 3, 4, 5, 6]
        expect(page.locator(".conn")).to_have_text("● Live")


@pytest.mark.slow
def test_the_board_changes_as_sessions_do(tabs: Tabs, own_site: Site) -> None:
    pen = Pen(own_site.log, "s1", "First")
    pen.write(pen.build.lifecycle(WORKING))
    page = tabs.open(own_site.page())
    expect(page.locator("tbody tr")).to_have_count(1)
    other = Pen(own_site.log, "s2", "Second")
    other.write(
        other.build.lifecycle(WORKING),
        other.build.session_error(ERROR, "boom", status=500),
        other.build.lifecycle(ERRORED),
    )
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody tr").first).to_contain_text("Second")
    expect(page.locator("tbody tr").first).to_contain_text("HTTP 500")
    page.get_by_role("link", name="Second").click()
    expect(page.locator(".card.error .message")).to_have_text("boom")
    page.get_by_role("link", name="← Sessions").click()
    expect(page.locator("tbody tr")).to_have_count(2)
