"""A host's own tool that fails: one result for all, and a real one that gets a 401."""

from __future__ import annotations

import http.server
import threading
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager

import mcp
import mcp_types
import pytest
from mcp.server import Server, ServerRequestContext

from compass_agent.errors import (
    ApiError,
    ErrorCode,
    OperationError,
    format_tool_error,
    map_network_error,
)


def text_of(result: dict[str, object]) -> str:
    """Return the one text of a tool's result, whose shape is checked."""
    assert set(result) == {"isError", "content"}
    assert result["isError"] is True
    match result["content"]:
        case [{"type": "text", "text": str(text)}]:
            return text
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ApiError(401, "UNAUTHORIZED", "Unauthorized: x"), "Unauthorized: x"),
        (ApiError(0, "CONNECTION_ERROR", "key sk-ant-abc123 x"), "key [redacted] x"),
        (ValueError("it broke"), "Unexpected error: it broke"),
        (ValueError("key sk-ant-abc123 x"), "Unexpected error: key [redacted] x"),
        (ValueError(), "Unexpected error: ValueError"),
        (
            OperationError(ErrorCode.NOT_FOUND),
            f"Unexpected error: {OperationError(ErrorCode.NOT_FOUND).message}",
        ),
    ],
)
def test_a_tool_tells_its_failure_in_one_text(error: Exception, text: str) -> None:
    assert text_of(format_tool_error(error)) == text


def test_registered_values_are_masked_and_a_huge_text_is_cut() -> None:
    assert text_of(format_tool_error(ValueError("my hunter22"), ["hunter22"])) == (
        "Unexpected error: my [redacted]"
    )
    assert len(text_of(format_tool_error(ValueError("x" * 100_000))).encode()) <= 8192


class Refusing(http.server.BaseHTTPRequestHandler):
    """Answers 401 to everybody."""

    def do_GET(self) -> None:
        self.send_error(401)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base names it so
        del format, args


@contextmanager
def refusing_service() -> Generator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


async def test_a_401_through_a_real_tool_names_the_variable_of_the_key() -> None:
    with refusing_service() as url:

        async def list_tools(
            context: ServerRequestContext, params: mcp_types.PaginatedRequestParams | None
        ) -> mcp_types.ListToolsResult:
            del context, params
            tool = mcp_types.Tool(name="search", input_schema={"type": "object"})
            return mcp_types.ListToolsResult(tools=[tool])

        async def call_tool(
            context: ServerRequestContext, params: mcp_types.CallToolRequestParams
        ) -> mcp_types.CallToolResult:
            del context, params
            try:
                urllib.request.urlopen(url, timeout=5)  # noqa: ASYNC210, S310 - the loopback, at once
            except urllib.error.HTTPError as error:
                error.close()
                told = map_network_error(
                    error, url, service="Acme", key_var="ACME_KEY", url_var="ACME_URL"
                )
                return mcp_types.CallToolResult.model_validate(format_tool_error(told or error))
            raise AssertionError("the service refuses everybody")

        server = Server("host", on_list_tools=list_tools, on_call_tool=call_tool)
        async with mcp.Client(server) as client:
            result = await client.call_tool("search", {})
    assert result.is_error is True
    (item,) = result.content
    assert isinstance(item, mcp_types.TextContent)
    assert item.text == (
        "Unauthorized: Invalid or expired API key. Check your ACME_KEY configuration."
    )
