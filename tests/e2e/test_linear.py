"""Opening a file takes time in proportion to it: counted in instructions, not in seconds."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from callgrind import instructions_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFERPROBE_BUILD", ROOT / "build/test"))
MAKE = BUILD / "bench/etdump_make"
# "distinct": all operators in one run. "run-each": a run for each, so that a table of every
# operator in every run would be quadratic.
SHAPES = ("--distinct", "--run-each")
# "layers": all of one delegate, in each of three runs. "device-calls": a run for each, whose
# device answers in the next.
DELEGATES = ("--layers", "--device-calls")


@pytest.fixture(scope="module", autouse=True)
def program_is_there() -> None:
    if not MAKE.exists():
        pytest.skip(f"{MAKE} is not built: it needs the executorch package")


def make(path: pathlib.Path, operators: int, shape: str) -> pathlib.Path:
    subprocess.run([MAKE, path, str(2 * operators), shape], check=True)
    return path


def instructions(command: str, operators: int, shape: str, folder: pathlib.Path) -> int:
    file = make(folder / f"{operators}.etdp", operators, shape)
    return instructions_of(command, "show", file)


@pytest.mark.parametrize("shape", SHAPES + DELEGATES)
def test_twice_the_operators_take_twice_the_instructions(
    shape: str, command: str, tmp_path: pathlib.Path
) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    # What the program needs for any file, taken off.
    least = instructions(command, 1, shape, tmp_path)
    once = instructions(command, 1000, shape, tmp_path) - least
    twice = instructions(command, 2000, shape, tmp_path) - least
    print(f"{shape}: {once} and {twice} instructions, {twice / once:.2f} times")
    assert twice / once < 2.3


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hundred_thousand_distinct_operators_open(
    shape: str, command: str, tmp_path: pathlib.Path
) -> None:
    file = make(tmp_path / "many.etdp", 100_000, shape)
    done = subprocess.run(
        [command, "show", str(file), "--format", "csv"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert sum("op99999.out" in row for row in rows) == 2  # the call and its kernel
    assert len(rows) > 100_000


def test_fifty_thousand_layers_open_and_convert(command: str, tmp_path: pathlib.Path) -> None:
    file = make(tmp_path / "layers.etdp", 50_000, "--layers")
    subprocess.run([command, "convert", str(file), "t.pftrace"], cwd=tmp_path, check=True)
    for name in (str(file), "t.pftrace"):
        done = subprocess.run(
            [command, "show", name, "--format", "json"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        (delegate,) = json.loads(done.stdout)["delegates"]
        assert len(delegate["layers"]) == 50_000
        assert all(layer["mean_ns"] == 5000 for layer in delegate["layers"])


def test_fifty_thousand_late_results_are_booked(command: str, tmp_path: pathlib.Path) -> None:
    file = make(tmp_path / "calls.etdp", 50_000, "--device-calls")
    done = subprocess.run(
        [command, "show", str(file), "--format", "json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (delegate,) = json.loads(done.stdout)["delegates"]
    assert delegate["device"] == {
        "clock": "cuda event",
        "calls": 49_999,
        "missing": 1,
        "mean_ns": 5000,
    }
