"""`python -m inferprobe worker`: the process in which a model of PyTorch runs.

Started by `inferprobe perf` and `inferprobe.run`, of no use on its own. What goes wrong here is
told to the parent as an error with words: also a torch that cannot be imported, and a model that
calls sys.exit.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

from inferprobe import _core
from inferprobe._error import Error

_PACKAGE = str(Path(__file__).resolve().parent)


def main() -> NoReturn:
    plugin: Any
    try:
        from inferprobe._torch_engine import TorchPlugin

        plugin = TorchPlugin()
    except (Exception, SystemExit) as error:
        plugin = _NoPlugin(error)
    sys.exit(_core.run_worker(plugin))


class _NoPlugin:
    """Stands in for an engine whose framework cannot be imported."""

    def __init__(self, why: BaseException) -> None:
        self._error = Error(
            "not_built_in",
            f"torch cannot be imported by {sys.executable}: {exception_text(why)}",
            "python -m pip install torch",
        )

    def describe(self) -> NoReturn:
        raise self._error

    def load(self, *_arguments: object) -> NoReturn:
        raise self._error


def error_parts(error: BaseException) -> tuple[str, str, str]:
    """Code, message and hint."""
    if isinstance(error, Error):
        return error.code, error.message, error.hint
    return "engine", exception_text(error), ""


def exception_text(error: BaseException) -> str:
    """Type, text, and the last line of the user's own code that it went through."""
    text = str(error)
    if isinstance(error, SystemExit):
        text = f"the code ends its process ({error.code})"
    said = type(error).__name__ + (f": {text}" if text else "")
    place = _place(error)
    return f"{said} ({place})" if place else said


def _place(error: BaseException) -> str:
    torch = sys.modules.get("torch")
    # Also of a torch that broke while it was imported.
    folders = [str(Path(f).resolve().parent) for f in [getattr(torch, "__file__", None)] if f]
    place = ""
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not name.startswith("<") and not name.startswith((_PACKAGE, *folders)):
            place = f"{Path(name).name}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return "" if "importlib" in place else place
