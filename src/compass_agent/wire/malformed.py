"""What a caller sent that cannot be read at all."""

from __future__ import annotations

__all__ = ("MalformedRequestError",)


class MalformedRequestError(ValueError):
    """The request cannot be read: a bad request, outside the nine codes of `OperationError`.

    Its text is ours, for whoever wrote the client. What services refuse before they call an
    operation is of this kind too.
    """
