"""Who may ask: by the name of the host, the origin of the page and the token, in that order."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

import pytest

from asgi import ask
from compass_agent.log.memory import MemoryLog
from compass_agent.services.http import http_app

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN = "0123456789abcdef" * 2
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ROUTES = [
    "/healthz",
    "/v1/info",
    "/v1/sessions",
    "/v1/sessions/s1",
    "/v1/sessions/s1/frames",
    "/v1/sessions/s1/items",
    "/v1/sessions/s1/events",
    "/v1/sessions/s1/transcript",
    "/v1/events?s=s1",
    "/nowhere",
    "/",
    "/s/s1",
    "/static/main.js",
    "/static/nothing",
]
TOLD_TO_ALL = {"/healthz", "/", "/s/s1", "/static/main.js", "/static/nothing"}


async def status(path: str, headers: Mapping[str, str], token: str | None = TOKEN) -> int:
    return (await ask(http_app(MemoryLog(), token=token), path, headers=headers)).status


@pytest.mark.requirement("G-HTTP-2")
@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:7331", "", "a b", "::1"])
async def test_a_foreign_host_is_refused_on_every_route_before_the_token(
    path: str, host: str
) -> None:
    for headers in ({"Host": host}, {"Host": host, **BEARER}):
        assert await status(path, headers) == 421


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7331", "127.0.0.1:80", "[::1]:7331", "localhost."]
)
async def test_a_host_of_ours_is_served_at_any_port(host: str) -> None:
    assert await status("/v1/info", {"Host": host, **BEARER}) == 200


async def test_the_hosts_can_be_named() -> None:
    app = http_app(MemoryLog(), hosts=["Agents.Example"])
    assert (await ask(app, "/v1/info", headers={"Host": "agents.example:80"})).status == 200
    assert (await ask(app, "/v1/info", headers={"Host": "localhost"})).status == 421


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:1234"},
    {"Origin": "ftp://localhost"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.requirement("G-HTTP-2")
@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("headers", FOREIGN)
async def test_a_page_of_another_origin_is_refused_on_every_route(
    path: str, headers: dict[str, str]
) -> None:
    for more in ({}, BEARER):
        assert await status(path, {**headers, **more}) == 403


FOLLOWED = {
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}


@pytest.mark.requirement("G-HTTP-2")
@pytest.mark.parametrize("path", ROUTES)
async def test_a_link_of_another_site_leads_to_the_pages_and_to_nothing_else(path: str) -> None:
    opens = 200 if path in {"/", "/s/s1"} else 403
    for site in ("cross-site", "same-site"):
        assert await status(path, {**FOLLOWED, **BEARER, "Sec-Fetch-Site": site}) == opens
    for other in (
        {"Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Dest": "script", "Sec-Fetch-Mode": "cors"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ):
        assert await status(path, {**FOLLOWED, **BEARER, **other}) == 403
    app = http_app(MemoryLog(), token=TOKEN)
    headers = {**FOLLOWED, **BEARER}
    assert (await ask(app, path, method="POST", headers=headers)).status == 403
    assert (await ask(app, path, headers={**FOLLOWED, "Host": "evil.example"})).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost"},
        {"Origin": "https://localhost"},
        {"Origin": "http://127.0.0.1:7331", "Host": "127.0.0.1:7331"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {},
    ],
)
async def test_our_own_pages_and_programs_are_served(headers: dict[str, str]) -> None:
    assert await status("/v1/info", {**headers, **BEARER}) == 200


@pytest.mark.requirement("G-HTTP-2")
@pytest.mark.parametrize("path", [route for route in ROUTES if route not in TOLD_TO_ALL])
@pytest.mark.parametrize(
    "given", ["", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[1:]}", "Bearer ö"]
)
async def test_without_the_token_nothing_but_health_and_page_is_told(path: str, given: str) -> None:
    headers = {"Authorization": given} if given else {}
    answer = await ask(http_app(MemoryLog(), token=TOKEN), path, headers=headers)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="compass"'
    assert answer.headers["content-type"] == "application/problem+json"
    assert "code" not in answer.json
    assert TOKEN not in answer.body.decode()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "beArEr", "Bearer  "])
async def test_the_case_of_the_scheme_does_not_matter(scheme: str) -> None:
    assert await status("/v1/info", {"Authorization": f"{scheme} {TOKEN}"}) == 200
    wrong = f"{scheme} {TOKEN.upper()}"
    assert await status("/v1/info", {"Authorization": wrong}) == 401


async def test_health_needs_no_token() -> None:
    assert await status("/healthz", {}) == 200


async def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def counted(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    assert await status("/v1/info", {"Authorization": "Bearer wrong"}) == 401
    assert compared == [(b"Bearer wrong", f"Bearer {TOKEN}".encode())]


@pytest.mark.parametrize("path", ROUTES)
async def test_no_answer_lets_another_origin_read_it(path: str) -> None:
    for headers in ({}, BEARER, {"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        answer = await ask(http_app(MemoryLog(), token=TOKEN), path, headers=headers)
        assert [name for name in answer.headers if name.startswith("access-control")] == []
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
