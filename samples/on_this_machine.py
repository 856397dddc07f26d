"""The programs of `export.py --mixed`, exported once for this machine: for tests and benchmarks.

The rule that people break: what OpenVINO compiled runs with that version on that kind of CPU alone.
So the folder's name is made of all that it depends on, and another machine exports anew.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SAMPLES = pathlib.Path(__file__).resolve().parent


def missing_package() -> str:
    """The first package that exporting needs and that is not there; "" if all are."""
    packages = ("executorch", "openvino", "torch")
    return next((name for name in packages if importlib.util.find_spec(name) is None), "")


def _key() -> str:
    """What the exported programs depend on: how they are made, with what, and for which CPU."""
    digest = hashlib.sha256()
    for name in ("export.py", "mixed.py", "programs.py"):
        digest.update((SAMPLES / name).read_bytes())
    for package in ("executorch", "openvino", "torch"):
        digest.update(f"{package} {importlib.metadata.version(package)}".encode())
    cpu = [
        line
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith(("model name", "flags"))
    ]
    digest.update("".join(sorted(set(cpu))).encode())
    digest.update(os.environ.get("ONEDNN_MAX_CPU_ISA", "").encode())
    return digest.hexdigest()[:16]


def mixed_folder(parent: pathlib.Path) -> pathlib.Path:
    """Their folder below `parent`; the first time they are exported, which takes 25 s.

    Precondition: missing_package() is "".
    """
    folder = parent / _key()
    if folder.exists():
        return folder
    parent.mkdir(parents=True, exist_ok=True)
    unfinished = pathlib.Path(tempfile.mkdtemp(dir=parent))
    made = subprocess.run(
        [sys.executable, str(SAMPLES / "export.py"), "--mixed", "--into", str(unfinished)],
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    try:
        unfinished.rename(folder)
    except OSError:  # somebody else was faster
        shutil.rmtree(unfinished)
    return folder
