"""How OpenAI says things, in both of its APIs, as whole as its own libraries want them."""

from __future__ import annotations

__all__ = ("Chat", "Responses")

import json
from typing import TYPE_CHECKING

from clis.dialects import Dialect, Json, OpenAI

if TYPE_CHECKING:
    from clis.dialects import Answer

_PIECE = 5


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


class Responses(OpenAI):
    """The Responses API, with every event that the official libraries read."""

    def start(self, texts: tuple[str, ...], thinking: str = "") -> None:
        self._texts: list[str] = []
        self._output: list[Json] = []
        self.event("response.created", response=self._response("in_progress"))
        if thinking:
            self._think(thinking)
        self._place = {"output_index": len(self._output), "item_id": "msg_1", "content_index": 0}
        self._item("added", self._message("in_progress"))
        part: Json = {"type": "output_text", "text": "", "annotations": []}
        self.event("response.content_part.added", **self._place, part=part)
        for text in texts:
            self.more(text)

    def more(self, text: str) -> None:
        self._texts.append(text)
        self.event("response.output_text.delta", **self._place, delta=text, logprobs=[])

    def call(self, calls: list[tuple[str, Json]]) -> None:
        self._end_message()
        for number, (name, args) in enumerate(calls, 1):
            item: Json = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
            item |= {"type": "function_call", "arguments": "", "status": "in_progress"}
            self._item("added", item)
            place = {"item_id": item["id"], "output_index": len(self._output)}
            whole = json.dumps(args)
            for piece in _pieces(whole):
                self.event("response.function_call_arguments.delta", **place, delta=piece)
            self.event("response.function_call_arguments.done", **place, arguments=whole, name=name)
            self._item("done", {**item, "arguments": whole, "status": "completed"})
        self.event("response.completed", response=self._response("completed"))

    def _think(self, thinking: str) -> None:
        item: Json = {"id": "rs_1", "type": "reasoning", "summary": []}
        self._item("added", item)
        place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
        part = {"type": "summary_text", "text": thinking}
        self.event("response.reasoning_summary_part.added", **place, part={**part, "text": ""})
        self.event("response.reasoning_summary_text.delta", **place, delta=thinking)
        self.event("response.reasoning_summary_text.done", **place, text=thinking)
        self.event("response.reasoning_summary_part.done", **place, part=part)
        self._item("done", {**item, "summary": [part]})

    def _end_message(self) -> None:
        message = self._message("completed")
        (part,) = message["content"]
        self.event("response.output_text.done", **self._place, text=part["text"], logprobs=[])
        self.event("response.content_part.done", **self._place, part=part)
        self._item("done", message)

    def _item(self, what: str, item: Json) -> None:
        self.event(f"response.output_item.{what}", output_index=len(self._output), item=item)
        if what == "done":
            self._output.append(item)

    def _response(self, status: str) -> Json:
        rest: Json = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        rest |= {"incomplete_details": None, "instructions": None, "metadata": {}}
        return {**super()._response(status), **rest, "output": self._output}


class Chat(Dialect):
    """The Chat Completions API; thoughts are told as most other providers do that speak it."""

    def __init__(self, handler: Answer, body: Json) -> None:
        super().__init__(handler, body)
        self._head: Json = {"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1}
        self._head["model"] = body.get("model", "m")

    @staticmethod
    def refusal(status: int, text: str) -> Json:
        return OpenAI.refusal(status, text)

    def tools(self, body: Json) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools") or ()]

    def start(self, texts: tuple[str, ...], thinking: str = "") -> None:
        self._chunk({"role": "assistant", "content": ""})
        if thinking:
            self._chunk({"reasoning_content": thinking})
        for text in texts:
            self.more(text)

    def more(self, text: str) -> None:
        self._chunk({"content": text})

    def call(self, calls: list[tuple[str, Json]]) -> None:
        for index, (name, args) in enumerate(calls):
            function = {"name": name, "arguments": ""}
            head = {"index": index, "id": f"call_{index + 1}", "type": "function"}
            self._chunk({"tool_calls": [{**head, "function": function}]})
            for piece in _pieces(json.dumps(args)):
                self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        self._end("tool_calls")

    def fail(self, text: str) -> None:
        error = {"message": text, "type": "server_error", "code": "server_is_overloaded"}
        self.data({"error": error})

    def finish(self) -> None:
        self._end("stop")

    def _chunk(self, delta: Json, reason: str | None = None) -> None:
        self.data(
            {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        )

    def _end(self, reason: str) -> None:
        self._chunk({}, reason)
        usage = {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}
        self.data({**self._head, "choices": [], "usage": usage})
        self._handler.chunk(b"data: [DONE]\n\n")
