"""Finds where a value ends in a text, and tells values from words that stand in their place."""

from __future__ import annotations

__all__ = (
    "SENTENCE_END",
    "bare_end",
    "is_placeholder",
    "is_said",
    "quoted_end",
    "schemed_start",
)

import re

SENTENCE_END = ".,;:!?)]}>"
"""What a sentence, or a dump of values, puts behind a value."""

_LONGEST_VALUE = 8192
_QUOTE = {quote: re.compile(rf"\\*{quote}|\n") for quote in "\"'`"}
# A comma ends a value when something like it follows; so does an escaped quote or line end.
_BARE = re.compile(
    r"(?:[^\s\"'`,;&\\)<]++|,(?!\s|[\w.-]{1,40}[=:]|\Z)|\\(?![\"'`nrt]|\Z)|\)(?=[\w!@#$%^*+~-])|<(?!/)|'(?=[A-Za-z0-9]))*+"
)
_PLACEHOLDER = re.compile(
    r"<[^<>\n]{0,80}>|\$\{|\$\(|\$[A-Z_][A-Z0-9_]*\b|\{|\(|%\(|%[sd]\b|(?:[A-Za-z_]+\.)+[A-Za-z_]+[\[(]|\.\.\.(?![A-Za-z0-9])"
)
_OPENERS = frozenset("<${(%.")
_SCHEME = re.compile(
    r"(?:bearer|basic|token|apikey|api-key|negotiate|digest|ntlm|hawk|oauth|signature|"
    r"aws4-hmac-sha256|sharedkey|key)[ \t]{1,8}(?=\S)",
    re.IGNORECASE,
)
_SCHEMES_TEXT = "apikey basic bearer digest negotiate ntlm oauth token"
_SCHEMES = frozenset(_SCHEMES_TEXT.split())
_SAID_TEXT = (
    "a absent accepted allowed an and any are as at auth authentication authorization bad be "
    "but by can cannot changed check configured could credential credentials default denied "
    "deprecated disabled does domain empty enabled ensure env environment error exceeded "
    "expected expired expires extra failed false field flag for forbidden format found from "
    "got has have header headers hidden if ignored in incorrect input instead invalid is key "
    "length limit limits loaded malformed masked may mismatch missing must n/a needed needs "
    "nil no none not not-set null of off ok on only option optional or parameter password "
    "please present provided redacted rejected removed required requires revoked same-origin "
    "secret see set should skipped stored str string that the this to too true type unable "
    "unauthorized undefined unexpected unknown unset unsupported updated use used using valid "
    "validation value was when which with wrong yes you your"
)
# What is said of a key in the place of one.
_SAID = _SCHEMES | frozenset(_SAID_TEXT.split())


def quoted_end(text: str, start: int, opening: str) -> int | None:
    """Return where the quote closes that `opening` began; None when it does not in its line.

    Args:
        text: The text.
        start: The place behind the opening quote.
        opening: The quote, with the backslashes of the text that holds it.
    """
    level = len(opening) - 1
    for found in _QUOTE[opening[-1]].finditer(text, start, start + _LONGEST_VALUE):
        if found[0] == "\n":
            return None
        # Deeper quotes have more backslashes, and a value may end in some of its own.
        if (len(found[0]) - 1) % (2 * level + 2) == level:
            return found.end() - len(opening)
    return None


def bare_end(text: str, start: int, stop: int | None = None) -> int:
    """Return where a value without quotes ends, at `stop` at the latest."""
    match = _BARE.match(text, start, len(text) if stop is None else stop)
    return match.end() if match else start


def schemed_start(text: str, start: int, end: int) -> int | None:
    """Return where the credentials begin behind a scheme such as Bearer; None without one."""
    match = _SCHEME.match(text, start, end)
    return match.end() if match else None


def is_placeholder(text: str, at: int) -> bool:
    """Tell whether a value that begins there is none: `$API_KEY`, `<your key>`, a call."""
    first = text[at : at + 1]
    if first == "[":
        return True
    return (first in _OPENERS or first.isalpha()) and _PLACEHOLDER.match(text, at) is not None


def is_said(value: str) -> bool:
    """Tell a word that says something of a secret, such as "missing", from one."""
    return value.strip().lower() in _SAID
