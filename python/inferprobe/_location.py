"""Where the package keeps its native program."""

from __future__ import annotations

from pathlib import Path


def library_path(name: str) -> Path:
    """A shared library of the package."""
    return Path(__file__).resolve().parent / "lib" / f"lib{name}.so"


def command_path() -> Path:
    """The program that measures in processes of its own."""
    return Path(__file__).resolve().parent / "bin" / "inferprobe"
