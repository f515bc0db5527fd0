"""A provider on the loopback that plays scenes in the words of Anthropic, OpenAI and Gemini.

The first segment of a request's path names the scene. It speaks just enough for the agents'
commands, and keeps what they asked for.
"""

from __future__ import annotations

__all__ = ("SCENES", "Provider")

import json
import threading
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

from dialects import RETRY_AFTER, TEXT, Anthropic, Dialect, Gemini, Json, OpenAI
from json_answers import JsonAnswers

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

SCENES = ("ok", "tool", "401", "429", "500", "mid", "cut", "slow", "slow-tool", "plan-tool")
_PIECES_OF_SLOW = 200
_REFUSALS = {
    "401": "The API key is not valid",
    "429": "Rate limit reached for loopback",
    "500": "The server had an error",
}
_DONE = ("tool_result", "function_call_output", "functionResponse", "custom_tool_call_output")


@dataclass
class Provider:
    """Serves on a free port of the loopback while its block lasts.

    Attributes:
        folder: Where the scene "tool" has the agent write its file.
        hits: (scene, path, body) of each request.
    """

    folder: str
    hits: list[tuple[str, str, Json]] = field(default_factory=list[tuple[str, str, Json]])
    url: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"provider": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(JsonAnswers):
    provider: ClassVar[Provider]

    def post(self) -> None:
        body = self.body()
        _, scene, *rest = self.path.split("?")[0].split("/")
        path = "/".join(rest)
        self.provider.hits.append((scene, path, body))
        dialect = _dialect(path)
        if dialect is None:
            self.answer(200, {"input_tokens": 1, "totalTokens": 1})
        elif scene in _REFUSALS:
            self._refuse(int(scene), dialect)
        else:
            self._play(scene, dialect(self, body), body)

    def _refuse(self, status: int, dialect: type[Dialect]) -> None:
        text = _REFUSALS[str(status)]
        headers = {"request-id": f"req_{status}", "x-request-id": f"req_{status}"}
        if status == 429:
            headers["retry-after"] = RETRY_AFTER
        self.answer(status, dialect.refusal(status, text), headers)

    def _play(self, scene: str, dialect: Dialect, body: Json) -> None:
        self.send_response(200)
        self.send_header(
            "content-type", "text/event-stream" if dialect.streams else "application/json"
        )
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            self._scene(scene, dialect, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _scene(self, scene: str, dialect: Dialect, body: Json) -> None:
        asked = json.dumps(body)
        if (
            "tool" in scene
            and dialect.tools(body)
            and not any(f'"{done}"' in asked for done in _DONE)
        ):
            dialect.start(TEXT[:2], thinking="I should use a tool.")
            calls = dialect.calls(scene, self.provider.folder)
            dialect.call(calls)
            return self.chunk(b"")
        if scene in ("mid", "cut"):
            dialect.start(TEXT[:2])
            self.provider.stopping.wait(0.3)
            if scene == "cut":
                self.connection.shutdown(2)
                self.close_connection = True
                return None
            dialect.fail("Overloaded in the middle of the answer")
            return self.chunk(b"")
        dialect.start(TEXT, thinking="Let me think.")
        if scene == "slow":
            for number in range(_PIECES_OF_SLOW):
                dialect.more(f"and {number} ")
                if self.provider.stopping.wait(0.1):
                    break
        dialect.finish()
        return self.chunk(b"")

    def chunk(self, data: bytes) -> None:
        """Send one chunk; an empty one ends the answer."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _dialect(path: str) -> type[Dialect] | None:
    if path.endswith("messages"):
        return Anthropic
    if path.endswith("responses"):
        return OpenAI
    return Gemini if "enerateContent" in path else None
