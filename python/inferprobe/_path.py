"""Names of files, as the native part takes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from inferprobe._error import Error


def optional_path_text(name: str, path: str | os.PathLike[str] | None) -> str:
    """As `path_text`; "" for None."""
    return "" if path is None else path_text(name, path)


def path_text(name: str, path: str | os.PathLike[str]) -> str:
    """`path` as UTF-8 text. `name` is that of the argument, for errors."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise Error("invalid_argument", f"{name} holds a null character: {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Error(
            "invalid_argument",
            f"{name} is not UTF-8: {text!r}",
            "the command inferprobe takes such names",
        ) from None
    return text


@contextmanager
def saving() -> Iterator[None]:
    """An error of writing, in the words of Python: what the command calls --force is an argument
    here."""
    try:
        yield
    except Error as error:
        if "--force" in error.hint:
            hint = error.hint.replace("--force", "force=True")
            raise Error(error.code, error.message, hint) from None
        raise
