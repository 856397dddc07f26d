"""What the end-to-end tests share: the command under test, as a user runs it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import on_this_machine
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


@pytest.fixture(scope="session")
def mixed_samples() -> pathlib.Path:
    """Folder of the programs with OpenVINO delegates, exported here once (25 s), with data/."""
    missing = on_this_machine.missing_package()
    if missing:
        pytest.skip(f"no {missing}: tools/setup.sh test installs it")
    return on_this_machine.mixed_folder(SOURCE / "build" / "samples")


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
