"""How Anthropic, OpenAI and Gemini say things: just enough for the agents' commands."""

from __future__ import annotations

__all__ = ("RETRY_AFTER", "TEXT", "Answer", "Anthropic", "Dialect", "Gemini", "Json", "OpenAI")

import json
from typing import Any, Protocol, TypeAlias

Json: TypeAlias = dict[str, Any]

RETRY_AFTER = "7"
TEXT = ("Hel", "lo ", "wörld", " 👋")  # codespell:ignore
_WRITE = "hello from the model\n"


class Answer(Protocol):
    """The answer to one request, which is sent in pieces."""

    path: str

    def chunk(self, data: bytes) -> None:
        """Send a piece."""
        ...


class Dialect:
    """How one provider says things; one object an answer."""

    def __init__(self, handler: Answer, body: Json) -> None:
        self._handler = handler
        self._body = body
        self.streams = bool(body.get("stream"))

    @staticmethod
    def refusal(status: int, text: str) -> Json:
        raise NotImplementedError

    def tools(self, body: Json) -> list[str]:
        return [tool.get("name") or tool.get("type", "") for tool in body.get("tools") or ()]

    def calls(self, scene: str, folder: str) -> list[tuple[str, Json]]:
        raise NotImplementedError

    def start(self, texts: tuple[str, ...], thinking: str = "") -> None:
        raise NotImplementedError

    def more(self, text: str) -> None:
        raise NotImplementedError

    def call(self, calls: list[tuple[str, Json]]) -> None:
        raise NotImplementedError

    def fail(self, text: str) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        raise NotImplementedError

    def event(self, kind: str, **fields: Any) -> None:
        self.data({"type": kind, **fields}, kind)

    def data(self, value: Json, name: str = "") -> None:
        head = f"event: {name}\n" if name else ""
        self._handler.chunk(f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode())


