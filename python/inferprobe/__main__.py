"""The command `inferprobe` and `python -m inferprobe`: becomes the native program.

Only a worker of an engine in Python stays in this interpreter: `python -m inferprobe worker`.
"""

from __future__ import annotations

import os
import sys

from inferprobe._location import command_path


def main() -> None:
    """Replaces this process, so that signals and the exit code are the program's own."""
    if sys.argv[1:] == ["worker"]:
        from inferprobe._worker import main as work

        work()
    program = command_path()
    if not program.exists():
        sys.exit(f"inferprobe: {program} is missing: install the package again")
    sys.stdout.flush()
    # Models of PyTorch run in this very Python, unless the user has named another one.
    os.environ.setdefault("INFERPROBE_PYTHON", sys.executable)
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
