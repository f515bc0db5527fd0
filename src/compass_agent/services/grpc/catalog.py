"""Serves `ListSessions` and `GetSession` out of a log, thin over the operations of `services`."""

from __future__ import annotations

__all__ = ("Catalog", "info_of", "summary_of")

from typing import TYPE_CHECKING

import grpc

from compass_agent.frames import Cursor
from compass_agent.log.read import SessionSummary
from compass_agent.services.listing import SessionQuery, find_sessions, page_from_text
from compass_agent.services.requests import Slips, limit_from, state_from_number
from compass_agent.services.sessions import find_session
from compass_agent.wire.sessions import (
    GET_SESSION,
    LIST_SESSIONS,
    SessionInfo,
    get_request_from_bytes,
    list_request_from_bytes,
    listed_to_bytes,
    session_to_bytes,
)

if TYPE_CHECKING:
    from grpc import aio

    from compass_agent.log.read import ReadLog

    _Handler = grpc.RpcMethodHandler[bytes, bytes]
    _Context = aio.ServicerContext[bytes, bytes]

# Each with a failure of 8 KiB stays below the 4 MiB that gRPC's readers take.
_LARGEST_PAGE = 400


class Catalog:
    """Tells where the sessions of `log` stand; the log stays its owner's to close."""

    def __init__(self, log: ReadLog) -> None:
        self._log = log

    def handler(self) -> grpc.GenericRpcHandler:
        """Return what a server is given."""
        service, list_method = LIST_SESSIONS
        _, get_method = GET_SESSION
        # Without serializers bytes come and go as they are.
        lists: _Handler = grpc.unary_unary_rpc_method_handler(self.list_sessions)
        gets: _Handler = grpc.unary_unary_rpc_method_handler(self.get_session)
        return grpc.method_handlers_generic_handler(service, {list_method: lists, get_method: gets})

    async def list_sessions(self, request: bytes, _context: _Context) -> bytes:
        """Answer with a page of the sessions that are asked for.

        Raises:
            MalformedRequestError: The request cannot be read.
            OperationError: As the log's `sessions` does.
        """
        wanted = list_request_from_bytes(request)
        slips = Slips()
        limit = slips.read(limit_from, wanted.limit or _LARGEST_PAGE, "limit", 0)
        states = [slips.read(state_from_number, one, "states", 0) for one in sorted(wanted.states)]
        page_token = slips.read(page_from_text, wanted.page_token, "page_token", "")
        slips.check()
        query = SessionQuery(
            states=frozenset(states),
            text=wanted.query,
            limit=min(limit, _LARGEST_PAGE),
            page=page_token,
        )
        page = await find_sessions(self._log, query)
        return listed_to_bytes([info_of(row.summary) for row in page.rows], page.next_page)

    async def get_session(self, request: bytes, _context: _Context) -> bytes:
        """Answer with where the session stands.

        Raises:
            MalformedRequestError: The request cannot be read.
            OperationError: `not_found`, `unsupported_input` (no session can be named so), or as the
                log's `sessions` does.
        """
        summary = await find_session(self._log, get_request_from_bytes(request))
        return session_to_bytes(info_of(summary))


def info_of(summary: SessionSummary) -> SessionInfo:
    """Return the summary as it crosses."""
    return SessionInfo(
        session=summary.session,
        epoch=summary.epoch,
        seq=summary.cursor.seq,
        state=summary.state,
        last_error=summary.last_error,
        title=summary.title,
        agent=summary.agent,
        version=summary.version,
        opened_ms=summary.opened_ms,
        updated_ms=summary.updated_ms,
        frames=summary.frames,
        ended=summary.ended,
    )


def summary_of(info: SessionInfo) -> SessionSummary:
    """Return the summary that `info_of` was given."""
    return SessionSummary(
        session=info.session,
        epoch=info.epoch,
        state=info.state,
        last_error=info.last_error,
        title=info.title,
        agent=info.agent,
        version=info.version,
        opened_ms=info.opened_ms,
        updated_ms=info.updated_ms,
        frames=info.frames,
        cursor=Cursor(info.epoch, info.seq),
        ended=info.ended,
    )
