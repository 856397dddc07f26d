"""What clang-tidy has to check, as pairs of lines: a build folder that knows how to compile a file,
and the file. With a commit as argument only the files that have changed since then: whoever changes
.clang-tidy looks at all files (`make lint`).

A changed header is checked for itself, with the flags of the file that is named most like it, and
not in each of the many files that include it. Files of python/, bench/ and fuzz/ are checked where
they have been built.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FOLDERS = ("build/test", "build/python", "build/bench", "build/asan")
NOT_OURS = ("build", ".venv")


def compiled_files() -> dict[str, str]:
    files: dict[str, str] = {}
    for folder in FOLDERS:
        database = Path(folder, "compile_commands.json")
        for entry in json.loads(database.read_text()) if database.exists() else []:
            file = Path(entry["file"])
            if file.suffix != ".cc" or not file.exists() or not file.is_relative_to(Path.cwd()):
                continue
            relative = file.relative_to(Path.cwd())
            if relative.parts[0] not in NOT_OURS:
                files.setdefault(str(relative), folder)
    return files


def changed_files(base: str) -> set[str]:
    command = ["git", "diff", "--name-only", "--diff-filter=d", base, "--"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def files_to_check(base: str) -> dict[str, str]:
    compiled = compiled_files()
    if not base:
        return compiled
    changed = changed_files(base)
    headers = [name for name in changed if name.startswith(("src/", "include/"))]
    return {
        **{name: folder for name, folder in compiled.items() if name in changed},
        **{name: FOLDERS[0] for name in headers if name.endswith(".h")},
    }


if __name__ == "__main__":
    for name, folder in sorted(files_to_check(sys.argv[1] if len(sys.argv) > 1 else "").items()):
        print(folder, name, sep="\n")
