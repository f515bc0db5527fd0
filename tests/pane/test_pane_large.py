"""Sessions of tens of thousands of frames: shown at once, followed smoothly, in bounded memory."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from frame_words import COMPLETED, WORKING
from hubs import short_folder
from pane_scenes import Pen
from pane_sites import serving_site

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Page

    from browsing import Tabs
    from compass_agent.frames import SessionFrame
    from pane_sites import Site

FRAMES = 50_000
MOST_ROWS = 5_600
# Notes when the first row is there, and how long each step of drawing takes.
WATCH = """
globalThis.steps = [];
new MutationObserver(() => {
  if (document.querySelector('.row')) globalThis.firstRow ??= performance.now();
}).observe(document, { childList: true, subtree: true });
const frame = globalThis.requestAnimationFrame;
globalThis.requestAnimationFrame = (run) => frame((at) => {
  const begun = performance.now();
  run(at);
  document.body.offsetHeight;
  globalThis.steps.push(performance.now() - begun);
});
"""


@pytest.fixture
def large() -> Generator[tuple[Site, Pen]]:
    """A server with a session of many frames, whose writer goes on."""
    with short_folder() as folder, serving_site(folder) as site:
        pen = Pen(site.log, "large", "A large session")
        for first in range(0, FRAMES, 5_000):
            pen.write(*frames(pen, first, 5_000))
        yield site, pen


def frames(pen: Pen, first: int, count: int) -> list[SessionFrame]:
    """Tool calls with output, and messages in three pieces: five frames, two rows."""
    made: list[SessionFrame] = [pen.build.lifecycle(WORKING)] if first == 0 else []
    for number in range(first // 5, (first + count) // 5):
        call, message = f"t{number}", f"m{number}"
        made += [
            pen.build.tool_call(call, f"bash: run {number}"),
            pen.build.tool_call_update(call, COMPLETED, "a line of output\n" * 4),
            *(
                pen.build.assistant_text(f"piece {piece} of **{number}** ", message)
                for piece in "abc"
            ),
        ]
    return made


def wait_for_end(page: Page, text: str) -> None:
    """Wait until the last rows hold `text` and are in view; a locator looks through all rows."""
    page.wait_for_function(
        """(text) => {
          const rows = [...document.querySelectorAll('.section:last-child .row')].slice(-3);
          const { bottom } = document.querySelector('main').getBoundingClientRect();
          return rows.some((row) => row.textContent.includes(text)) &&
            rows.at(-1).getBoundingClientRect().top < bottom;
        }""",
        arg=text,
        timeout=60_000,
        polling=100,
    )


def measured(page: Page) -> dict[str, float]:
    session: Any = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    found: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in found}


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.requirement("G-PANE-4")
def test_a_large_session_is_shown_at_once_and_from_its_end(
    tabs: Tabs, large: tuple[Site, Pen]
) -> None:
    site, _ = large
    context = tabs.context()
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(site.page("/"))  # the browser has the page's files, as it has after the board
    firsts: list[float] = []
    for _ in range(3):
        page.goto(f"{site.base}/s/large")
        wait_for_end(page, "bash: run 9999")
        firsts.append(page.evaluate("() => globalThis.firstRow"))
    print(f"first row after {min(firsts):.0f} ms, of {[round(one) for one in firsts]}")
    assert min(firsts) < 1_000
    expect(page.locator(".row")).to_have_count(880)
    page.mouse.move(500, 500)
    page.keyboard.press("g")
    expect(page.locator(".row")).not_to_have_count(880)
    page.goto(f"{site.base}/s/large#at-{'1' * 16}-40002")
    expect(page.locator(".row.target")).to_contain_text("run 8000", timeout=30_000)
    expect(page.locator(".row.target")).to_be_in_viewport()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("G-PANE-4")
def test_following_a_flood_stays_smooth_and_in_bounded_memory(
    tabs: Tabs, large: tuple[Site, Pen]
) -> None:
    site, pen = large
    context = tabs.context()
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(site.page("/s/large"))
    expect(page.locator(".conn")).to_have_text("● Live")
    heaps: list[float] = []
    for first in range(FRAMES, FRAMES + 25_000, 5_000):
        pen.write(*frames(pen, first, 5_000))
        last = (first + 5_000) // 5 - 1
        wait_for_end(page, f"bash: run {last}")
        heaps.append(measured(page)["JSHeapUsedSize"] / 1e6)
    steps: list[float] = page.evaluate("() => globalThis.steps")
    # What is added to a trace that is as long as it gets, a few rows at a time.
    page.evaluate("() => { globalThis.steps.length = 0; }")
    for number in range(20):
        pen.write(pen.build.prompt(f"one more {number}", f"p{number}"))
        wait_for_end(page, f"one more {number}")
    single: list[float] = page.evaluate("() => globalThis.steps")
    rows = page.locator(".row").count()
    nodes = measured(page)["Nodes"]
    print(
        f"steps of a flood: median {statistics.median(steps):.0f} ms, of single rows:"
        f" {statistics.median(single):.1f} ms; {rows} rows, {nodes:.0f} nodes,"
        f" heap {heaps[0]:.0f} to {max(heaps):.0f} MB"
    )
    assert statistics.median(single) < 50
    assert statistics.median(steps) < 50
    assert rows <= MOST_ROWS
    assert max(heaps[-2:]) < 2 * heaps[1] + 50
