"""An operator, an account and a user with credentials, as a NATS server takes them."""

from __future__ import annotations

__all__ = ("Accounts",)

import json
import os
import time
from base64 import b32encode, urlsafe_b64encode
from hashlib import sha256
from importlib import import_module
from typing import Any

_UNBOUND = [
    "subs",
    "data",
    "payload",
    "imports",
    "exports",
    "conn",
    "leaf",
    "mem_storage",
    "disk_storage",
    "streams",
    "consumer",
]


class Accounts:
    """The keys of one operator with one account and one user of it.

    Attributes:
        lines: What the configuration of a server says of them.
        credentials: The text of the user's file of credentials.
    """

    def __init__(self) -> None:
        nkeys: Any = import_module("nkeys")  # It tells no types.

        def made(kind: int) -> Any:
            return nkeys.from_seed(nkeys.encode_seed(os.urandom(32), kind))

        operator = made(nkeys.PREFIX_BYTE_OPERATOR)
        agents, system = (made(nkeys.PREFIX_BYTE_ACCOUNT) for _ in range(2))
        user = made(nkeys.PREFIX_BYTE_USER)
        limits = {"limits": {**dict.fromkeys(_UNBOUND, -1), "wildcards": True}}
        preload = ", ".join(
            f"{_name(one)}: {_signed(operator, one, {'type': 'account', **had})}"
            for one, had in ((agents, limits), (system, {}))
        )
        self.lines = [
            f"operator: {_signed(operator, operator, {'type': 'operator'})}",
            f"system_account: {_name(system)}",
            "resolver: MEMORY",
            f"resolver_preload: {{ {preload} }}",
        ]
        told = _signed(agents, user, {"type": "user", "subs": -1, "data": -1, "payload": -1})
        self.credentials = (
            f"-----BEGIN NATS USER JWT-----\n{told}\n------END NATS USER JWT------\n\n"
            "-----BEGIN USER NKEY SEED-----\n"
            f"{user.seed.decode()}\n------END USER NKEY SEED------\n"
        )


def _name(keys: Any) -> str:
    return keys.public_key.decode()


def _signed(by: Any, whose: Any, what: dict[str, Any]) -> str:
    claims = {
        "iat": int(time.time()),
        "iss": _name(by),
        "name": "us",
        "nats": {**what, "version": 2},
        "sub": _name(whose),
    }
    digest = sha256(json.dumps(claims).encode()).digest()
    claims["jti"] = b32encode(digest).decode().rstrip("=")
    parts = ({"typ": "JWT", "alg": "ed25519-nkey"}, claims)
    text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{_encoded(by.sign(text.encode()))}"


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
