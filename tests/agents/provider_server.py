"""A provider on the loopback for SDKs: it plays scenes in the words of OpenAI, Anthropic, Gemini.

The first segment of a request's path names the scene, so a client's base URL is
`f"{provider.url}/{scene}/v1"` (OpenAI), `f"{provider.url}/{scene}"` (Anthropic, Gemini):

- `ok`: a thought and a text in four deltas. `tool`: two deltas and a call of the first tool of the
  request, `city` being "Oulu"; once its result comes, as `ok`.
- `401`, `429` (with `retry-after: 7`), `500`: refused. `mid`: an error object after two deltas.
  `cut`: the connection breaks after two deltas. `close`: it ends there as after a whole answer.
- `hold-connect`: no answer. `hold-deltas`: two deltas, then nothing. `hold-last`: all deltas, but
  no end. `hold-next`: as `tool`, but the tool's result gets no answer. They hold until the client
  goes.
"""

from __future__ import annotations

__all__ = ("TEXT", "THOUGHT", "Provider")

import json
import select
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

from provider_words import Chat, Responses

from clis.dialects import RETRY_AFTER, TEXT, Anthropic, Dialect, Gemini, Json
from clis.json_answers import JsonAnswers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

THOUGHT = "Let me think."
_REFUSALS = {
    "401": "The API key is not valid",
    "429": "Rate limit reached for loopback",
    "500": "The server had an error",
}
_OVERLOADED = "Overloaded in the middle of the answer"
_RESULTS = ('"tool_result"', '"function_call_output"', '"functionResponse"', '"role": "tool"')
# So that what was sent before a failure has been read when it comes.
_BEFORE_FAILURE_S = 0.2
_LOOK_S = 0.05


@dataclass
class Provider:
    """Serves on a free port of the loopback while its block lasts.

    Attributes:
        hits: (scene, path, body) of each request.
        on_request: Called with each request, in a thread of the server.
        url: Where it is.
    """

    hits: list[tuple[str, str, Json]] = field(default_factory=list[tuple[str, str, Json]])
    on_request: Callable[[], None] | None = None
    stopping: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"provider": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        poll = {"poll_interval": 0.05}
        threading.Thread(target=self._server.serve_forever, kwargs=poll, daemon=True).start()
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

    def handle(self) -> None:
        with suppress(ConnectionResetError):  # the client hung up between two requests
            super().handle()

    def post(self) -> None:
        try:
            self._post()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _post(self) -> None:
        body = self.body()
        _, scene, *rest = self.path.split("?")[0].split("/")
        path = "/".join(rest)
        self.provider.hits.append((scene, path, body))
        if (on_request := self.provider.on_request) is not None:
            on_request()
        kind = _dialect(path)
        if kind is None:
            return self.answer(200, {"input_tokens": 1, "totalTokens": 1})
        if scene in _REFUSALS:
            return self._refuse(int(scene), kind)
        has_result = any(result in json.dumps(body) for result in _RESULTS)
        if scene == "hold-connect" or (scene == "hold-next" and has_result):
            return self._hold()
        dialect = kind(self, body)
        self.send_response(200)
        text = "text/event-stream" if dialect.streams else "application/json"
        self.send_header("content-type", text)
        self.send_header("x-request-id", "req_200")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        tools = dialect.tools(body)
        if scene in ("tool", "hold-next") and tools and not has_result:
            dialect.start(TEXT[:2], thinking="I should look.")
            dialect.call([(tools[0], {"city": "Oulu"})])
            return self.chunk(b"")
        return self._talk(scene, dialect)

    def _talk(self, scene: str, dialect: Dialect) -> None:
        if scene in ("mid", "cut", "close", "hold-deltas"):
            dialect.start(TEXT[:2])
            if scene == "hold-deltas":
                return self._hold()
            self.provider.stopping.wait(_BEFORE_FAILURE_S)
            if scene == "cut":
                self.connection.shutdown(2)
                self.close_connection = True
                return None
            if scene == "mid":
                dialect.fail(_OVERLOADED)
            return self.chunk(b"")
        dialect.start(TEXT, thinking=THOUGHT)
        if scene == "hold-last":
            return self._hold()
        dialect.finish()
        return self.chunk(b"")

    def _hold(self) -> None:
        """Say nothing more until the client hangs up."""
        self.close_connection = True
        while not self.provider.stopping.is_set():
            if select.select([self.connection], [], [], _LOOK_S)[0]:
                return

    def _refuse(self, status: int, dialect: type[Dialect]) -> None:
        text = _REFUSALS[str(status)]
        headers = {"request-id": f"req_{status}", "x-request-id": f"req_{status}"}
        if status == 429:
            headers["retry-after"] = RETRY_AFTER
        self.answer(status, dialect.refusal(status, text), headers)

    def chunk(self, data: bytes) -> None:
        """Send one chunk; an empty one ends the answer."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _dialect(path: str) -> type[Dialect] | None:
    if path.endswith("chat/completions"):
        return Chat
    if path.endswith("/messages"):
        return Anthropic
    if path.endswith("/responses"):
        return Responses
    return Gemini if "enerateContent" in path else None
