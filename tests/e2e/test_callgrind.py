"""What a scope costs in instructions: counted, so that no machine is too slow for the test."""

import os
import pathlib
import shutil

import pytest
from callgrind import instructions_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFERPROBE_BUILD", ROOT / "build/test"))
PROGRAM = BUILD / "tests/scope_instructions"
N = 10_000


def per_iteration(what: str) -> float:
    return (instructions_of(PROGRAM, what, 2 * N) - instructions_of(PROGRAM, what, N)) / N


@pytest.fixture(scope="module")
def empty() -> float:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    return per_iteration("empty")


# A counter's value keeps the loop variable alive, which may cost one more.
@pytest.mark.parametrize(("what", "most"), [("disabled", 3.1), ("counter", 4.1)])
def test_off_is_a_load_a_test_and_a_jump(what: str, most: float, empty: float) -> None:
    cost = per_iteration(what) - empty
    print(f"{what}: {cost:.2f} instructions")
    assert 1.5 <= cost <= most  # less would mean that the probe is not there


def test_on_stays_small(empty: float) -> None:
    cost = per_iteration("enabled") - empty
    print(f"enabled: {cost:.2f} instructions")
    assert 20 <= cost <= 80
