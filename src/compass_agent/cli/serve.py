"""`compass serve`: a hub that takes sessions from agents' processes and gives them to readers.

Readers come by gRPC and, with the extra `serve`, by HTTP.

It runs until it is told to stop (SIGINT, SIGTERM), and then ends well.
"""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import argparse
import functools
import importlib.util
import re
import signal
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from compass_agent.cli.exits import CommandError
from compass_agent.cli.metrics import add_metrics_option, giving_metrics
from compass_agent.cli.options import add_log_option, open_told, require_grpc
from compass_agent.cli.talk import say
from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from compass_agent.log import SessionLog

NAME = "serve"
HELP = "run a hub: take sessions from agents over a socket, give them to readers"

_LISTEN = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})", re.ASCII)
_LARGEST_PORT = 65_535
_HTTP_SOCKET = "http.sock"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_log_option(parser)
    parser.add_argument(
        "--unix",
        metavar="PATH",
        help="the unix socket, in a folder that is yours alone (default: compass/hub.sock in"
        " $XDG_RUNTIME_DIR, else in the state folder)",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_place,
        help="listen by TCP, too; what is sent there is not encrypted",
    )
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        type=_place,
        help="give sessions to readers and browsers by HTTP there, too; not encrypted either",
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name under which readers may come to --http, beside the loopback's and its own"
        " (may be repeated)",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        help="holds the token that callers by TCP must bring; --listen and --http need it",
    )
    add_metrics_option(parser)
    parser.set_defaults(usage_error=parser.error)


def run(options: argparse.Namespace) -> int:
    """Serve until a signal says stop; return the exit status.

    Raises:
        CommandError: The token's file holds none, it cannot listen at a place, or what `--metrics`
            needs is not installed.
        OperationError: `unsupported_input`: an extra is not installed, or the log is a hub. Else as
            opening the log does.
    """
    by_tcp = options.listen or options.http
    if (by_tcp is None) != (options.token_file is None):
        together = "--listen and --token-file go together, and --http and --token-file do"
        options.usage_error(together)
    token = None if options.token_file is None else _token(options.token_file)
    require_grpc()
    web = all(importlib.util.find_spec(name) is not None for name in ("starlette", "uvicorn"))
    if options.http is not None and not web:
        say("HTTP needs more: pip install 'compass-agent[serve]'")
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.log import default_socket  # noqa: PLC0415 - likewise

    unix = Path(options.unix).expanduser() if options.unix else default_socket()
    places = _Places(
        unix=unix.absolute(),
        listen=options.listen,
        http=options.http,
        hosts=frozenset(options.allow_host),
        token=token,
        web=web,
    )
    with giving_metrics(options):
        return anyio.run(functools.partial(_open_and_serve, options.log, places), backend="asyncio")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where to listen, and who may come by TCP.

    Attributes:
        unix: The hub's unix socket; that of HTTP is beside it.
        listen: The hub's place by TCP.
        http: That of HTTP.
        hosts: More names under which readers may come there.
        token: What callers by TCP must bring.
        web: Serve HTTP at all.
    """

    unix: Path
    listen: str | None
    http: str | None
    hosts: frozenset[str]
    token: str | None
    web: bool


async def _open_and_serve(url: str | None, places: _Places) -> int:
    from compass_agent.errors.groups import only_exception  # noqa: PLC0415 - dear to import
    from compass_agent.log import log_url  # noqa: PLC0415 - likewise
    from compass_agent.services.sockets import SocketRefusedError  # noqa: PLC0415 - likewise

    log = open_told(url, one_loop=True)
    name = log_url(url)
    try:
        if name.startswith("nats:"):
            from compass_agent.cli.engine_talk import tell_stream  # noqa: PLC0415 - it needs the extra

            await tell_stream(log)
        await _serve(log, name, places)
    except Exception as error:
        refused = only_exception(error)
        if isinstance(refused, SocketRefusedError):
            raise CommandError(refused.reason, refused.code) from error
        raise
    finally:
        await log.aclose()
    return 0


async def _serve(log: SessionLog, log_name: str, places: _Places) -> None:
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.runtime.hub import running_hub  # noqa: PLC0415 - likewise
    from compass_agent.runtime.journals import deliver_all, keep_delivering  # noqa: PLC0415 - likewise
    from compass_agent.runtime.upkeep import keep_pruned  # noqa: PLC0415 - likewise
    from compass_agent.transport import LocalTransport  # noqa: PLC0415 - likewise

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with (
            running_hub(log, unix=places.unix, listen=places.listen, token=places.token) as hub,
            _web(log, places) as addresses,
            anyio.create_task_group() as tasks,
        ):
            urls = [one if one.startswith("unix:") else f"grpc://{one}" for one in hub.targets]
            # What agents on this machine left, for the log or for a hub at one of these places.
            await deliver_all([log_name, *urls], LocalTransport(log))
            tasks.start_soon(keep_delivering, [log_name, *urls], LocalTransport(log))
            for address in addresses:
                page = "" if address.startswith("unix:") else "; a browser shows the sessions there"
                say(f"serving HTTP at {address}{page}")
            tasks.start_soon(keep_pruned, log)
            for url in urls:
                say(f"listening at {url}; to publish there: compass run --log {url} -- CMD")
            async for _ in signals:
                break
            say("stopping")
            tasks.cancel_scope.cancel()


def _web(log: SessionLog, places: _Places) -> AbstractAsyncContextManager[list[str]]:
    """Return what serves HTTP while it is entered, and gives its addresses."""
    if not places.web:
        return nullcontext([])
    from compass_agent.runtime.web import running_http  # noqa: PLC0415 - dear to import

    return running_http(
        log,
        unix=places.unix.with_name(_HTTP_SOCKET),
        listen=places.http,
        token=places.token,
        hosts=places.hosts,
    )


def _token(path: Path) -> str:
    """Return the token in the file.

    Raises:
        CommandError: The file cannot be read, or holds no token.
    """
    from compass_agent.log.hubs import TokenRefusedError, read_token  # noqa: PLC0415 - dear to import

    try:
        return read_token(path)
    except TokenRefusedError as error:
        raise CommandError(error.reason) from error


def _place(text: str) -> str:
    found = _LISTEN.fullmatch(text)
    if found is None or int(found[2]) > _LARGEST_PORT:
        raise argparse.ArgumentTypeError("a host and a port, such as 127.0.0.1:7330 or [::1]:7330")
    return text
