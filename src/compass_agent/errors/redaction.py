"""Masks secrets in texts for people: keys, tokens, passwords, parts of URLs, registered values.

Linear in the length of the text whatever it holds, and masking twice changes nothing more.
"""

from __future__ import annotations

__all__ = ("MASK", "redact")

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

_Match: TypeAlias = re.Match[str]

MASK = "[redacted]"

# Shorter values would be found inside ordinary words.
_SHORTEST_SECRET = 4
# From this length on a token without digits is no word any more.
_LONG_TOKEN = 24
_SHORT_TOKEN = 6

# A token, and its echo with stars, dots, an ellipsis or bullets for the hidden part.
_BODY = r"[A-Za-z0-9_*.…•-]"
_ECHO = re.compile(r"\*\*|\.\.\.|…|••")
_DIGIT = re.compile(r"[0-9]")

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
}
_PREFIXED = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?P<sure>{'|'.join(map(re.escape, _SURE_PREFIXES))})"
    rf"|(?P<likely>{'|'.join(map(re.escape, _LIKELY_PREFIXES))}))(?P<body>{_BODY}{{2,}})"
)

# The next three look at the text in lower case.
_SCHEME = re.compile(r"\b(?:bearer|basic)[ \t]+(?P<value>[a-z0-9._~+/=*…•-]{6,})")
_HEADERS = r"authorization|x-auth-token|x-access-token|x-api-key|x-goog-api-key"
_NAMES = (
    r"api[ _-]?keys?|password|passwd|pwd|passphrase|secret|(?<![a-z])token|"
    r"account_?key|access_?key|private_?key|shared_?access_?key|signature|(?<![a-z])sig"
)
_NAMED = re.compile(
    rf"(?:(?P<header>{_HEADERS})|{_NAMES})"
    r"(?:[\"')]|[ \t](?:provided|used|is))?[ \t]{0,8}(?P<sign>[:=])[ \t]{0,8}+[\"']?+"
    r"(?P<scheme>(?:bearer|basic|token|apikey|negotiate|digest)[ \t]{1,8})?"
    r"(?P<value>[^\s\"',;&\[<{($]+)"
)
_NAME_SIGNS = ("auth", "key", "passw", "pwd", "passph", "secret", "token", "sig")
_SCHEMES = frozenset({"bearer", "basic", "token", "apikey", "negotiate", "digest"})
_COOKIE = re.compile(
    r"\bcookie[\"']?[ \t]{0,8}:[ \t]{0,8}+[\"']?+(?P<value>[^\s\"'\[][^\r\n\"'\[]*)"
)

