"""ETDumps made to be expensive: work and memory stay in proportion to the file's size."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, Run

MAKE = BUILD / "tests" / "hostile_etdump"
# What the command answers: 1 for a file whose names lie in one another, which is no ETDump.
SHAPES = {
    "shared-name": 0,
    "shared-identifier": 0,
    "shared-metadata": 0,
    "shared-block-name": 0,
    "names-in-names": 1,
}


def make(folder: Path, shape: str, events: int) -> Path:
    file = folder / f"{events}.etdp"
    subprocess.run([str(MAKE), str(file), shape, str(events)], check=True)
    return file


def instructions(command: str, file: Path, folder: Path, code: int) -> int:
    done = subprocess.run(
        [
            *("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'callgrind'}"),
            *(command, "show", str(file)),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1])


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_of_twice_the_size_takes_twice_the_instructions(
    shape: str, command: str, tmp_path: Path
) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    least, once, twice = (
        instructions(command, make(tmp_path, shape, events), tmp_path, SHAPES[shape])
        for events in (100, 1000, 2000)
    )
    print(f"{shape}: {once - least} and {twice - least} instructions")
    assert (twice - least) / (once - least) < 2.5  # linear: 1900 / 900


@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_one_needs_little_memory(shape: str, run: Run, tmp_path: Path) -> None:
    file = make(tmp_path, shape, 50_000)
    size = file.stat().st_size
    limit = 64 * 2**20 + 40 * size

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    for arguments in (
        ("show", file),
        ("convert", file, "out.etdp"),
        ("convert", file, "o.pftrace"),
    ):
        said = run(*arguments, preexec_fn=bounded)
        assert said.returncode == SHAPES[shape], said.stderr[:1000]
        assert "memory" not in said.stderr


def test_names_in_names_are_an_error_that_says_where(run: Run, tmp_path: Path) -> None:
    file = make(tmp_path, "names-in-names", 1000)
    said = run("show", file)
    assert said.returncode == 1
    assert re.search(rf"{file}: byte \d+: this text lies in others", said.stderr), said.stderr


def test_runs_that_a_conversion_leaves_out_are_printed(run: Run, tmp_path: Path) -> None:
    subprocess.run([str(BUILD / "tests" / "etdump_shapes"), str(tmp_path)], check=True)
    said = run("convert", tmp_path / "times_that_cannot_be.etdp", "out.etdp")
    assert said.returncode == 0, said.stderr
    assert re.search(r"^ +1 +incomplete_run ", said.stdout, re.MULTILINE), said.stdout
    strict = run("convert", tmp_path / "times_that_cannot_be.etdp", "out2.etdp", "--strict")
    assert strict.returncode == 1
    assert "incomplete_run" in strict.stderr


# Whatever the limit, the command ends by itself and says why: never by a signal, never halfway.
def test_too_little_memory_is_an_error(run: Run, tmp_path: Path) -> None:
    file = make(tmp_path, "shared-block-name", 50_000)
    said_so = set()
    for tenths_of_mb in range(100, 2000, 75):
        limit = tenths_of_mb * 100_000

        def bounded(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        # The program alone takes some: not even an exception has room below that.
        if run("--version", preexec_fn=bounded).returncode != 0:
            continue
        said = run("show", file, "--format", "csv", preexec_fn=bounded)
        assert said.returncode in (0, 1), (limit, said.returncode, said.stderr)
        if said.returncode == 1:
            said_so.add(said.stderr.splitlines()[0].replace(str(file), "FILE"))
    assert "inferprobe: not enough memory to read FILE" in said_so, said_so
    assert all("memory" in line for line in said_so), said_so
