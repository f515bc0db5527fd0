"""Which extra the log or hub that a URL names needs, and whether it is installed."""

from __future__ import annotations

__all__ = ("require_extra_of",)

import importlib.util
import os

from compass_agent.errors.extras import ExtraMissingError

_NEEDS = {
    "unix": ("grpc", "a hub needs gRPC", ("grpc", "google.rpc")),
    "grpc": ("grpc", "a hub needs gRPC", ("grpc", "google.rpc")),
    "nats": ("nats", "a log on NATS needs its client", ("nats",)),
}


def require_extra_of(url: str) -> None:
    """Check that what the log or hub at a URL which `log_url` returned needs is installed.

    Raises:
        ExtraMissingError: `unsupported_input`: it is not; `reason` says how to install it.
    """
    needs = _NEEDS.get(url.partition(":")[0])
    if needs is None:
        return
    extra, what, modules = needs
    if extra == "nats" and os.environ.get("COMPASS_NATS_CREDS"):
        modules = (*modules, "nkeys")  # The client imports it when it first signs.
    if any(not _is_there(name) for name in modules):
        raise ExtraMissingError(f"{what}: pip install 'compass-agent[{extra}]'")


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):  # nothing above it, or kept from being imported
        return False
