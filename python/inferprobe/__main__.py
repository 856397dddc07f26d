"""The command `inferprobe` and `python -m inferprobe`: becomes the native program."""

from __future__ import annotations

import os
import sys

from inferprobe._location import command_path


def main() -> None:
    """Replaces this process, so that signals and the exit code are the program's own."""
    program = command_path()
    if not program.exists():
        sys.exit(f"inferprobe: {program} is missing: install the package again")
    sys.stdout.flush()
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
