"""Takes what lets somebody in out of URLs: user info, query strings, places of databases."""

from __future__ import annotations

__all__ = ("without_url_secrets", "without_user_info")

import re
from typing import TypeAlias

from compass_agent.errors.marks import MASK
from compass_agent.errors.secret_names import looks_secret

_Match: TypeAlias = re.Match[str]

# With a scheme or without, also inside JSON that escapes slashes, "&" and "=".
_URL = re.compile(
    r"(?P<lead>:\\{0,8}/\\{0,8}/|(?<![\w:/.\\])//)"
    r"(?P<rest>(?:[^\s\"'<>`\\:]++|:(?!\\{0,8}/\\{0,8}/)|\\{1,8}+(?:/|u[0-9a-fA-F]{4}))*+)"
)
_ESCAPED_SLASH = re.compile(r"\\+/")
_DELIMITER = re.compile(r"[/\\?#]|\Z")
# `bob:hunter2@db.example:5432`: a port, a path or the `tcp(` of Go tells it from a label,
# else only what looks like a secret is one.
_LOGIN = re.compile(
    r"(?<![\w@:/.\]-])(?P<user>[\w.+-]{1,64}):(?P<password>[^\s@/:\"'<>\[\]]{1,128})@"
    r"(?:(?P<sure>(?=[A-Za-z0-9_.-]{1,253}:[0-9]{2,5}(?![0-9])|(?:tcp|unix)\())"
    r"|(?=(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,63}(?P<path>/)?))"
)
_ADDRESSED_TEXT = "mailto email mail e-mail from to cc bcc by author contact acct sip sips xmpp"
_ADDRESSED = frozenset(_ADDRESSED_TEXT.split())
# The query of a URL without a scheme: behind a path, a host, or nothing at all.
_QUERY = re.compile(r"\?(?P<query>(?:[^\s\"'<>`\\?]++|\\{1,8}+(?:/|u[0-9a-fA-F]{4})|\?(?!\s))++)")
_PARAMETER = re.compile(r"[\w.%\[\]$~-]{1,100}(?:=(?!=)|\\+u003[dD])")
_PATH_BACKWARDS = re.compile(r"[^\s\"'<>`?=]{1,512}")
_HOST = re.compile(r"(?:.*[^\w.-])?(?:[\w-]+\.)+[A-Za-z]{2,63}(?::[0-9]{1,5})?", re.DOTALL)
_PORT = re.compile(r"(?:.*[^\w-])?localhost(?::[0-9]{1,5})?", re.DOTALL | re.IGNORECASE)
_DATABASES_TEXT = (
    "amqp amqps cassandra clickhouse couchbase couchdb db2 firebird kafka ldap ldaps mariadb "
    "mongodb mssql mysql nats neo4j oracle postgres postgresql redis rediss sqlserver"
)
_DATABASES = frozenset(_DATABASES_TEXT.split())
_SCHEME_BACKWARDS = re.compile(r"[A-Za-z0-9+]*")
_LONGEST_SCHEME = 32
# A link into documentation holds no more than a number of its own.
_LINK = re.compile(r"linkid=[0-9]{1,12}", re.IGNORECASE)
_LINK_PATH = re.compile(
    r".*/fwlink/?|(?:https?://)?aka\.ms/[\w/-]{0,80}", re.IGNORECASE | re.DOTALL
)
_LONGEST_PATH = 512
_OPENS_QUERY = " \t\n\"'`="
# What a sentence puts behind a URL.
_SENTENCE_END = ".,;:!?)"


def without_url_secrets(text: str) -> str:
    """Return `text` with user info and queries of its URLs masked, and whole connection strings."""
    if "@" not in text and "?" not in text:
        return text
    if "//" in text or "\\/" in text:
        text = _URL.sub(_url, text)
    if "?" in text:
        text = _QUERY.sub(_query, text)
    if "@" in text:
        text = _LOGIN.sub(_login, text)
    return text


def without_user_info(rest: str) -> tuple[str, bool]:
    """Return what stands behind `//` in a URL without its user info, and whether there was any.

    A password may hold a slash, a question mark or a hash sign that should have been escaped.
    """
    end = _end_of_authority(rest)
    authority = rest[:end]
    if "@" in authority:
        return authority.rpartition("@")[2] + rest[end:], True
    if "@" in rest and _is_cut_password(rest, end):
        return rest.rpartition("@")[2], True
    return rest, False


def _end_of_authority(rest: str) -> int:
    found = _DELIMITER.search(rest)
    return found.start() if found else len(rest)


def _is_cut_password(rest: str, end: int) -> bool:
    """Tell whether what looks like a port is the beginning of a password."""
    name, colon, port = rest[:end].rpartition(":")
    if not colon or "]" in port:
        return False
    if not port.isdigit():
        return True
    before, _, behind = rest[end + 1 :].partition("@")
    is_host = "." in name or name.lower() == "localhost"
    if rest[end] != "/":
        return not (is_host and "=" in before)
    host = behind[: _end_of_authority(behind)]
    return not is_host and "/" not in before and ("." in host or ":" in host)


def _url(match: _Match) -> str:
    rest = match["rest"]
    if "@" not in rest and "?" not in rest:
        return match[0]
    core = rest.rstrip(_SENTENCE_END)
    end = rest[len(core) :]
    if "\\" in core:
        core = _ESCAPED_SLASH.sub("/", core)
    place, had_user = without_user_info(core)
    user = core[: len(core) - len(place) - 1]
    # Two slashes alone also begin a comment.
    if user in ("", MASK) or (match["lead"][0] != ":" and ":" not in user):
        place, had_user = core, False
    if had_user and _is_database(match):
        return f"{match['lead']}{MASK}{end}"
    path, question, query = place.partition("?")
    if question and query != MASK and not (_LINK.fullmatch(query) and _LINK_PATH.fullmatch(path)):
        query = MASK
    masked_user = f"{MASK}@" if had_user else ""
    return f"{match['lead']}{masked_user}{path}{question}{query}{end}"


def _query(match: _Match) -> str:
    """Mask the query of a URL without a scheme; a question in a sentence stays."""
    core = match["query"].rstrip(_SENTENCE_END)
    end = match["query"][len(core) :]
    if not core or core == MASK:
        return match[0]
    start = match.start()
    before = _PATH_BACKWARDS.match(match.string[max(0, start - _LONGEST_PATH) : start][::-1])
    path = before[0][::-1] if before else ""
    if _LINK.fullmatch(core) and _LINK_PATH.fullmatch(path):
        return match[0]
    named = _PARAMETER.match(core) is not None
    if "/" in path:
        masked = named or (path.startswith("/") and _is_token(core))
    elif path:
        masked = named and (_HOST.fullmatch(path) or _PORT.fullmatch(path)) is not None
    else:
        masked = named and (start == 0 or match.string[start - 1] in _OPENS_QUERY)
    return f"?{MASK}{end}" if masked else match[0]


def _is_token(text: str) -> bool:
    return text.isalnum() and looks_secret(text)


def _login(match: _Match) -> str:
    if match["sure"] is None and (
        match["user"].lower() in _ADDRESSED
        or not (match["path"] or looks_secret(match["password"]))
    ):
        return match[0]
    return f"{MASK}@"


def _is_database(match: _Match) -> bool:
    before = match.string[max(0, match.start() - _LONGEST_SCHEME) : match.start()]
    found = _SCHEME_BACKWARDS.match(before[::-1])
    scheme = found[0][::-1] if found else ""
    return scheme.partition("+")[0].lower() in _DATABASES
