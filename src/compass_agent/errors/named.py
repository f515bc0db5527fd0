"""Finds the values that the name in front of them calls secret, in texts of any kind.

Assignments, headers, JSON and its escaped forms, dumps of Python and other languages, elements of
XML, options of commands, and sentences that tell a key.
"""

from __future__ import annotations

__all__ = ("named_spans",)

import re
from functools import lru_cache
from typing import NamedTuple

from compass_agent.errors.marks import MASK
from compass_agent.errors.secret_names import Secrecy, looks_secret, secrecy
from compass_agent.errors.secret_values import (
    SENTENCE_END,
    assigns_said,
    bare_end,
    is_placeholder,
    is_said,
    quoted_end,
    rest_of_line,
    schemed_start,
)

_STEM = re.compile(
    r"(?:key|token|secret|pass(?:word|wd|phrase|code)?|pwd|auth(?:orization)?|cookie|credential|"
    r"sig(?:nature)?|bearer|dsn|connection[_ -]?str|jwt)[a-z0-9_-]{0,48}"
)
_LONGEST_NAME = 48
_LEFT = re.compile(r"[A-Za-z0-9_.-]*")
_IN_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")
_MAY_LEAD = _IN_NAME | {" "}
# Nothing else stands behind a name that has a value.
_BEHIND_NAME = frozenset(" \t\"'`\\:=,)]>-")
_WORD_BEFORE = re.compile(r"[ _-]([A-Za-z]{2,16})(?![A-Za-z])")
_APART_TEXT = (
    "access account api auth authorization bearer client connection encryption master private "
    "refresh secret security session shared signing subscription"
)
# "API key", "Secret Access Key": words of a name may stand apart.
_APART = frozenset(_APART_TEXT.split())
_AFTER = re.compile(
    r"(?P<close>\\{0,15}[\"'`])?(?:\)|\]|[ \t](?:provided|used|is|was|value|header))?+[ \t]{0,8}"
    r"(?P<sign>=>|:=|={1,3}|:(?![:/])(?!=)|,|->)(?(close)\s{0,32}+|[ \t]{0,8}+)"
    r"(?:(?:(?:Some|Just|Ok|Secret(?:Str|Bytes)?|String|str|bytes)\()?[bBuUrR]{0,2}(?P<open>\\{0,15}[\"'`]))?"
)
# Behind a name that promises little: a value that is long enough to be one, with digits or stars.
_WORTH = re.compile(
    r"[\\\"'`)\]]{0,16}[ \t]{0,8}[:=,>-]{1,3}[ \t]{0,8}[bBuUrR]{0,2}\\{0,15}[\"'`]?"
    r"(?=[^\s\"'`]{7})[^\s\"'`0-9*]{0,48}+[0-9*]"
)
# Behind a name in a sentence: a word in quotes, with digits or stars, or a long one.
_TELLS = re.compile(
    r"[ \t]{1,4}(?:(?:provided|used|is|was|value|header)[ \t]{0,8}[:=]|(?:[a-z]{2,8}[ \t]{1,4})?"
    r"(?:\\{0,3}[\"'`]|[^\s\"'`0-9*…•]{0,96}+[0-9*…•]|[^\s\"'`]{24}))"
)
_SIGNS = frozenset(" \t:=,-)[]")
# What most assignments are, found at one go.
_PLAIN = re.compile(
    r"=[ ]?([A-Za-z0-9_+/~-](?:[A-Za-z0-9_.+/=~-]*[A-Za-z0-9_+/=~-])?)(?=[\s;&]|\Z)"
)
_ELEMENT_BEFORE = re.compile(r"(?::\w{1,20})?<")
_ELEMENT = re.compile(r"(?:[ ][^<>]{0,200})?>(?=[^<\s])")
_FLAGGED = re.compile(r"[ \t]{1,4}(?P<open>[\"'`])?(?=[^\s-])")
_TOLD = re.compile(
    r"[ \t]{1,4}(?:(?:provided|used|value|supplied|given|of|was|is)[ \t]{1,4})?"
    r"\(?(?P<open>\\{0,3}[\"'`])?(?P<value>[A-Za-z0-9_.*…•+/=~-]{4,})"
)
_REFUSED = re.compile(r"[ \t]{1,4}(?:is|was|has|does|did|not|cannot|expired|invalid|in|of)\b")
_NOT_VALID = re.compile(r"\s*dilav(?:ni)?[ ](?:n?a[ ])?(?:ton[ ])?si[ ]([\"'`])?")
_LONGEST_TOLD = 200
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_LIKELY, _SURE = Secrecy.LIKELY, Secrecy.SURE
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"[0-9]")
_STRONG = 16
_ENOUGH = 96
_SHORTEST_TOLD = 6
_LISTED = re.compile(r"\[(?:[^\[\]]|\[redacted\]){1,2000}\]")
_TUPLE = re.compile(r"\((?:[^()\[\]]|\[redacted\]){1,2000}\)")
_MEMBERS = re.compile(r"\{(?:[^{}\[\]]|\[redacted\]){1,2000}\}")
_BRACKETS = {"[": _LISTED, "(": _TUPLE, "{": _MEMBERS}
# A name that begins a line, as in YAML, and a value that ends it.
_LINE_START = re.compile(r"[ \t-]*(?:\n|\Z)")
_LINE_END = re.compile(r"[ \t\r]*(?:\n|\Z)")
_ODBC = re.compile(r"\{(?:[^{}\r\n]|\}\}){1,500}\}")


