"""Finds where a value ends in a text, and tells values from words that stand in their place."""

from __future__ import annotations

__all__ = (
    "SENTENCE_END",
    "assigns_said",
    "bare_end",
    "is_placeholder",
    "is_said",
    "quoted_end",
    "rest_of_line",
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
# In any case, and as Unicode folds "s" and "k".
_SCHEMES_BEGIN = frozenset("abdhknostABDHKNOST\u017f\u212a")
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
# An assignment without quotes of one word that ends whatever follows; behind a blank the word may
# be a scheme. It is looked for first: then most of what is no secret costs little.
_WORD = re.compile(
    r"(?:\)|\]|[ \t](?:provided|used|is|was|value|header))?+[ \t]{0,8}"
    r"(?:=>|:=|={1,3}|:(?![:/=])|->)[ \t]{0,8}+([A-Za-z]{1,16}+)"
    r"(?:[.:!?]{1,4}+(?=[ \t])|[.:!?]{0,4}+(?=[\n\"`&;]|\)(?![\w!@#$%^*+~-])|\Z))"
)
_REST = re.compile(r"[^\r\n]*")
_LINE = re.compile(r"[^\r\n\"'`\[\\][^\r\n\"'`\[\\]*")
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
    search, at, stop = _QUOTE[opening[-1]].search, start, start + _LONGEST_VALUE
    while (found := search(text, at, stop)) is not None:
        begin, at = found.span()
        if text[begin] == "\n":
            return None
        # Deeper quotes have more backslashes, and a value may end in some of its own.
        if (at - begin - 1) % (2 * level + 2) == level:
            return at - level - 1
    return None


def bare_end(text: str, start: int, stop: int | None = None) -> int:
    """Return where a value without quotes ends, at `stop` at the latest."""
    match = _BARE.match(text, start, len(text) if stop is None else stop)
    return match.end() if match else start


def schemed_start(text: str, start: int, end: int) -> int | None:
    """Return where the credentials begin behind a scheme such as Bearer; None without one."""
    if text[start : start + 1] not in _SCHEMES_BEGIN:
        return None
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


def assigns_said(text: str, at: int) -> bool:
    """Tell whether such a word, and nothing else, is assigned to the name that ends there."""
    word = _WORD.match(text, at)
    return word is not None and is_said(word[1])


def rest_of_line(text: str, start: int, *, bare: bool = False) -> tuple[int, int] | None:
    """Return where what is left of a line is, unless it says something of a secret.

    Args:
        text: The text.
        start: Where it begins.
        bare: It ends at quotes, brackets and backslashes, too.
    """
    found = (_LINE if bare else _REST).match(text, start)
    value = found[0].rstrip() if found else ""
    return (start, start + len(value)) if value and not is_said(value) else None
