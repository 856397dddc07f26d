"""What a scope costs in instructions: counted, so that no machine is too slow for the test."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFERPROBE_BUILD", ROOT / "build/test"))
PROGRAM = BUILD / "tests/scope_instructions"
N = 10_000


def instructions(what: str, n: int, out: pathlib.Path) -> int:
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", str(PROGRAM), what, str(n)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1])


def per_iteration(what: str, out: pathlib.Path) -> float:
    return (instructions(what, 2 * N, out) - instructions(what, N, out)) / N


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> float:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    return per_iteration("empty", tmp_path_factory.mktemp("callgrind") / "out")


# A counter's value keeps the loop variable alive, which may cost one more.
@pytest.mark.parametrize(("what", "most"), [("disabled", 3.1), ("counter", 4.1)])
def test_off_is_a_load_a_test_and_a_jump(
    what: str, most: float, empty: float, tmp_path: pathlib.Path
) -> None:
    cost = per_iteration(what, tmp_path / "out") - empty
    print(f"{what}: {cost:.2f} instructions")
    assert 1.5 <= cost <= most  # less would mean that the probe is not there


def test_on_stays_small(empty: float, tmp_path: pathlib.Path) -> None:
    cost = per_iteration("enabled", tmp_path / "out") - empty
    print(f"enabled: {cost:.2f} instructions")
    assert 20 <= cost <= 80