class _Name(NamedTuple):
    """A name in a text: where it is, and what it says."""

    start: int
    end: int
    text: str
    level: Secrecy


class _Place(NamedTuple):
    """Where a value begins, and what stands around it."""

    start: int
    sign: str
    close: str
    open: str


def named_spans(text: str, low: str) -> list[tuple[int, int]]:
    """Return where the values are that their names call secret, in order.

    Args:
        text: Any text.
        low: The same in lower case, each character at its place.
    """
    spans: list[tuple[int, int]] = []
    refuses = "valid" in low
    done = last = 0
    while (stem := _STEM.search(low, done)) is not None:
        start, done = stem.span()
        if not refuses and (
            (behind := low[done : done + 1]) not in _BEHIND_NAME
            or (behind == " " and _tells_nothing(low, start, done))
        ):
            continue
        if start > last and low[start - 1] in _MAY_LEAD:
            start = _name_start(text, low, start, last)
        kind = text[start:done]
        level = secrecy(kind)
        if not level or (level is _LIKELY and _WORTH.match(text, done) is None):
            continue
        if refuses and level is _SURE:
            refused = _refused_before(text, start)
            if refused is not None and refused[0] >= last:
                spans.append(refused)
                last = refused[1]
        span = _value_behind(text, _Name(start, done, kind, level))
        if span is not None:
            spans.append(span)
            done = last = span[1]
    return spans


def _value_behind(text: str, name: _Name) -> tuple[int, int] | None:
    """Return where its value is, when it is a secret; what most are, and are not, is seen first."""
    if name.level is not _SURE and assigns_said(text, name.end):
        return None
    if name.level is not _LIKELY and text[name.end : name.end + 1] == "=":
        plain = _PLAIN.match(text, name.end)
        if plain is not None and not (is_said(plain[1]) or _is_count(name.text, plain[1])):
            return plain.span(1)
    return _value_of(text, name)


def _is_count(name: str, value: str) -> bool:
    """Tell how many there are from what they are: `secrets=5`."""
    return value.isdigit() and name[-1] in "sS"


def _tells_nothing(low: str, start: int, end: int) -> bool:
    """Tell a word in a sentence by what stands around it, before more is asked: "the key is"."""
    before = low[start - 1 : start]
    if before in _IN_NAME or before == "<" or low[end + 1 : end + 2] in _SIGNS:
        return False
    return _TELLS.match(low, end) is None


def _name_start(text: str, low: str, start: int, after: int) -> int:
    """Return where the name begins that has a stem at `start`, but not before `after`."""
    before = low[start - 1]
    if before in _IN_NAME:
        left = _LEFT.match(text[max(after, start - _LONGEST_NAME) : start][::-1])
        return start - (left.end() if left else 0)
    if before == " " and low[start - 2 : start - 1].isalpha():
        word = _WORD_BEFORE.match(text[max(after, start - _LONGEST_NAME) : start][::-1])
        if word is not None and word[1][::-1].lower() in _APART:
            return start - word.end()
    return start


