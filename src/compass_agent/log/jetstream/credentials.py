"""The file of credentials of a NATS user, read for each connection, so that a new one is taken.

The client's own reader fails in as many ways as a file can be wrong, and never ends on one that has
no token in it.
"""

from __future__ import annotations

__all__ = ("Credentials", "CredentialsError")

import os
import re
import stat
from base64 import b64encode
from importlib import import_module
from typing import TYPE_CHECKING, Any

import nats.errors

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_BYTES = 1 << 16
_BEGIN = rb"-+BEGIN %s-+\s+([A-Za-z0-9_.=-]+)\s+-+END %s-+"
_TOKEN, _SEED = (re.compile(_BEGIN % (one, one)) for one in (b"NATS USER JWT", b"USER NKEY SEED"))


class CredentialsError(nats.errors.Error):
    """The file cannot be used; the text names it and says what is wrong with it."""


class Credentials:
    """What a client asks for when it connects.

    Args:
        path: Where the file is.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def check(self) -> None:
        """Read the file.

        Raises:
            CredentialsError: It cannot be used.
        """
        self._read()

    def options(self) -> dict[str, Callable[..., object]]:
        """Return what the client's `connect` takes; both raise `CredentialsError`."""
        return {"user_jwt_cb": self._token, "signature_cb": self._sign}

    def _token(self) -> bytearray:
        return bytearray(self._read()[0])

    def _sign(self, nonce: str) -> bytes:
        return b64encode(self._read()[1].sign(nonce.encode()))

    def _read(self) -> tuple[bytes, Any]:
        """Return the token and the keys."""
        try:
            with open(self._path, "rb", opener=_open_file) as file:
                text = file.read(_MOST_BYTES)
        except (OSError, ValueError) as error:
            raise self._wrong(getattr(error, "strerror", None) or str(error)) from error
        token, seed = _TOKEN.search(text), _SEED.search(text)
        if token is None:
            raise self._wrong("there is no user's token (BEGIN NATS USER JWT) in it")
        if seed is None:
            raise self._wrong("there is no key (BEGIN USER NKEY SEED) in it, or it is cut off")
        nkeys: Any = import_module("nkeys")  # It tells no types.
        try:
            return token[1], nkeys.from_seed(bytearray(seed[1]))
        except Exception as error:  # It tells them by many types.
            raise self._wrong("its key is not valid") from error

    def _wrong(self, why: str) -> CredentialsError:
        return CredentialsError(f"the file of credentials {self._path} cannot be used: {why}")


def _open_file(path: str, flags: int) -> int:
    fd = os.open(path, flags | os.O_NONBLOCK)  # A pipe would keep everybody waiting.
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ValueError("it is no file")
    return fd
