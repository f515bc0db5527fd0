"""A session as JSON Lines: one AgentSessionFrame a line, in protobuf's canonical JSON.

`google.protobuf.json_format.Parse` takes each line back as it was. Everything outside ASCII is
escaped, so that no character in it ends a line for any reader of lines.
"""

from __future__ import annotations

__all__ = ("jsonl",)

from typing import TYPE_CHECKING

from compass_agent.wire import item_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.wire import Item


def jsonl(session: str, items: Iterable[Item]) -> str:
    r"""Return `items` of `session`, a line each, with `\n` behind every one.

    Raises:
        OperationError: `unsupported_input`, when an item holds bytes that are no frame.
    """
    return "".join(item_to_json(session, item) + "\n" for item in items)
