"""`load`: what the command `inferprobe show` opens, from Python."""

from __future__ import annotations

import os

from inferprobe import _core
from inferprobe._path import path_text
from inferprobe._regions import Regions
from inferprobe._result import Result


def load(path: str | os.PathLike[str]) -> Result:
    """Opens what was recorded, by inferprobe or another program: what `inferprobe show` opens.

    It is recognised by its content, not by its name. What a file does not hold is missing with its
    reason, as everywhere; `statistics` counts what was left out or repaired.

    Raises Error, which names the byte: not_found, io, malformed (damaged, or none of these
    formats), unsupported (written by a newer inferprobe).
    """
    text, tables = _core.load(path_text("path", path))
    return Result(text, tables)


def regions(path: str | os.PathLike[str]) -> Regions:
    """The parallel regions that a result, a trace or a recording holds: `load(path).regions`.

    Where it holds none they are false, with `why` and `hint`. Raises Error as `load` does.
    """
    return load(path).regions
