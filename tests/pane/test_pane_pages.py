"""What people see on the pane's two pages, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from commands import compass
from compass_agent.frames import SessionFrame
from frame_words import COMPLETED, LIMIT, WORKING
from pane_scenes import Pen
from recordings import DATA

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from browsing import Tabs
    from pane_sites import Site


def test_the_board_shows_what_failed_first_and_why_in_the_row(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page())
    rows = page.locator("tbody tr[data-session^=s-]")
    expect(rows).to_have_count(5)
    expect(page.locator(".conn")).to_have_text("● Live")
    states = [row.inner_text().split("\n")[0] for row in rows.all()]
    words = [re.sub(r"\W", "", state.split("\t")[0]) for state in states]
    assert words == ["Errored", "Errored", "Disconnected", "Working", "Ready"]
    failed = page.locator("tr[data-session=s-429]")
    expect(failed).to_contain_text("Rate limited · HTTP 429 Too Many Requests")
    expect(failed).to_contain_text(LIMIT)
    expect(failed).to_contain_text(
        re.compile(r"retry: yes(, in \d+ s|; the waiting time has passed)")
    )
    working = page.locator("tr[data-session=s-run]")
    expect(working).to_contain_text("bash: pytest -q tests/test_retry.py")
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
    # The strip that comes with a failure is no wish of the reader's to stay.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
    expect(page.locator(".follow")).to_have_attribute("aria-pressed", "true", timeout=1)


def test_a_stop_on_purpose_is_grey_and_the_state_stays_ready(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-abort"))
    card = page.locator(".card.aborted")
    expect(card.locator(".card-title")).to_have_text("■ Turn aborted")
    expect(card.locator(".message")).to_have_text("Request was aborted")
    expect(card).to_contain_text("Stopped on purpose, not a crash")
    expect(card).to_contain_text("user (steer)")
    expect(page.locator("header .badge")).to_have_text("○ Ready")
    expect(page.locator(".card.error")).to_have_count(0)
    expect(page.locator(".strip")).to_be_hidden()
    red = page.locator(".s-ERRORED, .red, .t-FAILED")
    expect(red).to_have_count(0)
    interrupted = page.locator(".k-toolCall")
    expect(interrupted).to_contain_text("interrupted bash: git commit --all")


def test_a_failure_without_a_message_says_that_there_was_none(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-empty"))
    card = page.locator(".card.error")
    expect(card.locator(".message")).to_have_text("The agent reported no message.")
    expect(card).to_contain_text("Not known")
    expect(card).to_contain_text("9 min ago")
    expect(page.locator(".k-toolCall")).to_contain_text("failed bash: pytest")


def test_missing_frames_are_told_at_their_place_and_cannot_be_loaded(
    tabs: Tabs, site: Site
) -> None:
    page = tabs.open(site.page("/s/s-drop"))
    expect(page.locator(".card.missing")).to_contain_text("317 frames are missing here")
    kinds = page.locator(".row > .kind").all_inner_texts()
    assert [kind.split()[-1] for kind in kinds][:4] == ["State", "Text", "Missing", "Text"]
    expect(page.locator("header .badge")).to_have_text("┄ Disconnected")


def test_a_run_shows_text_tools_diffs_plan_and_what_was_put_in(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-run"))
    expect(page.locator(".k-assistantText strong")).to_have_text("fake clock")
    tools = page.locator(".k-toolCall")
    expect(tools.nth(0)).to_contain_text("done read tests/test_retry.py 150 ms · 40 lines")
    expect(tools.nth(0).locator(".fold")).to_have_attribute("aria-expanded", "false")
    output = tools.nth(0).locator(".body pre")
    expect(output).to_be_hidden()
    # The browser's own search looks into it, and says so when it found something there.
    expect(output.locator("..")).to_have_attribute("hidden", "until-found")
    output.dispatch_event("beforematch")
    expect(output).to_be_visible()
    expect(tools.nth(0).locator(".fold")).to_have_attribute("aria-expanded", "true")
    changed = "tests/test_retry.py +3 \N{MINUS SIGN}2"
    expect(tools.nth(1).locator("figcaption")).to_have_text(changed)
    expect(tools.nth(1).locator(".came .text").first).to_have_text("    clock = FakeClock()")
    expect(tools.nth(2)).to_contain_text(
        re.compile(r"running bash: pytest .* \(1\d s\)|\(\d\d s\)")
    )
    expect(page.locator(".k-plan")).to_contain_text("1 of 2 done")
    expect(page.locator(".k-sessionInjection")).to_contain_text("steer from user")
    link = page.locator(".k-notice a")
    expect(link).to_have_attribute("href", "https://agents.example/compaction")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    thought = page.locator(".k-thinking .body")
    expect(thought.locator(".fold")).to_have_attribute("aria-expanded", "false")
    expect(thought.locator(".md")).to_be_hidden()
    thought.locator(".fold").click()
    expect(thought.locator(".md")).to_be_visible()
    expect(thought.locator(".md")).to_contain_text("so a slow machine makes it fail")


@pytest.mark.slow
def test_a_frame_can_be_looked_at_and_a_link_leads_to_it(tabs: Tabs, site: Site) -> None:
    context = tabs.context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(site.page("/s/s-429"))
    card = page.locator(".card.error")
    card.get_by_text("Raw frame").click()
    expect(card.locator(".raw pre")).to_contain_text('"retryAfterMs": "42000"')
    card.get_by_role("button", name="Copy link").click()
    page.wait_for_function(
        "() => navigator.clipboard.readText().then((text) => text.includes('#at-'))", polling=100
    )
    link: str = page.evaluate("() => navigator.clipboard.readText()")
    assert link == f"{site.base}/s/s-429#at-{'1' * 16}-5"
    card.get_by_role("button", name="Copy", exact=True).click()
    page.wait_for_function(
        "() => navigator.clipboard.readText().then((text) => text.includes('request: req_011CUx'))",
        polling=100,
    )
    other = context.new_page()
    other.goto(link)
    expect(other.locator(".row.target .card.error")).to_be_visible()
    expect(other.get_by_role("button", name="Paused")).to_be_visible()


@pytest.mark.slow
def test_rows_can_be_filtered_and_searched(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-run"))
    rows = page.locator(".row:visible")
    expect(page.get_by_role("button", name="Tool 3")).to_be_visible()
    whole = rows.count()
    page.get_by_role("button", name="Tool 3").click()
    expect(rows).to_have_count(whole - 3)
    page.get_by_role("button", name="Tool 3").click()
    page.keyboard.press("/")
    page.keyboard.type("pytest -q")
    expect(rows).to_have_count(1)
    page.get_by_label("Search in this session").fill("")
    page.get_by_role("button", name="Only problems 0").click()
    expect(rows).to_have_count(0)


@pytest.mark.slow
def test_keys_lead_through_the_rows_and_can_be_turned_off(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-429"))
    expect(page.locator(".card.error")).to_be_visible()
    page.keyboard.press("e")
    expect(page.locator(".row.target")).to_contain_text("AssertionError")
    page.keyboard.press("e")
    expect(page.locator(".row.target .card.error")).to_be_visible()
    page.keyboard.press("k")
    expect(page.locator(".row.target")).to_contain_text("One more try")
    page.keyboard.press("t")
    assert page.locator("html").get_attribute("data-theme") == "light"
    page.keyboard.press("?")
    page.get_by_label("single keys do something").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("t")
    assert page.locator("html").get_attribute("data-theme") == "light"


@pytest.mark.slow
def test_a_session_can_be_taken_along(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-429"))
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="jsonl").click()
    assert download.value.suggested_filename == "s-429.jsonl"
    assert "req_011CUx" in download.value.path().read_text("utf-8")
    with page.expect_download() as download:
        page.get_by_role("button", name="md", exact=True).click()
    assert download.value.suggested_filename == "s-429.md"
    assert LIMIT in download.value.path().read_text("utf-8")


@pytest.mark.slow
def test_a_phone_shows_one_column_and_nothing_beside_it(tabs: Tabs, site: Site) -> None:
    for path, shown in (("/", "tbody tr"), ("/s/s-429", ".card.error"), ("/s/s-run", ".diff")):
        page = tabs.open(site.page(path), width=360, height=740)
        expect(page.locator(shown).first).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        assert page.evaluate("() => document.querySelector('main').scrollWidth") <= 360


def test_the_recorded_failure_of_a_real_agent_is_explained(tabs: Tabs, site: Site) -> None:
    failed, stopped = DATA / "pi/err-429.jsonl", DATA / "omp/abort-streaming.rpc.jsonl"
    compass("replay", "--quiet", "--log", site.log, "--session", "demo-429", failed)
    compass("replay", "--quiet", "--log", site.log, "--session", "demo-abort", stopped)
    page = tabs.open(site.page("/s/demo-429"))
    card = page.locator(".card.error").last
    expect(card.locator(".chip")).to_have_text("HTTP 429 Too Many Requests")
    expect(card.locator(".message")).to_contain_text("Rate limit")
    expect(card).to_contain_text(re.compile(r"RetryYes(, in \d+ s|; the waiting time has passed)"))
    expect(card).to_contain_text("Wait, for as long as the provider says")
    expect(page.locator("header .badge")).to_have_text("✖ Errored")
    page.goto(f"{site.base}/s/demo-abort")
    expect(page.locator(".card.aborted .card-title")).to_have_text("■ Turn aborted")
    expect(page.locator(".k-state")).to_contain_text(["Ready"])
    expect(page.locator(".card.error")).to_have_count(0)


@pytest.mark.slow
def test_a_state_that_is_told_again_is_shown_once(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-drop"))
    expect(page.locator(".conn")).to_have_text("● Live")
    expect(page.locator(".k-state", has_text="Disconnected")).to_have_count(1)


@pytest.mark.slow
def test_a_kind_that_is_not_known_is_shown(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "odd")
    frame = SessionFrame.FromString(b"\x12\x06\x0a\x011\xf2\x07\x00")
    pen.write(pen.build.lifecycle(WORKING), frame)
    page = tabs.open(site.page("/s/odd"))
    expect(page.locator(".k-unknown")).to_contain_text(
        "An event kind that this page does not know."
    )


@pytest.mark.slow
def test_a_search_sees_what_rows_become_and_a_link_leads_to_a_row_that_was_hidden(
    tabs: Tabs, site: Site
) -> None:
    pen = Pen(site.log, "hidden")
    pen.write(
        pen.build.lifecycle(WORKING),
        pen.build.tool_call("t", "bash: wait"),
        pen.build.prompt("a prompt", "p"),
    )
    page = tabs.open(site.page("/s/hidden"))
    expect(page.locator(".conn")).to_have_text("● Live")
    rows = page.locator(".row:visible")
    search = page.get_by_label("Search in this session")
    search.fill("needle")
    expect(rows).to_have_count(0)
    pen.write(pen.build.tool_call_update("t", COMPLETED, "a needle"))
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Only problems 0").click()
    page.get_by_role("button", name="Prompt 1").click()
    page.evaluate("(at) => { location.hash = at; }", f"#at-{'1' * 16}-3")
    expect(page.locator(".row.target")).to_contain_text("a prompt")
    expect(page.locator(".row.target")).to_be_visible()
    expect(rows).to_have_count(3)
    expect(search).to_have_value("")
    page.evaluate("(at) => { location.hash = at; }", f"#at-{'1' * 16}-99")
    expect(page.locator(".told")).to_have_text(
        "That is not there yet, or not any more; this page waits for it."
    )
    expect(page.locator(".told")).to_be_in_viewport()


@pytest.mark.slow
def test_that_only_problems_are_shown_is_told_without_colour(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-429"))
    button = page.get_by_role("button", name="Only problems")
    mark = "(button) => getComputedStyle(button, '::before').content"
    assert button.evaluate(mark) == "none"
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert "✓" in button.evaluate(mark)
    page.emulate_media(forced_colors="active")
    edge = "() => getComputedStyle(document.querySelector('.row')).borderLeftColor"
    ground = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(edge) == page.evaluate(ground), "every row looks like the one of a link"


@pytest.mark.slow
def test_a_server_that_is_not_ready_is_asked_again(tabs: Tabs, site: Site) -> None:
    def busy(route: Route) -> None:
        route.fulfill(status=503, json={"detail": "soon"})

    for path, there in (("/s/s-429", ".card.error"), ("/", "tbody tr")):
        page = tabs.context().new_page()
        page.route("**/v1/info", busy, times=2)
        page.goto(site.page(path))
        expect(page.locator(there).first).to_be_visible()
        expect(page.locator(".conn")).to_have_text("● Live")
        assert sum("503" in error for error in tabs.errors) == 2
        tabs.errors.clear()


@pytest.mark.slow
def test_an_address_that_is_no_name_is_answered_in_words(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-429"))
    page.goto(f"{site.base}/s/%E0%A4%A")
    expect(page.locator("h1")).to_contain_text("%E0%A4%A")
    tabs.errors.clear()
