"""What no agent of today sends: the page shows it as unknown, and goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from compass_agent.frames import AgentSessionState
from frame_words import ERROR, WORKING
from pane_scenes import Pen

# How long the slowest of these takes to read and make, as the best of three tries.
SLOWEST = """async () => {
  const { markdown } = await import("/static/markdown.js");
  const times = [];
  for (const text of ["a_", "*a", "a.", "`a", "[", "> ", "<", "_private_a ", "a@", "![", "- a "])
    for (const length of [2000, 3500, 5000, 10_000, 19_998, 200_000]) {
      const whole = text.repeat(length / text.length) + "@";
      const takes = [whole, whole.replace(/(.{100})/g, "$1\\n\\n")].map((one) => {
        let best = Infinity;
        for (let n = 0; n < 3 && best > 50; n += 1) {
          const begun = performance.now();
          markdown(one);
          best = Math.min(best, performance.now() - begun);
        }
        return best;
      });
      times.push([Math.round(Math.max(...takes)), text, length]);
    }
  return times.sort((a, b) => b[0] - a[0])[0];
}"""

if TYPE_CHECKING:
    from browsing import Tabs
    from pane_sites import Site


def test_a_state_without_a_name_is_shown_as_unknown_and_the_page_goes_on(
    tabs: Tabs, site: Site
) -> None:
    pen = Pen(site.log, "odd-state")
    odd = pen.build.lifecycle(WORKING)
    odd.state = AgentSessionState.ValueType(42)
    pen.write(pen.build.lifecycle(WORKING), odd)
    page = tabs.open(site.page("/s/odd-state"))
    expect(page.locator("header .badge")).to_have_text("? Unknown (42)")
    pen.write(odd, pen.build.prompt("after", "p"))
    expect(page.get_by_text("after", exact=True)).to_be_visible()
    expect(page.locator(".k-state .badge").last).to_have_text("? Unknown (42)")
    pen.write(pen.build.lifecycle(WORKING))
    expect(page.locator("header .badge")).to_have_text("▶ Working")


def test_a_reason_without_a_name_begins_the_reading_anew(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page())
    items: list[str] = page.evaluate(
        """async () => {
          const { Model } = await import("/static/model.js");
          const model = new Model();
          model.take([{ epoch: "1", seq: "1", state: 42 }, { epoch: "1", state: 43 }]);
          model.take([{ epoch: "2", reset: { reason: 9 } }]);
          return model.items.map((item) => item.kind);
        }"""
    )
    assert items == ["state", "state", "reset"]


def test_a_time_that_no_calendar_has_is_told_as_a_number(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "odd-time")
    build = pen.build
    frames = [build.notice("far"), build.session_error(ERROR, "boom"), build.notice("past")]
    for frame, at in zip(frames, (2**63 - 1, 8_640_000_000_000_001, -(2**63)), strict=True):
        frame.typed_event.at_unix_ms = at
    pen.write(build.lifecycle(WORKING), *frames, build.prompt("after", "p"))
    page = tabs.open(site.page("/s/odd-time"))
    expect(page.get_by_text("after", exact=True)).to_be_visible()
    expect(page.locator(".card.error")).to_contain_text("unknown time (8640000000000001)")
    expect(page.locator(".k-notice time").first).to_have_text("?")
    expect(page.locator(".conn")).to_have_text("● Live")
    page.goto(f"{site.base}/")
    expect(page.locator("tr[data-session=odd-time]")).to_contain_text("boom")


@pytest.mark.slow
def test_no_message_holds_up_the_page(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page())
    slowest: tuple[int, str, int] = page.evaluate(SLOWEST)
    print(slowest)
    assert slowest[0] < 200, slowest


# No name may hold them unseen: fillers, joiners, selectors, annotations, line ends, blank braille.
UNSEEN = (
    "\u034f\u115f\u1160\u17b4\u180b\u200d\u2028\u2029\u2800\u3164\ufe00\ufe0e\ufe0f"
    "\uffa0\ufff9\ufffa\ufffb\U000e0041\U000e0100\U000e01ef\U0001d173"
)
EMOJI = (
    "\u2764\ufe0f \u2194\ufe0e 1\ufe0f\u20e3 \U0001f469\U0001f3fd\u200d\U0001f4bb"
    " \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f937\u200d\u2640"
    " \U0001f468\u200d\U0001f469\u200d\U0001f467"
)


def test_no_name_holds_a_character_that_is_not_seen(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page())
    shown: list[str] = page.evaluate(
        """async (texts) => {
          const { plain } = await import("/static/dom.js");
          return texts.map(plain);
        }""",
        [*(f"a{one}b" for one in UNSEEN), EMOJI, "1\ufe0f a\u200d\u2764", "\u2764\u200da"],
    )
    assert shown[:-3] == [f"a<U+{ord(one):04X}>b" for one in UNSEEN]
    assert shown[-3:] == [EMOJI, "1<U+FE0F> a<U+200D>\u2764", "\u2764<U+200D>a"]


def test_an_emoji_whose_parts_come_one_by_one_is_whole(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "odd-emoji")
    pieces = [
        "on",
        "e \u2764",
        "\ufe0f",
        "\r",
        "\nand \U0001f469",
        "\u200d",
        "\U0001f4bb",
        " b\u2800",
    ]
    pen.write(pen.build.assistant_text(pieces[0], "m"))
    page = tabs.open(site.page("/s/odd-emoji"))
    stream = page.locator(".stream")
    said = pieces[0]
    expect(stream).to_have_text(said)
    for number in range(1, len(pieces)):
        pen.write(pen.build.assistant_text(pieces[number], "m"))
        said = "".join(pieces[: number + 1]).replace("\r\n", "\n").replace("\u2800", "<U+2800>")
        said = said.replace("\r", "\u240d").removesuffix("\u200d")
        expect(stream).to_contain_text(said)
    assert stream.inner_text() == said


def test_a_message_that_stays_plain_keeps_its_lines(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "odd-long")
    text = "one line of many\n" * 2_000 + "the last"
    pen.write(pen.build.assistant_text(text, "m"), pen.build.prompt("after", "p"))
    page = tabs.open(site.page("/s/odd-long"))
    said = page.locator(".k-assistantText .body")
    expect(said).to_contain_text("the last")
    assert said.inner_text() == text
