"""Asking a hub about sessions: requests, and where each stands, to bytes and back."""

from __future__ import annotations

__all__ = (
    "GET_SESSION",
    "LIST_SESSIONS",
    "ListRequest",
    "SessionInfo",
    "get_request_from_bytes",
    "get_request_to_bytes",
    "list_request_from_bytes",
    "list_request_to_bytes",
    "listed_from_bytes",
    "listed_to_bytes",
    "session_from_bytes",
    "session_to_bytes",
)

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import DecodeError, Message

from compass.v1.compass_pb2 import (
    GetSessionRequest,
    GetSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    SessionSummary,
)
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import as_state
from compass_agent.wire.malformed import MalformedRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.frames import SessionError

LIST_SESSIONS = ("compass.v1.CompassService", "ListSessions")
GET_SESSION = ("compass.v1.CompassService", "GetSession")
"""Service and name of the methods."""

_M = TypeVar("_M", bound=Message)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session as it crosses: see SessionSummary in the contract.

    Attributes:
        session: The session's id.
        epoch: Its current epoch.
        seq: The last `seq` of it that can be read now.
        state: The number of its AgentSessionState.
        last_error: What went wrong last; None once later work began.
        title: For people; may be empty.
        agent: The agent's name; may be empty.
        version: The agent's version; may be empty.
        opened_ms: When the current epoch was opened, in milliseconds since 1970-01-01 UTC.
        updated_ms: When something was stored last, likewise.
        frames: How many frames are stored, over all epochs.
        ended: Whether the current epoch ended.
    """

    session: str
    epoch: str
    seq: int
    state: int
    last_error: SessionError | None
    title: str
    agent: str
    version: str
    opened_ms: int
    updated_ms: int
    frames: int
    ended: bool


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Which sessions to list.

    Attributes:
        limit: Sessions a page at most; 0: as many as the hub likes.
        page_token: The token that came with the page before; empty: the first page.
        states: Numbers of AgentSessionState; empty: any.
        query: Text in id, title, agent or failure, whatever the case; empty: any.
    """

    limit: int = 0
    page_token: str = ""
    states: frozenset[int] = frozenset()
    query: str = ""


def list_request_to_bytes(request: ListRequest) -> bytes:
    """Return the ListSessionsRequest."""
    return ListSessionsRequest(
        limit=request.limit,
        page_token=request.page_token,
        states=[as_state(number) for number in sorted(request.states)],
        query=request.query,
    ).SerializeToString()


def list_request_from_bytes(data: bytes) -> ListRequest:
    """Read a ListSessionsRequest.

    Raises:
        MalformedRequestError: The bytes are no such message.
    """
    message = _asked(ListSessionsRequest, data)
    states = frozenset(int(number) for number in message.states)
    return ListRequest(message.limit, message.page_token, states, message.query)


def listed_to_bytes(sessions: Iterable[SessionInfo], next_page_token: str) -> bytes:
    """Return the ListSessionsResponse."""
    found = [_to_message(session) for session in sessions]
    return ListSessionsResponse(sessions=found, next_page_token=next_page_token).SerializeToString()


def listed_from_bytes(data: bytes) -> tuple[list[SessionInfo], str]:
    """Return the sessions of one page, and the token for the page behind.

    Raises:
        OperationError: `unavailable`: the bytes are no such message.
    """
    message = _answered(ListSessionsResponse, data)
    return [_from_message(session) for session in message.sessions], message.next_page_token


def get_request_to_bytes(session: str) -> bytes:
    """Return the GetSessionRequest."""
    return GetSessionRequest(session_id=session).SerializeToString()


def get_request_from_bytes(data: bytes) -> str:
    """Return the session that a GetSessionRequest names.

    Raises:
        MalformedRequestError: The bytes are no such message.
    """
    return _asked(GetSessionRequest, data).session_id


def session_to_bytes(session: SessionInfo) -> bytes:
    """Return the GetSessionResponse."""
    return GetSessionResponse(session=_to_message(session)).SerializeToString()


def session_from_bytes(data: bytes) -> SessionInfo:
    """Return the session of a GetSessionResponse.

    Raises:
        OperationError: `unavailable`: the bytes are no such message.
    """
    return _from_message(_answered(GetSessionResponse, data).session)


def _asked(kind: type[_M], data: bytes) -> _M:
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise MalformedRequestError(f"the request is no {kind.__name__}") from error


def _answered(kind: type[_M], data: bytes) -> _M:
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise OperationError(ErrorCode.UNAVAILABLE) from error


def _to_message(session: SessionInfo) -> SessionSummary:
    fields: dict[str, Any] = {"last_error": session.last_error} if session.last_error else {}
    return SessionSummary(
        session_id=session.session,
        epoch=session.epoch,
        seq=session.seq,
        state=as_state(session.state),
        title=session.title,
        agent=session.agent,
        version=session.version,
        opened_unix_ms=session.opened_ms,
        updated_unix_ms=session.updated_ms,
        frames=session.frames,
        ended=session.ended,
        **fields,
    )


def _from_message(message: SessionSummary) -> SessionInfo:
    return SessionInfo(
        session=message.session_id,
        epoch=message.epoch,
        seq=message.seq,
        state=message.state,
        last_error=message.last_error if message.HasField("last_error") else None,
        title=message.title,
        agent=message.agent,
        version=message.version,
        opened_ms=message.opened_unix_ms,
        updated_ms=message.updated_unix_ms,
        frames=message.frames,
        ended=message.ended,
    )