_URL = re.compile(r"://(?P<rest>[^\s\"'<>`\\:]*(?::(?!//)[^\s\"'<>`\\:]*)*)")
_DATABASES = frozenset(
    {
        "amqp",
        "amqps",
        "cassandra",
        "clickhouse",
        "kafka",
        "mariadb",
        "mongodb",
        "mssql",
        "mysql",
        "nats",
        "oracle",
        "postgres",
        "postgresql",
        "redis",
        "rediss",
        "sqlserver",
    }
)
_SCHEME_BACKWARDS = re.compile(r"[A-Za-z0-9+]*")
_LONGEST_SCHEME = 32
_PLAIN_NUMBERS = re.compile(r"[^=&]*+=[0-9]{1,12}(?:&[^=&]*+=[0-9]{1,12})*+")
# What a sentence puts behind a URL or a key.
_SENTENCE_END = ".,;:!?)"
_LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` with everything that lets somebody in replaced by `MASK`.

    That is: API keys of known forms, whole or partly starred; what follows Bearer, and the values
    of Authorization, x-api-key and like headers; passwords and keys in assignments; user info and
    query strings of URLs (a query of plain numbers stays); connection strings; registered values.

    Args:
        text: Any text.
        secrets: Values that must never appear; those under four characters are ignored.

    >>> from compass_agent.errors import redact
    >>> redact("curl -H 'Authorization: Bearer abc123456'")
    "curl -H 'Authorization: Bearer [redacted]'"
    """
    values = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
    for value in sorted(values, key=len, reverse=True):
        if value in text:
            # The mask itself stays whole, even when a secret is a part of it.
            text = MASK.join(part.replace(value, MASK) for part in text.split(MASK))
    text = _PREFIXED.sub(_prefixed, _without_named(text))
    # Last: masking whole queries leaves nothing behind that the other rules would find.
    if "://" in text and ("@" in text or "?" in text):
        text = _URL.sub(_url, text)
    return text


def _without_named(text: str) -> str:
    """Mask what a name in front of it calls a secret."""
    low = _lowered(text)
    if "cookie" in low:
        text = _cut(text, [match.span("value") for match in _COOKIE.finditer(low)])
        low = _lowered(text)
    if (":" in low or "=" in low) and any(sign in low for sign in _NAME_SIGNS):
        text = _cut(text, [span for m in _NAMED.finditer(low) if (span := _named(m, text))])
        low = _lowered(text)
    if "bearer" in low or "basic" in low:
        text = _cut(text, [span for m in _SCHEME.finditer(low) if (span := _scheme(m, text))])
    return text


def _lowered(text: str) -> str:
    """Return `text` in lower case, each character at its old place."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done:start], MASK)
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


def _looks_secret(value: str) -> bool:
    """Tell a token from a word: it is an echo, or long, or has digits."""
    if len(value) >= _LONG_TOKEN or _ECHO.search(value):
        return True
    return len(value) > _SHORT_TOKEN and _DIGIT.search(value) is not None


def _named(match: _Match, text: str) -> tuple[int, int] | None:
    start, end = match.span("value")
    core = text[start:end].rstrip(_SENTENCE_END)
    if not core or core.lower() in _SCHEMES:
        return None
    said = match["scheme"] or match["sign"] == "=" or match["header"] not in (None, "authorization")
    return (start, start + len(core)) if said or _looks_secret(core) else None


def _scheme(match: _Match, text: str) -> tuple[int, int] | None:
    start, end = match.span("value")
    core = text[start:end].rstrip(".")
    # "Bearer authentication": a word, not a token.
    if not core or (core.islower() and not _looks_secret(core)):
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
    shortest = _LIKELY_PREFIXES[prefix]
    return len(core) >= shortest and core.isalnum() if shortest else _looks_secret(core)


def _url(match: _Match) -> str:
    rest = match["rest"]
    if "@" not in rest and "?" not in rest:
        return match[0]
    core = rest.rstrip(_SENTENCE_END)
    end = rest[len(core) :]
    if "@" in core and _is_cut_password(core):
        core = f"user@{core.rpartition('@')[2]}"
    place, question, query = core.partition("?")
    authority, slash, path = place.partition("/")
    if "@" in core and "@" not in authority and _is_password(authority):
        # It has a slash or a question mark that should have been escaped.
        authority, slash, path, question, query = (
            f"{MASK}@{core.rpartition('@')[2]}",
            "",
            "",
            "",
            "",
        )
    user, at, host = authority.rpartition("@")
    if at and user != MASK:
        if _is_database(match):
            return f"://{MASK}{end}"
        authority = f"{MASK}@{host}"
    if question and not _is_harmless(query):
        query = MASK
    return f"://{authority}{slash}{path}{question}{query}{end}"


def _is_cut_password(core: str) -> bool:
    """Tell whether a password goes on behind a slash or question mark that nobody escaped.

    What stands where a port should is no number then, and the `@` comes later.
    """
    authority = core.partition("?")[0].partition("/")[0]
    _, colon, port = authority.rpartition(":")
    if not colon or not port or "@" in authority:
        return False
    return not port.isdigit() and "]" not in port


def _is_password(authority: str) -> bool:
    """Tell whether what stands where a port should is none."""
    _, colon, port = authority.rpartition(":")
    return colon == ":" and port != "" and not port.isdigit() and "]" not in port


def _is_database(match: _Match) -> bool:
    before = match.string[max(0, match.start() - _LONGEST_SCHEME) : match.start()]
    found = _SCHEME_BACKWARDS.match(before[::-1])
    scheme = found[0][::-1] if found else ""
    return scheme.partition("+")[0].lower() in _DATABASES


def _is_harmless(query: str) -> bool:
    """Tell whether every value is a plain number, as in links to documentation."""
    if query == MASK:
        return True
    return _PLAIN_NUMBERS.fullmatch(query.partition("#")[0]) is not None
