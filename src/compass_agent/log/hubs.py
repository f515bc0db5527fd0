"""Where a hub is that a URL names, and what it asks for."""

from __future__ import annotations

__all__ = (
    "CHANNEL_OPTIONS",
    "FRAMES_A_MESSAGE",
    "LARGEST_MESSAGE",
    "TokenRefusedError",
    "hub_way",
    "read_token",
)

import os
import re
from pathlib import Path

from compass_agent.errors.codes import ErrorCode, OperationError

LARGEST_MESSAGE = 64 * 1024 * 1024
"""What a hub and its clients take in one message, in bytes."""

FRAMES_A_MESSAGE = 256
"""What our readers ask for: 64 move dozens of times as many frames a second as one does, and 256
twice as many again."""

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    # A hub that came back is found again within two seconds.
    ("grpc.initial_reconnect_backoff_ms", 50),
    # Its name misleads: so long may one attempt to connect take, on a busy machine too.
    ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # A hub that no longer answers is noticed, also while nothing is said.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.default_authority", "compass"),
)
"""How gRPC's clients keep their connection to a hub, writers and readers alike."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,512}", re.ASCII)


class TokenRefusedError(OperationError):
    """A file gives no token; `reason` says why, to the person who named the file."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(code)
        self.reason = reason


def read_token(path: Path) -> str:
    """Return the token in the file at `path`; white space around it does not count.

    Raises:
        TokenRefusedError: `permission_denied`: the file cannot be read. `unsupported_input`: it
            holds no token.
    """
    try:
        text = path.read_text("ascii").strip()
    except OSError as error:
        reason = f"{path} cannot be read"
        raise TokenRefusedError(ErrorCode.PERMISSION_DENIED, reason) from error
    except ValueError:
        text = ""
    if not _TOKEN.fullmatch(text):
        reason = f"{path} holds no token: 16 to 512 letters, digits and characters of ._~+/=-"
        raise TokenRefusedError(ErrorCode.UNSUPPORTED_INPUT, reason)
    return text


def hub_way(url: str) -> tuple[str, str | None]:
    """Return the place, as gRPC names it, and the token for the hub at `unix:PATH` or `grpc://…`.

    The token is read from the file that `COMPASS_TOKEN_FILE` names; a unix socket asks for none.

    Raises:
        TokenRefusedError: As `read_token`.
    """
    if not url.startswith("grpc://"):
        return url, None
    target = url.removeprefix("grpc://")
    path = os.environ.get("COMPASS_TOKEN_FILE")
    return target, read_token(Path(path)) if path else None
