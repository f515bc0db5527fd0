"""What the tools give, as JSON Schema: the objects of `as_json`, as they go over HTTP too."""

from __future__ import annotations

__all__ = ("EXPLAINED", "READ", "SESSION", "SESSIONS", "WAITED")

from typing import Any

_Schema = dict[str, Any]

_TEXT: _Schema = {"type": "string"}
_WHOLE: _Schema = {"type": "integer"}
_FLAG: _Schema = {"type": "boolean"}
_PLACE: _Schema = {"type": ["string", "null"]}
_STATE: _Schema = {"type": ["string", "integer"]}


def _object(needed: _Schema, **others: _Schema) -> _Schema:
    """Return the schema of an object that has all of `needed` and may have `others`."""
    return {"type": "object", "properties": needed | others, "required": list(needed)}


def _list(of: _Schema) -> _Schema:
    return {"type": "array", "items": of}


def _or_null(schema: _Schema) -> _Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_CAUSE = _object(
    {
        "kind": _TEXT,
        "message": _TEXT,
        "title": _TEXT,
        "retryable": {"type": ["boolean", "null"]},
        "guidance": _TEXT,
    },
    status=_WHOLE,
    retryAfterMs=_TEXT,
    code=_TEXT,
    requestId=_TEXT,
    stoppedBy=_TEXT,
)
_ENTRY = _object({"kind": _TEXT, "epoch": _TEXT, "seq": _TEXT, "lastSeq": _TEXT}, atUnixMs=_TEXT)
_GAP = _object(
    {"epoch": _TEXT, "firstSeq": _TEXT, "lastSeq": _TEXT, "count": _TEXT, "reason": _TEXT}
)
_ROW: _Schema = {
    "sessionId": _TEXT,
    "state": _STATE,
    "epoch": _TEXT,
    "cursor": _TEXT,
    "title": _TEXT,
    "agent": _TEXT,
    "version": _TEXT,
    "openedMs": _WHOLE,
    "updatedMs": _WHOLE,
    "frames": _WHOLE,
    "ended": _FLAG,
    "lastError": _or_null(_CAUSE),
}
_PAGE: _Schema = {
    "sessionId": _TEXT,
    "items": _list(_ENTRY),
    "prev": _PLACE,
    "next": _PLACE,
    "more": _FLAG,
    "missing": _WHOLE,
    "truncated": _FLAG,
}

SESSIONS = _object(
    {"sessions": _list(_object(_ROW)), "total": _WHOLE, "truncated": _FLAG}, nextPage=_TEXT
)
SESSION = _object(
    _ROW
    | {
        "kinds": {"type": "object", "additionalProperties": _WHOLE},
        "first": _PLACE,
        "last": _TEXT,
        "missing": _WHOLE,
        "gaps": _list(_GAP),
        "plan": _or_null(_ENTRY),
        "runningTool": _or_null(_ENTRY),
    }
)
READ = _object(_PAGE)
WAITED = _object(
    {
        "reason": {"enum": ["changed", "turn_end", "error", "ended", "timeout"]},
        "state": _STATE,
        "lastError": _or_null(_CAUSE),
    }
    | _PAGE
)
EXPLAINED = _object(
    {
        "sessionId": _TEXT,
        "error": _or_null(_CAUSE),
        "place": _PLACE,
        "atUnixMs": _PLACE,
        "before": _list(_ENTRY),
    }
)
