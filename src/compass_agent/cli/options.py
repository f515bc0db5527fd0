"""Options that several commands share, and what follows from them."""

from __future__ import annotations

__all__ = (
    "add_log_option",
    "add_look_options",
    "known_log",
    "log_exists",
    "open_keeping",
    "open_reading",
    "open_told",
    "prepare_streams",
    "require_grpc",
    "style_of",
    "why_refused",
)

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

from compass_agent.cli.closed import ClosedOutput
from compass_agent.cli.exits import CommandError
from compass_agent.cli.talk import is_utf8, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Callable

    from compass_agent.errors.codes import OperationError
    from compass_agent.log import SessionLog
    from compass_agent.log.read import ReadLog
    from compass_agent.services.hub_links import HubAway, HubBack
    from compass_agent.view.style import Style


def add_log_option(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """Add `--log URL`; a command below another one has `argparse.SUPPRESS` as its default."""
    parser.add_argument(
        "--log",
        default=default,
        metavar="URL",
        help="the session log: sqlite:PATH, nats://HOST:PORT, or a hub: unix:PATH, grpc://HOST:PORT"
        " (default: $COMPASS_LOG, else the log of this user)",
    )


def add_look_options(parser: argparse.ArgumentParser) -> None:
    """Add `--color` and `--ascii`."""
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="use colours (auto: on a terminal, unless NO_COLOR is set)",
    )
    parser.add_argument("--ascii", action="store_true", help="use ASCII symbols only")


@contextlib.asynccontextmanager
async def open_reading(
    url: str | None,
    *,
    patience_s: float | None = None,
    tell: Callable[[HubAway | HubBack], None] | None = None,
) -> AsyncGenerator[ReadLog]:
    """Open the log at `url` (None: the default), or that of a hub, and close it at the end.

    Args:
        url: Where it is.
        patience_s: For how long to wait for a hub that went away; None: as usual.
        tell: Is told when a hub goes away and when it is back; None: it is said on stderr.

    Raises:
        OperationError: As `open_log` does. `TokenRefusedError`: a hub's token cannot be read.
    """
    from compass_agent.log import is_hub  # noqa: PLC0415 - dear to import

    url = known_log(url)
    log = _hub_reader(url, patience_s, tell) if is_hub(url) else open_told(url)
    try:
        yield log
    except Exception as error:
        if url.startswith("grpc:"):
            _tell_token(url, error)
        _tell_engine(url, error)
        raise
    finally:
        await log.aclose()


def _tell_token(url: str, error: Exception) -> None:
    """Say what a hub by TCP has against our token, if it was that."""
    from compass_agent.errors.codes import ErrorCode, OperationError  # noqa: PLC0415 - dear to import
    from compass_agent.errors.groups import only_exception  # noqa: PLC0415 - likewise

    found = only_exception(error)
    if not isinstance(found, OperationError) or found.code is not ErrorCode.PERMISSION_DENIED:
        return
    file = os.environ.get("COMPASS_TOKEN_FILE")
    if file:
        say(f"the hub at {url} does not take the token in {file}")
    else:
        say(f"the hub at {url} asks for a token: name its file in COMPASS_TOKEN_FILE")


def _tell_engine(url: str, error: Exception) -> None:
    """Say what an engine has against what was asked of it, if it was that."""
    if url.startswith("nats:"):
        from compass_agent.cli.engine_talk import tell_engine  # noqa: PLC0415 - it needs the extra

        tell_engine(error)


@contextlib.asynccontextmanager
async def open_keeping(url: str | None) -> AsyncGenerator[SessionLog]:
    """Open the log at `url` (None: the default), which is to be changed, and close it at the end.

    Raises:
        OperationError: As `open_log` does. `unsupported_input`: it is a hub.
    """
    from compass_agent.errors.codes import ErrorCode, OperationError  # noqa: PLC0415 - dear to import
    from compass_agent.log import is_hub  # noqa: PLC0415 - dear to import

    url = known_log(url)
    if is_hub(url):
        say("a hub only lets read; name the log that it serves, such as sqlite:PATH")
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    log = open_told(url)
    try:
        yield log
    except Exception as error:
        _tell_engine(url, error)
        raise
    finally:
        await log.aclose()


