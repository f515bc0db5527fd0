"""Masks secrets in texts for people: keys, tokens, passwords, parts of URLs, registered values.

Linear in the length of the text whatever it holds, and masking twice changes nothing more.
"""

from __future__ import annotations

__all__ = ("MASK", "redact")

import re
from typing import TYPE_CHECKING, TypeAlias

from compass_agent.errors.marks import MASK, cut
from compass_agent.errors.registered import without_registered
from compass_agent.errors.secret_names import looks_secret

if TYPE_CHECKING:
    from collections.abc import Iterable

_Match: TypeAlias = re.Match[str]

# A token, and its echo with stars, dots, an ellipsis or bullets for the hidden part.
_BODY = r"[A-Za-z0-9_*.…•-]"
_ECHO = re.compile(r"\*\*|\.\.\.|…|••")

# Keys whose prefix alone says what they are: the rest may be short.
_SURE_PREFIXES = (
    "sk-ant-",
    "sk-proj-",
    "sk-or-",
    "sk-svcacct-",
    "sk-admin-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "github_pat_",
    "glpat-",
    "whsec_",
    "nvapi-",
    "pplx-",
    "tvly-",
    "dop_v1_",
    "lsv2_",
)
# These also begin ordinary names. With a number, as for `hf_hub_download` or `xai-org`, the key is
# one run of that many letters and digits; with 0 the rest must look like a token.
_LIKELY_PREFIXES = {
    "sk-": 0,
    "AIza": 0,
    "gsk_": 16,
    "xai-": 16,
    "ghp_": 0,
    "gho_": 0,
    "ghu_": 0,
    "ghs_": 0,
    "ghr_": 0,
    "AKIA": 8,
    "ASIA": 8,
    "hf_": 16,
    "xoxa-": 0,
    "xoxb-": 0,
    "xoxd-": 0,
    "xoxe-": 0,
    "xoxo-": 0,
    "xoxp-": 0,
    "xoxr-": 0,
    "xoxs-": 0,
    "xapp-": 0,
    "ya29.": 0,
    "npm_": 24,
    "pypi-": 0,
    "csk-": 0,
    "r8_": 16,
    "AQ.": 0,
    "SG.": 0,
    "eyJ": 0,
    "fw_": 16,
    "ABSK": 0,
    "LTAI": 0,
}
_ALL_PREFIXES = (*_SURE_PREFIXES, *_LIKELY_PREFIXES)
# Looked for before the pattern runs: by a sign that few texts have, then by the shortest of them.
_PREFIXES_BY_SIGN = tuple(
    (
        sign,
        tuple(
            p
            for p in _ALL_PREFIXES
            if sign in p and not any(o != p and o in p for o in _ALL_PREFIXES)
        ),
    )
    for sign in ("-", "_", ".", "AIza", "AKIA", "ASIA", "eyJ", "ABSK", "LTAI")
)
_PREFIXED = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?P<sure>{'|'.join(map(re.escape, _SURE_PREFIXES))})"
    rf"|(?P<likely>{'|'.join(map(re.escape, _LIKELY_PREFIXES))}))(?P<body>{_BODY}{{2,}})"
)

