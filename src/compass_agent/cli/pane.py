"""The page of one session, served on this machine while its command runs.

It listens on the loopback alone, at a free port, with a token of its own that dies with it.
"""

from __future__ import annotations

__all__ = ("require_pane", "showing_pane")

import importlib.util
import secrets
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from compass_agent.cli.options import open_reading
from compass_agent.cli.talk import say
from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_TOKEN_BYTES = 32
_LAST_WORD_S = 3


def require_pane() -> None:
    """Check that what the page needs is installed, or say how to install it.

    Raises:
        OperationError: `unsupported_input`: it is not.
    """
    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn")):
        say("the page needs more: pip install 'compass-agent[serve]'")
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)


@asynccontextmanager
async def showing_pane(log_url: str | None, session: str) -> AsyncGenerator[None]:
    """Serve the page of `session` until the block is left, and say where.

    Pages that are open then are told the session's end first. When it cannot be served, it says so:
    the command runs all the same.

    Args:
        log_url: The log that holds the session; None: the default.
        session: The session's id.
    """
    from compass_agent.runtime.web import running_http  # noqa: PLC0415 - dear to import
    from compass_agent.services.http import Shared  # noqa: PLC0415 - likewise

    token, shared = secrets.token_urlsafe(_TOKEN_BYTES), Shared()
    async with AsyncExitStack() as stack:
        try:
            log = await stack.enter_async_context(open_reading(log_url))
            serving = running_http(log, listen="127.0.0.1:0", token=token, shared=shared)
            (address,) = await stack.enter_async_context(serving)
        except OperationError as error:
            say(f"there is no page: {error.message}")
        else:
            say(f"its page: {address}/s/{session}#t={token}")
        yield
        with anyio.move_on_after(_LAST_WORD_S):
            await shared.streams.drained()
