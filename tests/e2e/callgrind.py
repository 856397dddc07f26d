"""Instructions of a program, counted by valgrind: no machine is too slow for a test of them."""

from __future__ import annotations

import re
import subprocess


def instructions_of(*command: object) -> int:
    """What callgrind counts of a command that must succeed."""
    counted = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*counted, *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1])
