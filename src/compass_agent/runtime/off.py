"""Whether the user turned Compass off: then no setting of it may hinder anything."""

from __future__ import annotations

__all__ = ("is_off",)

import os

_YES = ("1", "true", "yes", "on")


def is_off() -> bool:
    """Tell whether `COMPASS_OFF` in the environment says that nothing is to be recorded."""
    return os.environ.get("COMPASS_OFF", "") in _YES