def open_told(url: str | None, *, one_loop: bool = False) -> SessionLog:
    """Open the log at `url`; when it cannot be, because of its version or an extra, say so.

    Raises:
        OperationError: As `open_log` does.
    """
    from compass_agent.errors.codes import OperationError  # noqa: PLC0415 - dear to import
    from compass_agent.log import open_log  # noqa: PLC0415 - dear to import

    try:
        return open_log(known_log(url), one_loop=one_loop)
    except OperationError as error:
        reason = why_refused(error)
        if reason is not None:
            say(reason)
        raise


def why_refused(error: OperationError) -> str | None:
    """Return what is wrong with a log's version, a hub's token or what is installed, else None."""
    from compass_agent.errors.extras import ExtraMissingError  # noqa: PLC0415 - only for this
    from compass_agent.log.hubs import TokenRefusedError  # noqa: PLC0415 - only for this
    from compass_agent.log.sqlite.schema import VersionError  # noqa: PLC0415 - only for this

    if isinstance(error, TokenRefusedError | VersionError | ExtraMissingError):
        return error.reason
    return None


def known_log(url: str | None) -> str:
    """Return the URL of the log or hub that `url` (None: the default) means, with nothing opened.

    Raises:
        CommandError: `unsupported_input`: this version knows no such log; the URL is named.
    """
    from compass_agent.errors.codes import OperationError  # noqa: PLC0415 - dear to import
    from compass_agent.log import log_url  # noqa: PLC0415 - likewise

    try:
        return log_url(url)
    except OperationError as error:
        said = f"--log {url}" if url else f"COMPASS_LOG={os.environ.get('COMPASS_LOG')}"
        raise CommandError(
            f"{said}: no such log; this version has sqlite:PATH, memory:NAME, "
            "nats://HOST:PORT, unix:PATH and grpc://HOST:PORT"
        ) from error


def require_grpc() -> None:
    """Check that what a hub needs is installed, or say how to install it.

    Raises:
        OperationError: `unsupported_input`: it is not.
    """
    from compass_agent.errors.extras import ExtraMissingError  # noqa: PLC0415 - dear to import
    from compass_agent.log.extras import require_extra_of  # noqa: PLC0415 - likewise

    try:
        require_extra_of("grpc:")
    except ExtraMissingError as error:
        say(error.reason)
        raise


def _hub_reader(
    url: str, patience_s: float | None, tell: Callable[[HubAway | HubBack], None] | None
) -> ReadLog:
    require_grpc()
    from compass_agent.cli.hub_talk import HubTalk  # noqa: PLC0415 - only who reads from a hub
    from compass_agent.log.hubs import TokenRefusedError, hub_way  # noqa: PLC0415 - dear to import
    from compass_agent.services.grpc import HubReader  # noqa: PLC0415 - only who reads from a hub

    try:
        target, token = hub_way(url)
    except TokenRefusedError as error:
        say(error.reason)
        raise
    tell = tell or HubTalk()
    if patience_s is None:
        return HubReader(target, token, tell=tell)
    return HubReader(target, token, tell=tell, patience_s=patience_s)


def log_exists(url: str | None) -> bool:
    """Tell whether there is anything to read at `url`: only writers make the file of a log.

    Raises:
        CommandError: As `known_log` does.
    """
    from compass_agent.log import log_file  # noqa: PLC0415 - dear to import

    path = log_file(known_log(url))
    return path is None or path.exists()


def prepare_streams() -> None:
    """Let stdout and stderr take any text: what their encoding lacks is escaped.

    One that was closed at the start gets a descriptor, so that no file of ours, such as a log,
    takes its place; writing to stdout fails then as to any file that cannot be written.
    """
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def style_of(options: argparse.Namespace) -> Style:
    """Return the style for stdout that `--color`, `--ascii` and the environment ask for."""
    from compass_agent.view.style import Style  # noqa: PLC0415 - dear to import

    color = options.color == "always"
    if options.color == "auto":
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        color = sys.stdout.isatty() and not plain
    return Style(color=color, ascii_only=options.ascii or not is_utf8(sys.stdout.encoding))