@lru_cache(maxsize=2048)
def _is_compound(name: str) -> bool:
    """Tell an identifier, or the name of a header, from a word: it has a joint."""
    own = name.lstrip("-.")
    return "_" in own or "-" in own or _HUMP.search(own) is not None


def _value_of(text: str, name: _Name) -> tuple[int, int] | None:
    after = _AFTER.match(text, name.end)
    if after is not None:
        close, sign, opening = after.groups("")
        place = _Place(after.end(), sign, close, opening)
        if sign != "," or _is_pair(text, name, place):
            return _assigned(text, name, place)
        return None
    if _opens_element(text, name.start):
        element = _ELEMENT.match(text, name.end)
        return _assigned(text, name, _Place(element.end(), "=", "", "")) if element else None
    if _is_option(name):
        flagged = _FLAGGED.match(text, name.end)
        if flagged is None:
            return None
        return _assigned(text, name, _Place(flagged.end(), " ", "", flagged["open"] or ""))
    return _told(text, name)


def _opens_element(text: str, start: int) -> bool:
    """Tell whether a name that begins there is that of an element, with a prefix or without."""
    before = text[start - 1] if start else ""
    if before != ":":
        return before == "<"
    return _ELEMENT_BEFORE.match(text[max(0, start - 24) : start][::-1]) is not None


def _is_option(name: _Name) -> bool:
    return name.text.startswith("-") and name.level >= Secrecy.TOKEN


def _is_pair(text: str, name: _Name, place: _Place) -> bool:
    """Tell a pair of name and value, or an option and its value in a list, from a list of names."""
    if not place.close or not place.open or name.start < 1:
        return False
    if _is_option(name):
        return True
    before = text[max(0, name.start - 20) : name.start].rstrip("\"'`\\").rstrip("bBuU \t")
    end = quoted_end(text, place.start, place.open)
    behind = text[end + len(place.open) :][:8].lstrip()[:1] if end is not None else ""
    if before.endswith("(") and behind == ")":
        return True
    value = text[place.start : end]
    return before.endswith("[") and behind == "]" and (_is_header(name) or looks_secret(value))


def _is_header(name: _Name) -> bool:
    return "-" in name.text or name.text.lower() in ("authorization", "cookie")


def _assigned(text: str, name: _Name, place: _Place) -> tuple[int, int] | None:
    """Return where the value is that begins at `place`, when it is one to mask."""
    start = place.start
    first = text[start : start + 1]
    if first == "[" and text.startswith(MASK, start):
        return None
    if place.open:
        end = quoted_end(text, start, place.open)
        if end is None and place.close:
            # The text was cut within the value.
            line = text.find("\n", start)
            end = len(text) if line < 0 else line
        if end is not None:
            start = schemed_start(text, start, end) or start
            value = text[start:end]
            return (start, end) if _hides(name, place, value) else None
    if name.level is _SURE and first in _BRACKETS and (first != "(" or place.close):
        return _bracketed(text, name, start, closed=bool(place.close))
    return _bare(text, name, place)


def _bracketed(text: str, name: _Name, start: int, *, closed: bool) -> tuple[int, int] | None:
    """Return a list or mapping of values, or one value that ODBC puts in braces."""
    if text[start] == "[" or closed:
        listed = _BRACKETS[text[start]].match(text, start)
        if listed is None or not any(quote in listed[0] for quote in "\"'"):
            return None
        return start, listed.end()
    braced = _ODBC.match(text, start)
    if braced is None or name.text.lower() not in ("pwd", "password") or MASK in braced[0]:
        return None
    return start + 1, braced.end() - 1


def _bare(text: str, name: _Name, place: _Place) -> tuple[int, int] | None:
    start = place.start
    if is_placeholder(text, start):
        return None
    if name.level is _LIKELY:
        # It may be looked at again for the next name: so only at so much of it.
        end = bare_end(text, start, start + _ENOUGH)
        if not _hides(name, place, text[start:end].rstrip(SENTENCE_END)):
            return None
    if place.sign == ":" and name.text[-6:].lower() == "cookie":
        return rest_of_line(text, start, bare=True)
    schemed = schemed_start(text, start, min(len(text), start + 64))
    if schemed is not None:
        start = schemed
        if text.startswith(MASK, start):
            return None
        if (
            name.text.lower().endswith("authorization")
            and "=" in text[start : bare_end(text, start)]
        ):
            # Digest, AWS and OAuth: a list of parameters.
            return rest_of_line(text, start)
    end = start + len(text[start : bare_end(text, start)].rstrip(SENTENCE_END))
    value = text[start:end]
    if not value or (schemed is not None and is_placeholder(text, start)):
        return None
    if schemed is not None:
        return start, end
    return (start, end) if _hides(name, place, value) or _is_line(text, name, end) else None