class Anthropic(Dialect):
    _index = -1

    @staticmethod
    def refusal(status: int, text: str) -> Json:
        kinds = {401: "authentication_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": text}}

    def calls(self, scene: str, folder: str) -> list[tuple[str, Json]]:
        if scene == "slow-tool":
            return [("Bash", {"command": "tail -f /dev/null", "description": "Wait"})]
        if scene == "plan-tool":
            task = {"subject": "Write it", "description": "Write the file"}
            return [
                ("TaskCreate", task),
                ("TaskCreate", {**task, "subject": "Read it"}),
                ("TaskUpdate", {"taskId": "1", "status": "in_progress"}),
            ]
        wanted = {
            "Write": {"file_path": f"{folder}/out.txt", "content": _WRITE},
            "Read": {"file_path": f"{folder}/missing.txt"},
            "Bash": {"command": "echo one; echo two", "description": "Print two lines"},
        }
        return [*wanted.items()]

    def start(self, texts: tuple[str, ...], thinking: str = "") -> None:
        message: Json = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": self._body.get("model", "m"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 1},
        }
        if not self.streams:
            content = [{"type": "text", "text": "".join(TEXT)}]
            whole = {**message, "content": content, "stop_reason": "end_turn"}
            self._handler.chunk(json.dumps(whole).encode())
            return
        self.event("message_start", message=message)
        if thinking:
            self._open({"type": "thinking", "thinking": "", "signature": ""})
            self._delta({"type": "thinking_delta", "thinking": thinking})
            self._delta({"type": "signature_delta", "signature": "c2ln"})
            self._close()
        self._open({"type": "text", "text": ""})
        for text in texts:
            self.more(text)

    def more(self, text: str) -> None:
        self._delta({"type": "text_delta", "text": text})

    def call(self, calls: list[tuple[str, Json]]) -> None:
        self._close()
        for number, (name, args) in enumerate(calls, 1):
            self._open({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}})
            self._delta({"type": "input_json_delta", "partial_json": json.dumps(args)})
            self._close()
        self._stop("tool_use")

    def fail(self, text: str) -> None:
        if self.streams:
            self.event("error", error={"type": "overloaded_error", "message": text})

    def finish(self) -> None:
        if self.streams:
            self._close()
            self._stop("end_turn")

    def _open(self, block: Json) -> None:
        self._index += 1
        self.event("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: Json) -> None:
        if self.streams:
            self.event("content_block_delta", index=self._index, delta=delta)

    def _close(self) -> None:
        self.event("content_block_stop", index=self._index)

    def _stop(self, reason: str) -> None:
        delta = {"stop_reason": reason, "stop_sequence": None}
        self.event("message_delta", delta=delta, usage={"output_tokens": 4})
        self.event("message_stop")


class OpenAI(Dialect):
    """The Responses API."""

    _sequence = -1

    @staticmethod
    def refusal(status: int, text: str) -> Json:
        code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
        kind = {401: "invalid_request_error", 429: "rate_limit_error"}.get(status, "server_error")
        return {"error": {"message": text, "type": kind, "code": code, "param": None}}

    def calls(self, scene: str, folder: str) -> list[tuple[str, Json]]:
        del folder  # it works where it is started
        if scene == "slow-tool":
            return [("exec_command", {"cmd": "tail -f /dev/null"})]
        if scene == "plan-tool":
            steps = (("Write it", "in_progress"), ("Read it", "pending"))
            plan = [{"step": step, "status": status} for step, status in steps]
            return [("update_plan", {"plan": plan})]
        patch = f"*** Begin Patch\n*** Add File: out.txt\n+{_WRITE}*** End Patch\n"
        commands = (
            f"apply_patch <<'EOF'\n{patch}EOF\n",
            "echo one; echo two",
            "ls missing; exit 3",
        )
        return [("exec_command", {"cmd": command}) for command in commands]

    def start(self, texts: tuple[str, ...], thinking: str = "") -> None:
        self._texts: list[str] = []
        self.event("response.created", response=self._response("in_progress"))
        if thinking:
            summary = [{"type": "summary_text", "text": f"**Thought** {thinking}"}]
            item = {"id": "rs_1", "type": "reasoning", "summary": summary}
            self.event("response.output_item.added", output_index=0, item={**item, "summary": []})
            delta = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
            self.event("response.reasoning_summary_part.added", **delta)
            self.event("response.reasoning_summary_text.delta", **delta, delta=summary[0]["text"])
            self.event("response.output_item.done", output_index=0, item=item)
        self.event("response.output_item.added", output_index=1, item=self._message("in_progress"))
        for text in texts:
            self.more(text)

    def more(self, text: str) -> None:
        self._texts.append(text)
        place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
        self.event("response.output_text.delta", **place, delta=text)

    def call(self, calls: list[tuple[str, Json]]) -> None:
        self._end_message()
        for number, (name, args) in enumerate(calls, 1):
            item: Json = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
            item |= {"type": "function_call", "arguments": json.dumps(args), "status": "completed"}
            self.event("response.output_item.added", output_index=number + 1, item=item)
            self.event("response.output_item.done", output_index=number + 1, item=item)
        self.event("response.completed", response=self._response("completed"))

    def fail(self, text: str) -> None:
        error = {"code": "server_is_overloaded", "message": text}
        self.event("response.failed", response={**self._response("failed"), "error": error})

    def finish(self) -> None:
        self._end_message()
        self.event("response.completed", response=self._response("completed"))

    def event(self, kind: str, **fields: Any) -> None:
        self._sequence += 1
        super().event(kind, sequence_number=self._sequence, **fields)

    def _end_message(self) -> None:
        self.event("response.output_item.done", output_index=1, item=self._message("completed"))

    def _message(self, status: str) -> Json:
        text: Json = {"type": "output_text", "text": "".join(self._texts), "annotations": []}
        content: list[Json] = [text] if status == "completed" else []
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _response(self, status: str) -> Json:
        usage = {
            "input_tokens": 5,
            "output_tokens": 4,
            "total_tokens": 9,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": status,
            "model": self._body.get("model", "m"),
            "output": [],
            "error": None,
            "usage": usage if status == "completed" else None,
        }


class Gemini(Dialect):
    def __init__(self, handler: Answer, body: Json) -> None:
        super().__init__(handler, body)
        self.streams = "streamGenerateContent" in handler.path

    @staticmethod
    def refusal(status: int, text: str) -> Json:
        words = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
        word = words.get(status, "INTERNAL")
        error: Json = {"code": status, "message": text, "status": word}
        if status == 429:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            error["details"] = [{"@type": kind, "retryDelay": f"{RETRY_AFTER}s"}]
        return {"error": error}

    def tools(self, body: Json) -> list[str]:
        groups: list[Json] = body.get("tools") or []
        return [f["name"] for group in groups for f in group.get("functionDeclarations") or ()]

    def calls(self, scene: str, folder: str) -> list[tuple[str, Json]]:
        if scene == "slow-tool":
            return [("run_shell_command", {"command": "tail -f /dev/null"})]
        todos = [
            {"description": "Write it", "status": "in_progress"},
            {"description": "Read it", "status": "pending"},
        ]
        wanted = {
            "write_file": {"file_path": f"{folder}/out.txt", "content": _WRITE},
            "write_todos": {"todos": todos},
            "read_file": {"file_path": f"{folder}/missing.txt"},
            "run_shell_command": {"command": "echo one; echo two"},
        }
        return [*wanted.items()]

    def start(self, texts: tuple[str, ...], thinking: str = "") -> None:
        if not self.streams:
            answer = self._answer([{"text": "".join(texts)}], "STOP")
            self._handler.chunk(json.dumps(answer).encode())
            return
        if thinking:
            self.data(self._answer([{"text": f"**Thought** {thinking}", "thought": True}]))
        for text in texts:
            self.more(text)

    def more(self, text: str) -> None:
        if self.streams:
            self.data(self._answer([{"text": text}]))

    def call(self, calls: list[tuple[str, Json]]) -> None:
        parts = [{"functionCall": {"name": name, "args": args}} for name, args in calls]
        self.data(self._answer(parts, "STOP"))

    def fail(self, text: str) -> None:
        self.data({"error": {"code": 503, "message": text, "status": "UNAVAILABLE"}})

    def finish(self) -> None:
        if self.streams:
            self.data(self._answer([{"text": ""}], "STOP"))

    def _answer(self, parts: list[Json], finish: str = "") -> Json:
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 4, "totalTokenCount": 9}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}
