"""The gate of the decision ledger: holds `DECISIONS.md` and its records to their rules.

    make ledger                 the changes since the last release
    make ledger BASE=main       the changes since another commit

`standing` holds the pages as they are, `rows` what became of each decision, `commits` each commit
and what is not committed yet; `kept` carries what stands along the history. They look at what
`ledger`, `records`, `markdown` and `history` read.
CONTRIBUTING.md says how to add a decision. Needs git and the standard library.
"""

from __future__ import annotations

__all__ = ()
