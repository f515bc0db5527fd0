"""A reader that takes all that HTTP/2 allows, and then reads nothing: its connection fills up."""

from __future__ import annotations

__all__ = ("LARGER_THAN_A_SOCKETS_BUFFER", "FullReader", "full_reader")

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.events
import h2.settings

from compass.v1.compass_pb2 import SubscribeAgentSessionRequest
from compass_agent.wire.relay import SUBSCRIBE

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

LARGER_THAN_A_SOCKETS_BUFFER = 500_000

_WINDOW = 2**30
_HEADERS = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/{}/{}".format(*SUBSCRIBE)),
    (":authority", "compass"),
    ("te", "trailers"),  # codespell:ignore te
    ("content-type", "application/grpc"),
]
_PATIENCE_S = 20


class FullReader:
    """The reader, before and after it connects."""

    def __init__(self, session: str) -> None:
        self._connection = h2.connection.H2Connection(h2.config.H2Configuration())
        self._way = socket.socket(socket.AF_UNIX)
        self._request = SubscribeAgentSessionRequest(session_id=session).SerializeToString()

    def begin(self, place: Path) -> None:
        """Subscribe at this socket, and block until the first bytes of a message are there."""
        http = self._connection
        http.initiate_connection()
        http.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW})
        http.increment_flow_control_window(_WINDOW)
        http.send_headers(1, _HEADERS)
        message = b"\0" + len(self._request).to_bytes(4, "big") + self._request
        http.send_data(1, message, end_stream=True)
        self._way.settimeout(_PATIENCE_S)
        self._way.connect(str(place))
        self._way.sendall(http.data_to_send())
        begun = False
        while not begun:
            data = self._way.recv(4_096)
            assert data, "the hub left"
            begun = any(isinstance(e, h2.events.DataReceived) for e in http.receive_data(data))

    def close(self) -> None:
        """Leave."""
        self._way.close()


@contextmanager
def full_reader(session: str) -> Generator[FullReader]:
    """Have a reader that leaves at the end."""
    reader = FullReader(session)
    try:
        yield reader
    finally:
        reader.close()
