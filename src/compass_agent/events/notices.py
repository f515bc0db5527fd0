"""Sentences for the agents' announcements that become notices."""

from __future__ import annotations

__all__ = ("NOTICES",)

from collections.abc import Callable, Mapping
from typing import TypeAlias

from compass_agent.errors.shapes import as_list, as_object
from compass_agent.events.readable import readable_text

_Json: TypeAlias = Mapping[str, object]


def _word(event: _Json, key: str, fallback: str = "") -> str:
    value = event.get(key)
    return value.strip() if isinstance(value, str) and value.strip() else fallback


def _compaction_started(event: _Json) -> str:
    reason = _word(event, "reason")
    return f"Compacting the context ({reason})" if reason else "Compacting the context"


def _compaction_ended(event: _Json) -> str:
    why = readable_text(event.get("errorMessage"))
    if event.get("aborted") is True:
        said = "Compacting the context was stopped"
    elif event.get("skipped") is True:
        said = "Compacting the context was skipped"
    elif why:
        said = "Compacting the context failed"
    else:
        said = "The context was compacted"
    if why:
        said += f": {why}"
    return said + ("; the work goes on" if event.get("willRetry") is True else "")


def _fallback_applied(event: _Json) -> str:
    old, new = _word(event, "from", "the model"), _word(event, "to", "another model")
    return f"Retrying with {new} instead of {old}"


def _fallback_succeeded(event: _Json) -> str:
    return f"{_word(event, 'model', 'The other model')} answered in place of the first model"


def _notice(event: _Json) -> str:
    text = readable_text(event.get("message"))
    level = _word(event, "level")
    return f"{level}: {text}" if level and level != "info" else text


def _model_changed(event: _Json) -> str:
    model = _word(event, "model") or _word(as_object(event.get("model")), "id")
    return f"The model was changed to {model}" if model else "The model was changed"


def _thinking_level_changed(event: _Json) -> str:
    level = _word(event, "level") or _word(event, "thinkingLevel")
    return f"The thinking level is now {level}" if level else "The thinking level was changed"


def _rule_triggered(event: _Json) -> str:
    rules = [as_object(rule) for rule in as_list(event.get("rules"))]
    names = [name for name in (_word(rule, "name") for rule in rules) if name]
    return "A stream rule was triggered" + (f": {', '.join(names)}" if names else "")


def _extension_error(event: _Json) -> str:
    text = readable_text(event.get("error")) or readable_text(event.get("message"))
    return f"An extension failed: {text}" if text else "An extension failed"


NOTICES: dict[str, Callable[[_Json], str]] = {
    "auto_compaction_end": _compaction_ended,
    "auto_compaction_start": _compaction_started,
    "compaction_end": _compaction_ended,
    "compaction_start": _compaction_started,
    "extension_error": _extension_error,
    "model_changed": _model_changed,
    "notice": _notice,
    "retry_fallback_applied": _fallback_applied,
    "retry_fallback_succeeded": _fallback_succeeded,
    "thinking_level_changed": _thinking_level_changed,
    "ttsr_triggered": _rule_triggered,
}
