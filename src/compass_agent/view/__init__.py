"""What people read: entries folded from frames, the text of `compass tail`, harmless text."""

from __future__ import annotations

__all__ = ("Entry", "Folder", "fold", "neutralise", "one_line")

from compass_agent.view.entries import Entry
from compass_agent.view.fold import Folder, fold
from compass_agent.view.neutralise import neutralise, one_line
