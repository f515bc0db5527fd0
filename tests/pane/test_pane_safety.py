"""What an agent says stays text: no script runs, nothing is fetched, nobody is kept out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from playwright.sync_api import expect

from frame_words import ERROR
from hostile import frames_with
from pane_scenes import Pen

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from browsing import Tabs
    from pane_sites import Site

AXE = Path(__file__).resolve().parents[1] / "data" / "axe-core" / "axe.min.js.gz"
EVIL = "http://evil.example"
PAYLOADS = [
    "<script>globalThis.hit = 1</script>",
    "<img src=x onerror='globalThis.hit = 2'>",
    f"<img src={EVIL}/a.png>",
    "<svg onload='globalThis.hit = 3'></svg>",
    f"<svg><image href='{EVIL}/b.png'/></svg>",
    "<iframe srcdoc='<script>parent.hit = 4</script>'></iframe>",
    f"<iframe src='{EVIL}/frame'></iframe>",
    f"<link rel=stylesheet href={EVIL}/c.css>",
    "<style>*{display:none}</style>",
    f"<style>@import '{EVIL}/d.css';</style>",
    f"<body background={EVIL}/e.png>",
    "<a href='javascript:globalThis.hit=5'>run</a>",
    "[run](javascript:globalThis.hit=6)",
    "[run](JaVaScRiPt:globalThis.hit=7)",
    "[run](java&#115;cript:globalThis.hit=8)",  # codespell:ignore cript
    "[run](\x01javascript:globalThis.hit=9)",
    "[run](data:text/html,<script>globalThis.hit=10</script>)",
    "[run](vbscript:globalThis.hit=11)",
    "[run](blob:http://127.0.0.1/x)",
    "[run](file:///etc/passwd)",
    f"[near](//{EVIL.removeprefix('http://')}/f)",
    "[near](/v1/sessions)",
    "[near](../../s/s1)",
    f"![image]({EVIL}/g.png)",
    f"![image][ref]\n\n[ref]: {EVIL}/h.png",
    f"[![image]({EVIL}/i.png)](javascript:globalThis.hit=12)",
    f"<video src={EVIL}/j.mp4 autoplay onplay='globalThis.hit=13'></video>",
    f"<object data={EVIL}/k></object><embed src={EVIL}/l>",
    f"<form action={EVIL}/m><input name=q autofocus onfocus='globalThis.hit=14'></form>",
    "<details open ontoggle='globalThis.hit=15'>x</details>",
    f"<meta http-equiv=refresh content='0;url={EVIL}/n'>",
    f"<base href={EVIL}/>",
    "`code <script>globalThis.hit = 16</script>`",
    "```html\n<script>globalThis.hit = 17</script>\n```",
    "| a |\n|---|\n| <img src=x onerror='globalThis.hit=18'> |",
    "</code></pre></div><script>globalThis.hit = 19</script>",
    "{{constructor.constructor('globalThis.hit = 20')()}}",
    "${globalThis.hit = 21}",
    "user\u202etxt.exe",
    "__proto__",
    "constructor",
    "<math><mi xlink:href='javascript:globalThis.hit=22'>x</mi></math>",
    "> " * 300 + "deep",
    "[" * 400 + "deep" + "](x)" * 400,
    "*" * 3000,
]
TRIGGERED = """() => {
  for (const one of document.querySelectorAll('details')) one.open = true;
  const allowed = ['http:', 'https:', 'mailto:'];
  const links = [...document.querySelectorAll('main a')];
  return {
    hit: globalThis.hit ?? null,
    tags: [...new Set([...document.querySelectorAll('main *')].map((one) => one.localName))],
    bad: links.map((one) => one.protocol).filter((one) => !allowed.includes(one)),
    own: links.filter((one) => one.origin === location.origin).length,
    handlers: [...document.querySelectorAll('*')].flatMap((one) =>
      one.getAttributeNames().filter((name) => name.startsWith('on'))),
  };
}"""
NEVER = {"script", "img", "svg", "iframe", "style", "link", "object", "embed", "form", "video"}


@pytest.mark.requirement("G-PANE-2")
def test_nothing_that_an_agent_says_runs_or_fetches_anything(tabs: Tabs, site: Site) -> None:
    for number, payload in enumerate(PAYLOADS):
        session = f"evil{number // 9}"
        pen = Pen(site.log, session, payload, epoch=f"{number + 16:016x}")
        pen.write(*frames_with(payload), pen.build.assistant_text(payload, "last"))
        pen.write(pen.build.prompt("done", "p"))
    page = tabs.open(site.page("/s/evil0"))
    for number in range((len(PAYLOADS) + 8) // 9):
        page.goto(f"{site.base}/s/evil{number}")
        expect(page.locator(".k-prompt").last).to_be_attached()
        expect(page.locator(".conn")).to_have_text("● Live")
        found: dict[str, Any] = page.evaluate(TRIGGERED)
        assert found["hit"] is None
        assert NEVER.isdisjoint(found["tags"]), found["tags"]
        assert (found["bad"], found["own"], found["handlers"]) == ([], 0, [])
    page.goto(f"{site.base}/")
    expect(page.locator("tbody tr").nth(5)).to_be_visible()
    found = page.evaluate(TRIGGERED)
    assert (found["hit"], found["handlers"]) == (None, [])
    assert NEVER.isdisjoint(found["tags"])
    foreign = [one for one in tabs.requests if not one.startswith((site.base, "blob:"))]
    assert foreign == []


def test_an_address_that_may_be_followed_shows_where_it_leads(tabs: Tabs, site: Site) -> None:
    pen = Pen(site.log, "links")
    text = f"[safe]({EVIL}/x) ![pic]({EVIL}/y.png) <mailto:a@b.example> [no](javascript:1)"
    pen.write(pen.build.assistant_text(text, "m"), pen.build.prompt("done", "p"))
    page = tabs.open(site.page("/s/links"))
    links = page.locator(".md a")
    expect(links).to_have_count(3)
    expect(links.nth(0)).to_have_attribute("title", f"{EVIL}/x")
    expect(links.nth(1)).to_have_text("[image: pic]")
    expect(page.locator(".inert")).to_have_text("no")


def test_a_link_of_another_site_opens_the_page(tabs: Tabs, site: Site) -> None:
    page = tabs.context().new_page()
    page.goto(site.page())
    expect(page.locator("tbody tr").first).to_be_visible()
    link = f"<a href='{site.base}/s/s-429#at-{'1' * 16}-5'>the failure</a>"
    page.route(f"{EVIL}/", lambda route: route.fulfill(body=link, content_type="text/html"))
    page.goto(f"{EVIL}/")
    page.get_by_text("the failure").click()
    expect(page.locator(".row.target .card.error")).to_be_visible()


def test_the_policy_lets_nothing_become_markup_or_script(tabs: Tabs, site: Site) -> None:
    page = tabs.open(site.page("/s/s-run"))
    expect(page.locator(".row").first).to_be_visible()
    refused: list[bool] = page.evaluate(
        """async () => {
          const tries = [
            () => { document.body.innerHTML = '<b>x</b>'; },
            () => { document.body.setAttribute('onclick', 'x'); },
            () => trustedTypes.createPolicy('other', {}),
            () => new Worker('/static/main.js'),
          ];
          return tries.map((one) => { try { one(); return false; } catch { return true; } });
        }"""
    )
    assert refused == [True, True, True, True]
    loaded: str = page.evaluate(
        f"async () => fetch('{EVIL}/').then(() => 'loaded', (error) => 'refused')"
    )
    assert loaded == "refused"
    assert tabs.errors, "the policy was not even asked"
    tabs.errors.clear()


@pytest.fixture(scope="module")
def axe() -> str:
    return gzip.decompress(AXE.read_bytes()).decode("utf-8")


def violations(page: Page, axe: str) -> list[tuple[str, list[str]]]:
    # Through the driver, so that the page's own policy stays as it is.
    page.add_script_tag(content=axe)
    found: list[dict[str, Any]] = page.evaluate(
        "() => axe.run(document).then((result) => result.violations)"
    )
    return [
        (one["id"], [node["html"][:200] + node["failureSummary"][:300] for node in one["nodes"]])
        for one in found
    ]


@pytest.mark.requirement("G-PANE-3")
@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_axe_finds_nothing_on_either_page(
    tabs: Tabs, site: Site, axe: str, scheme: Literal["light", "dark"]
) -> None:
    pen = Pen(site.log, f"axe-{scheme}")
    errors = [pen.build.session_error(ERROR, f"failure {number}", status=500) for number in "12"]
    text = "### Third\n\n# First\n\n###### Sixth\n\nwords"
    pen.write(pen.build.assistant_text(text, "m"), *errors)
    context = tabs.context(scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(site.page())
    expect(page.locator("tbody tr").first).to_be_visible()
    assert violations(page, axe) == []
    for session in ("s-run", "s-429", "s-abort", "s-drop", f"axe-{scheme}"):
        page.goto(f"{site.base}/s/{session}")
        expect(page.locator(".conn")).to_have_text("● Live")
        assert violations(page, axe) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page, axe) == []
