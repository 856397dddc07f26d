"""A file that becomes shorter while it is read: an error that says so, not the end by a signal."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, SOURCE, Run

PRELOAD = BUILD / "tests" / "shrink_when_mapped.so"
PAGE = 4096
# `show` maps a file twice: to see what it is, and to read it.
MAPPINGS = (1, 2)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each format that is read where it lies, of several pages."""
    folder = tmp_path_factory.mktemp("traces")
    subprocess.run([str(BUILD / "tests" / "trace_samples"), str(folder)], check=True)
    files = {
        "etdump": folder / "inference.etdp",
        "perfetto": folder / "inference.pftrace",
        "rings": SOURCE / "fuzz" / "seeds" / "rings" / "every_type.ring",
    }
    for file in files.values():
        assert file.stat().st_size > PAGE + 1000, file
    return files


def shrinking(file: Path, to: int, at: int) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(PRELOAD),
        "SHRINK_FILE": str(file),
        "SHRINK_TO": str(to),
        "SHRINK_AT": str(at),
    }


@pytest.mark.parametrize("at", MAPPINGS)
@pytest.mark.parametrize("to", [0, 10, PAGE, PAGE + 1000])
@pytest.mark.parametrize("kind", ["etdump", "perfetto", "rings"])
def test_a_file_that_shrinks_is_an_error_that_says_where(
    kind: str, to: int, at: int, run: Run, traces: dict[str, Path], tmp_path: Path
) -> None:
    file = tmp_path / "shrinking"
    for arguments in (("show", file), ("show", "--events", file), ("convert", file, "out.pftrace")):
        shutil.copy(traces[kind], file)
        said = run(*arguments, env=shrinking(file, to, at))
        assert said.returncode == 1, (said.returncode, said.stderr)
        assert f"{file}: became shorter while it was read (byte {to})" in said.stderr
        assert said.stdout == ""
        assert not (tmp_path / "out.pftrace").exists()


def test_without_the_cut_the_same_files_open(run: Run, traces: dict[str, Path]) -> None:
    for file in traces.values():
        assert run("show", file, env=shrinking(file, 0, 99)).returncode == 0


def test_a_program_that_shrinks_is_an_error(run: Run, samples: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.pte"
    shutil.copy(samples / "vision_xnnpack.pte", model)
    said = run("perf", model, "--iterations", "3", env=shrinking(model, 10, 1))
    assert said.returncode == 1
    assert f"{model}: became shorter while it was read (byte 10)" in said.stderr


# The host program's handlers stay what they were: Python's prints where it was.
def test_python_gets_an_exception(traces: dict[str, Path], tmp_path: Path) -> None:
    if importlib.util.find_spec("inferprobe") is None:
        pytest.skip("the Python package is not installed")
    file = tmp_path / "shrinking"
    shutil.copy(traces["etdump"], file)
    program = (
        "import faulthandler, inferprobe, os, signal\n"
        "try:\n"
        f"    inferprobe.load({str(file)!r})\n"
        "except Exception as error:\n"
        "    print(error, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGBUS)\n"
    )
    said = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        env={**os.environ, **shrinking(file, PAGE, 2)},
        capture_output=True,
        text=True,
    )
    assert f"became shorter while it was read (byte {PAGE})" in said.stdout, said.stderr
    assert said.returncode == -7
    assert "Fatal Python error: Bus error" in said.stderr
