"""Why frames are missing is said in the same words by the terminal, the export and the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import compass_agent.pane
from compass_agent.view.cards import GAP_TEXTS
from compass_agent.wire import GapReason

_WORDS = Path(compass_agent.pane.__file__).parent / "static" / "words.js"


def _words_of_the_page() -> dict[str, str]:
    table = re.search(r"export const GAPS = \{(.*?)\};", _WORDS.read_text("utf-8"), re.DOTALL)
    assert table is not None
    return dict(re.findall(r'(\w+): "([^"]+)"', table.group(1)))


def test_the_page_and_the_terminal_give_a_gap_the_same_reason() -> None:
    said = {reason.name: text for reason, text in GAP_TEXTS.items() if reason}

    assert _words_of_the_page() == {
        name: f"{text[0].upper()}{text[1:]}." for name, text in said.items()
    }


@pytest.mark.parametrize("cause", ["faster than its buffer", "log was away", "refused"])
def test_each_way_in_which_trace_is_dropped_is_named_as_a_cause(cause: str) -> None:
    assert cause in GAP_TEXTS[GapReason.DROPPED]
