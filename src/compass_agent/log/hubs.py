"""Where a hub is that a URL names, and what it asks for."""

from __future__ import annotations

__all__ = ("hub_way",)

import os
from pathlib import Path

from compass_agent.errors.codes import ErrorCode, OperationError


def hub_way(url: str) -> tuple[str, str | None]:
    """Return the place, as gRPC names it, and the token for the hub at `unix:PATH` or `grpc://…`.

    The token is read from the file that `COMPASS_TOKEN_FILE` names; a unix socket asks for none.

    Raises:
        OperationError: `permission_denied`: that file cannot be read.
    """
    if not url.startswith("grpc://"):
        return url, None
    target = url.removeprefix("grpc://")
    path = os.environ.get("COMPASS_TOKEN_FILE")
    if not path:
        return target, None
    try:
        return target, Path(path).read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise OperationError(ErrorCode.PERMISSION_DENIED) from error
