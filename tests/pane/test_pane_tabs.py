"""Tabs of one session share a stream, and none of them costs another a frame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from frame_words import ERROR, ERRORED, STOPPED, WORKING
from pane_scenes import Pen

if TYPE_CHECKING:
    from browsing import Tabs
    from pane_sites import Site

# Two tabs come one after the other, as the cursors say; what the hub then asks the server for.
ASKED = """async (cursors) => {
  const { Hub } = await import("/static/hub.js");
  const asked = [];
  const hub = new Hub();
  const fetched = globalThis.fetch;
  let seen;
  globalThis.fetch = (url, options) => {
    if (url.pathname !== "/v1/events") return fetched(url, options);
    asked.push(url.search);
    seen();
    return new Promise(() => {});
  };
  for (const after of cursors) {
    const called = new Promise((resolve) => (seen = resolve));
    const { port1, port2 } = new MessageChannel();
    hub.attach(port1);
    const told = new Promise((resolve) => (port2.onmessage = resolve));
    port2.postMessage({ type: "watch", session: "s", after, token: "t" });
    await Promise.race([called, told]);
  }
  globalThis.fetch = fetched;
  return asked.at(-1);
}"""

# What two tabs of a session are told when its stream has these pieces; the second comes after them.
TOLD = """async (pieces) => {
  const { Hub } = await import("/static/hub.js");
  const hub = new Hub();
  const fetched = globalThis.fetch;
  const asked = [];
  let write;
  globalThis.fetch = (url, options) => {
    if (url.pathname !== "/v1/events") return fetched(url, options);
    asked.push(url.search);
    const body = new TransformStream();
    const writer = body.writable.getWriter();
    write = (text) => writer.write(new TextEncoder().encode(text));
    options.signal.onabort = () => writer.abort("cut");
    return Promise.resolve(new Response(body.readable));
  };
  const told = [];
  const ports = [];
  const tab = (after) => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    hub.attach(port1);
    ports.push(port2);
    // By its first word what it needs has been asked for.
    port2.onmessage = ({ data }) => resolve(told.push(data.status?.state ?? "events"));
    port2.postMessage({ type: "watch", session: "s", after, token: "t" });
  });
  await tab(pieces.after);
  for (const piece of pieces.first) {
    const before = told.length;
    write(piece);
    while (!told.slice(before).includes("events"))
      await new Promise((resolve) => setTimeout(resolve));
  }
  await tab(pieces.then);
  for (const port of ports) port.postMessage({ type: "bye" });
  globalThis.fetch = fetched;
  return [asked.at(-1), told];
}"""


def events(*parts: tuple[str, dict[str, object]]) -> str:
    lines = (
        f"event: {name}\ndata: {json.dumps({'sessionId': 's', **data})}" for name, data in parts
    )
    return "".join(f"{line}\n\n" for line in lines)


@pytest.mark.requirement("G-PANE-1")
def test_the_end_of_a_run_that_others_follow_ends_no_stream(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page())
    older, newer = "1" * 16, "2" * 16
    ended = events(("ended", {"epoch": older, "end": {"lastSeq": "5"}}))
    begun = events(
        ("reset", {"epoch": newer, "reset": {"reason": "NEW_EPOCH"}}),
        ("", {"epoch": newer, "seq": "1", "event": {"notice": {}}}),
    )
    pieces = {"after": f"{older}-4", "first": [ended], "then": f"{older}-3"}
    asked, told = page.evaluate(TOLD, pieces)
    assert asked == f"?s=s%40{older}-3"
    assert "ended" not in told
    asked, told = page.evaluate(TOLD, {**pieces, "first": [ended, begun], "then": f"{older}-3"})
    assert "ended" not in told
    last = events(("end", {"epoch": older, "end": {"lastSeq": "5"}}))
    asked, told = page.evaluate(TOLD, {**pieces, "first": [last]})
    assert told.count("ended") == 1
    # What is told of a failure is not yet the failure.
    cause = events(("cause", {"epoch": older, "seq": "9"}))
    asked, _ = page.evaluate(TOLD, {**pieces, "first": [cause], "then": f"{older}-8"})
    assert asked == f"?s=s%40{older}-4"


@pytest.mark.requirement("G-PANE-1")
def test_the_stream_goes_on_where_the_tab_that_is_behind_stands(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page())
    epoch = "1" * 16
    for cursors in (["5", "9"], ["9", "5"], ["5", "5"], ["5", "10"]):
        asked: str = page.evaluate(ASKED, [f"{epoch}-{seq}" for seq in cursors])
        assert asked == f"?s=s%40{epoch}-5", cursors
    assert page.evaluate(ASKED, [f"{epoch}-5", ""]) == "?s=s"
    assert page.evaluate(ASKED, [f"{epoch}-5", f"{'2' * 16}-3"]) == f"?s=s%40{epoch}-5"


@pytest.mark.slow
@pytest.mark.requirement("G-PANE-1")
def test_a_tab_that_saw_one_run_end_gets_all_of_the_next_when_another_tab_opens(
    tabs: Tabs, site: Site
) -> None:
    first = Pen(site.log, "again", epoch="3" * 16)
    first.write(first.build.lifecycle(WORKING), first.build.notice("one"))
    context = tabs.context()
    old = context.new_page()
    old.goto(site.page("/s/again"))
    expect(old.locator(".conn")).to_have_text("● Live")
    first.write(first.build.lifecycle(STOPPED), end=STOPPED)
    expect(old.locator(".conn")).to_have_text("□ Ended")
    second = Pen(site.log, "again", epoch="4" * 16)
    build = second.build
    # More than a tab loads at first: the newer tab does not know of the older run.
    many = [build.notice(f"two {number}") for number in range(600)]
    failed = build.session_error(ERROR, "it failed", status=500)
    second.write(build.lifecycle(WORKING), *many, failed, build.lifecycle(ERRORED))
    new = context.new_page()
    new.goto(site.page("/s/again"))
    expect(new.locator(".card.error")).to_be_visible()
    expect(new.locator(".conn")).to_have_text("● Live")
    second.write(build.notice("later"))
    for page in (old, new):
        expect(page.get_by_text("later", exact=True)).to_be_attached()
        expect(page.locator(".card.error")).to_have_count(1)
        expect(page.get_by_text("two 599", exact=True)).to_have_count(1)
        expect(page.locator(".conn")).to_have_text("● Live")
    expect(old.locator(".k-notice")).to_have_count(602)
