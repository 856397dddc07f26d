"""What the end-to-end tests share: the command under test, as a user runs it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFERPROBE_BUILD", SOURCE / "build" / "test")).resolve()
SAMPLES = SOURCE / "samples"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def command() -> str:
    """Path of the built command."""
    path = BUILD / "inferprobe"
    assert path.exists(), f"{path} is not built: make test builds it"
    return str(path)


@pytest.fixture(scope="session")
def samples() -> pathlib.Path:
    return SAMPLES


def _mixed_key() -> str:
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


@pytest.fixture(scope="session")
def mixed_samples() -> pathlib.Path:
    """Folder of the programs with OpenVINO delegates, exported here once (25 s), with data/."""
    for package in ("openvino", "torch"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"no {package}: tools/setup.sh test installs it")
    parent = SOURCE / "build" / "samples"
    folder = parent / _mixed_key()
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
    except OSError:  # another run of the tests was faster
        shutil.rmtree(unfinished)
    return folder


@pytest.fixture
def run(command: str, tmp_path: pathlib.Path) -> Run:
    """Runs the command in an empty folder and returns what it said."""

    def call(*args: Any, env: dict[str, str] | None = None, **more: Any) -> Any:
        return subprocess.run(
            [command, *map(str, args)],
            cwd=more.pop("cwd", tmp_path),
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
            **more,
        )

    return call


@pytest.fixture(scope="session")
def fake_env() -> dict[str, str]:
    """Environment in which `--engine fake` is found: the double in tests/fake_engine."""
    return {"INFERPROBE_PLUGIN_PATH": str(BUILD / "tests" / "plugins")}


@pytest.fixture
def fake_model(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Writes a model of the fake engine: fake_model(spin_us=50, ops=3)."""

    def write(name: str = "model.fake", **script: Any) -> pathlib.Path:
        path = tmp_path / name
        path.write_text("".join(f"{key} {value}\n" for key, value in script.items()))
        return path

    return write


def load(path: pathlib.Path) -> Any:
    return json.loads(path.read_text())
