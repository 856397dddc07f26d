"""The one exception of this package."""

from __future__ import annotations


class Error(Exception):
    """What went wrong, and what to do about it.

    `code` is one of invalid_argument, not_found, already_exists, malformed, io, unsupported,
    not_built_in, engine, crashed, internal; `hint` may be "".
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message