def _is_line(text: str, name: _Name, end: int) -> bool:
    """Tell whether name and value are a line of their own, as in YAML: `password: hunter`."""
    if name.level is not Secrecy.SURE or not name.start or is_said(text[name.end + 1 : end]):
        return False
    before = text[max(0, name.start - _LONGEST_NAME) : name.start][::-1]
    return _LINE_START.match(before) is not None and _LINE_END.match(text, end) is not None


def _hides(name: _Name, place: _Place, value: str) -> bool:
    """Tell whether `value` is a secret, by what the name says and how it is put."""
    if not value or value.startswith(MASK) or is_said(value):
        return False
    level = name.level
    quoted = bool(place.open)
    if _is_count(name.text, value) and not quoted:
        return False
    if level is Secrecy.LIKELY:
        return _looks_strong(name, place, value)
    if place.sign.endswith("=") or place.sign == "=>":
        return level is Secrecy.SURE or not quoted or looks_secret(value)
    if place.sign == " ":
        return not value.startswith("-")
    if place.sign == "," and _is_option(name):
        return True
    if level is Secrecy.SURE and (quoted or place.close or _is_compound(name.text)):
        return True
    if name.text.lower() == "bearer" and not value.islower():
        return True
    return " " not in value and looks_secret(value)


def _looks_strong(name: _Name, place: _Place, value: str) -> bool:
    """Tell a key from a word or a number under a name that promises little."""
    if " " in value or not _LETTER.search(value) or not looks_secret(value):
        return False
    kind = name.text.lower().lstrip("-.")
    if kind in ("key", "keys"):
        return len(value) >= _STRONG and _DIGIT.search(value) is not None and value.isalnum()
    if kind in ("pass", "auth") and place.sign == ":" and not place.close:
        return False
    return _DIGIT.search(value) is not None or "*" in value


def _told(text: str, name: _Name) -> tuple[int, int] | None:
    """Return the key that a sentence tells: "API key abc123 is invalid", "x is not an API key"."""
    kind = name.text.lower()
    if name.level < Secrecy.TOKEN or "secret" in kind.split()[-1:]:
        return None
    sure = name.level is Secrecy.SURE
    told = _TOLD.match(text, name.end)
    if told is not None:
        start, end = told.span("value")
        value = text[start:end].rstrip(".")
        if "/" in value and "." in text[start:end]:
            return None
        end = start + len(value)
        quoted = bool(told["open"]) and text.startswith(told["open"], end)
        if _is_told_secret(
            value,
            sure=sure,
            quoted=quoted and _REFUSED.match(text, end + len(told["open"] or "")) is not None,
        ):
            return start, end
    return None


def _is_told_secret(value: str, *, sure: bool, quoted: bool) -> bool:
    if _VARIABLE.fullmatch(value) or is_said(value):
        return False
    if quoted and sure:
        return True
    if quoted and len(value) > _SHORTEST_TOLD and _mixed(value):
        return True
    if not sure or len(value) < _SHORTEST_TOLD:
        return len(value) >= _STRONG and _mixed(value)
    return _mixed(value) or looks_secret(value)


def _mixed(value: str) -> bool:
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def _refused_before(text: str, start: int) -> tuple[int, int] | None:
    head = text[max(0, start - _LONGEST_TOLD) : start][::-1]
    match = _NOT_VALID.match(head)
    if match is None:
        return None
    rest = head[match.end() :]
    closing = match[1] or ""
    end = start - match.end()
    length = rest.find(closing) if closing else len(rest.split(None, 1)[0]) if rest.strip() else 0
    value = text[end - length : end] if length > 0 else ""
    if not value or MASK in value or not _is_told_secret(value, sure=True, quoted=bool(closing)):
        return None
    return end - length, end
