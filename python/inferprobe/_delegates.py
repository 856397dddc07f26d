"""Delegates in this process: the process-wide switch, and our OpenVINO delegate for ExecuTorch."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import NamedTuple

from inferprobe import _core
from inferprobe._error import Error
from inferprobe._location import library_path
from inferprobe._path import optional_path_text


class ProfileReach(NamedTuple):
    """Which engines of this process a setting reaches now: false if it reaches none.

    Engines that are loaded later take it up, too. An engine that is not on inferprobe's kit cannot
    be seen from here, and is in neither list.
    """

    engines: tuple[str, ...]  # take it up at their next call
    others: tuple[str, ...]  # have a level of their own, or nothing can be attached to them

    def __bool__(self) -> bool:
        return bool(self.engines)

    def __str__(self) -> str:
        if not self.engines and not self.others:
            return "no engine in this process follows the setting; one that is loaded later may"
        taken = ", ".join(self.engines) or "no engine in this process"
        left = f"; not {', '.join(self.others)}" if self.others else ""
        return f"{taken} follows the setting{left}"


def get_profile_reach() -> ProfileReach:
    """Which engines of this process the settings below reach now."""
    names: tuple[list[str], list[str]] = ([], [])
    for engine, version, method, reached in _core.get_profile_engines():
        named = f"{engine} {version}".rstrip()
        names[0 if reached else 1].append(f"{named} ({method})" if method else named)
    return ProfileReach(tuple(names[0]), tuple(names[1]))


def set_profile_execution(enabled: bool, *, override_methods: bool = False) -> ProfileReach:
    """Level `layers` for every engine of this process that follows the switch, or back.

    Engines take it up at their next call, those that are loaded later too. A method that was given
    a level of its own keeps it, unless `override_methods`. Returns which engines it reaches now.
    """
    if not isinstance(enabled, bool):
        raise Error("invalid_argument", f"enabled is {enabled!r}", "give True or False")
    _core.set_profile_execution(enabled, override_methods)
    return get_profile_reach()


def set_profile_format(name: str) -> ProfileReach:
    """Where layers go: "etdump", "perfetto" or "trex"."""
    if not isinstance(name, str):
        raise Error("invalid_argument", f"format is {name!r}", "give a name")
    _core.set_profile_format(name)
    return get_profile_reach()


def set_profile_path_prefix(folder: str | os.PathLike[str]) -> ProfileReach:
    """The folder, which exists, of the files of "perfetto" and "trex"."""
    _core.set_profile_path_prefix(optional_path_text("folder", folder))
    return get_profile_reach()


def get_profile_execution() -> bool:
    return _core.get_profile_config()[0]


def get_profile_format() -> str:
    return _core.get_profile_config()[1]


def get_profile_path_prefix() -> str:
    return _core.get_profile_config()[2]


def last_delegate_error() -> str:
    """What one of our delegates found wrong last on this thread; "" if nothing was.

    ExecuTorch passes on a code alone when a program cannot be loaded, and cuts its log's lines.
    """
    return _core.last_delegate_error()


def register_openvino_delegate() -> None:
    """Our OpenVINO delegate, for ExecuTorch's Python runtime in this process.

    To be called before `executorch.runtime` is imported: ExecuTorch keeps the first delegate of a
    name. There are no load-time options in Python: the level comes from the program's compile spec
    `openvino_profile_level`, or from `set_profile_execution`.
    """
    library = library_path("inferprobe_delegate_openvino")
    if not library.exists():
        raise Error(
            "not_built_in",
            "this package was built without ExecuTorch, so without its delegates",
            "pip install executorch==1.5.1, then build inferprobe again",
        )
    if "executorch.extension.pybindings._C" in sys.modules:
        raise Error(
            "invalid_argument",
            "executorch's runtime is imported already, and with it its own OpenVINO delegate",
            "call register_openvino_delegate() before executorch.runtime is imported",
        )
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError as error:
        raise Error(
            "not_found", f"the delegate cannot be loaded: {error}", "pip install executorch==1.5.1"
        ) from None
    code = loaded.inferprobe_register_openvino_delegate()
    if code != 0:
        raise Error(
            "already_exists",
            f"ExecuTorch refused the delegate (0x{code:x}): another one is registered already",
            "call register_openvino_delegate() once, before executorch.runtime is imported",
        )
