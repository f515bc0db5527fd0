"""Takes requests and gives answers that are JSON, as every provider on the loopback does."""

from __future__ import annotations

__all__ = ("JsonAnswers",)

import json
from http.server import BaseHTTPRequestHandler
from typing import Any


class JsonAnswers(BaseHTTPRequestHandler):
    """Reads bodies of either kind, answers, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""

    def do_GET(self) -> None:
        self.answer(200, {"data": [], "models": []})

    def do_HEAD(self) -> None:
        self.answer(200, {})

    def do_POST(self) -> None:
        self.post()

    def post(self) -> None:
        """Answer what was sent."""
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        """Read what was sent; nothing of what is no JSON."""
        if self.headers.get("transfer-encoding") != "chunked":
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        else:
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        try:
            return json.loads(data)
        except ValueError:
            return {}

    def answer(
        self, status: int, body: dict[str, Any], headers: dict[str, Any] | None = None
    ) -> None:
        """Answer with `body`."""
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