_SCHEME = re.compile(
    r"\b(?:bearer|basic|negotiate)(?:[ \t]+|[ \t]?[:=][ \t]*|%20)\\{0,3}[\"'`]?"
    r"(?P<value>[a-z0-9._~+/=*…•-]{6,})"
)
# `auth=("bob", "hunter2")`, `HTTPBasicAuth("bob", "hunter2")`
_LOGIN_CALL = re.compile(
    r"[Aa]uth(?:=|[\"']: )?\([\"'][^\"'\n]{0,128}[\"'], ?[\"']"
    r"(?!\[redacted\])(?P<value>[^\"'\n]{1,256})(?=[\"'])"
)
_WORD = re.compile(r"[A-Za-z]?[a-z]*")
_RUN = re.compile(r"[A-Za-z0-9]{16}")
# Addresses whose last part lets anybody post.
_HOOK = re.compile(
    r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/"
    r"|api\.telegram\.org/(?:file/)?bot)(?P<value>[\w:/.-]*[\w-])",
    re.IGNORECASE,
)
_HOOK_HOSTS = ("hooks.slack.com/", "/api/webhooks/", "api.telegram.org/")
_CURL_LOGIN = re.compile(
    r"(?<![\w-])(?:-u|--(?:proxy-)?user)(?:=|[ ]{1,4})?[\"']?[\w.@+-]{1,64}:"
    r"(?!\[redacted\])(?P<value>[^\s\"'$]{1,128})"
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` with everything that lets somebody in replaced by `MASK`.

    That is: API keys of known forms, whole or partly starred; private keys; what follows Bearer,
    and the values of Authorization, x-api-key and like headers; what stands under the name of a key
    or password in assignments, options, JSON (also within a text) and dumps; user info and query
    strings of URLs (but for the number of a `fwlink` into documentation); connection strings;
    registered values, also when escaped or encoded.

    Args:
        text: Any text.
        secrets: Values that must never appear; those under four characters are ignored.

    >>> from compass_agent.errors import redact
    >>> redact("curl -H 'Authorization: Bearer abc123456'")
    "curl -H 'Authorization: Bearer [redacted]'"
    """
    if secrets and (values := tuple(secrets)):
        text = without_registered(text, values)
    low = _lowered(text)
    if _may_name(low):
        before, text = text, _without_named(text, low)
        low = low if text is before else _lowered(text)
    if "bearer" in low or "basic" in low or "negotiate" in low:
        text = cut(text, [span for m in _SCHEME.finditer(low) if (span := _scheme(m, text))])
    if _may_be_prefixed(text):
        text = _PREFIXED.sub(_prefixed, text)
    if ".com/" in low or ".org/" in low:
        text = _without_hooks(text)
    if "curl" in low:
        text = cut(text, [match.span("value") for match in _CURL_LOGIN.finditer(text)])
    # Last: masking whole queries leaves nothing behind that the other rules would find.
    if "@" in text or "?" in text:
        from compass_agent.errors.urls import without_url_secrets  # noqa: PLC0415 - as for names

        text = without_url_secrets(text)
    return text


def _without_hooks(text: str) -> str:
    """Mask what lets anybody post in the addresses of chats."""
    if not any(host in text.lower() for host in _HOOK_HOSTS):
        return text
    return cut(text, [m.span("value") for m in _HOOK.finditer(text)])


def _without_named(text: str, low: str) -> str:
    """Mask what stands under the name of a secret, and private keys."""
    # Dear to import for its patterns, which most processes never need.
    from compass_agent.errors.named import named_spans  # noqa: PLC0415 - see above

    if "PRIVATE KEY" in text:
        from compass_agent.errors.pem import without_private_keys  # noqa: PLC0415 - likewise

        text = without_private_keys(text)
        low = _lowered(text)
    text = cut(text, named_spans(text, low))
    if "auth" in low and "(" in text:
        text = cut(text, [match.span("value") for match in _LOGIN_CALL.finditer(text)])
    return text


def _may_name(low: str) -> bool:
    """Tell whether a stem of a name is there; written out, for this runs on every text."""
    return (
        "key" in low
        or "token" in low
        or "pass" in low
        or "secret" in low
        or "auth" in low
        or "pwd" in low
        or "cookie" in low
        or "credential" in low
        or "sig" in low
        or "bearer" in low
        or "dsn" in low
        or "connection" in low
        or "jwt" in low
    )


def _may_be_prefixed(text: str) -> bool:
    """Tell whether a prefix of a key is there: looked for by what it has and words rarely have."""
    return any(
        sign in text and any(prefix in text for prefix in prefixes)
        for sign, prefixes in _PREFIXES_BY_SIGN
    )


def _lowered(text: str) -> str:
    """Return `text` in lower case, each character at its old place."""
    if text.isascii():
        return text.lower()
    # Of bytes none but the ASCII letters are lowered.
    return text.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")


def _scheme(match: _Match, text: str) -> tuple[int, int] | None:
    start, end = match.span("value")
    core = text[start:end].rstrip(".")
    # "Bearer authentication": a word, not a token.
    if not core or (_WORD.fullmatch(core) and not looks_secret(core)):
        return None
    return start, start + len(core)


def _prefixed(match: _Match) -> str:
    body = match["body"]
    echoed = _ECHO.search(body) is not None
    core = body.rstrip(".-") if not echoed or body[-2:-1] not in (".", "-") else body
    if echoed or match["sure"] is not None or _is_key(match["likely"], core):
        return MASK + body[len(core) :]
    return match[0]


def _is_key(prefix: str, core: str) -> bool:
    """Tell a key from a name that begins alike, such as a function or a package."""
    if prefix == "sk-" and "." in core and _RUN.search(core) is None:
        return False  # a name with a version: `sk-learn-1.4.2`
    shortest = _LIKELY_PREFIXES[prefix]
    return len(core) >= shortest and core.isalnum() if shortest else looks_secret(core)
