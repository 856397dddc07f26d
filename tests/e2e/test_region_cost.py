"""What a parallel loop that may be watched costs while nobody does: instructions and system calls,
counted, so that no machine is too slow for the test."""

import os
import pathlib
import shutil
import subprocess

import pytest
from callgrind import instructions_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFERPROBE_BUILD", ROOT / "build/test"))
PROGRAM = BUILD / "tests/region_instructions"
N = 10_000


def needs(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")


def per_call(what: str) -> float:
    return (instructions_of(PROGRAM, what, 2 * N) - instructions_of(PROGRAM, what, N)) / N


def test_off_is_a_load_a_test_and_a_jump() -> None:
    needs("valgrind")
    cost = per_call("disabled") - per_call("run")
    print(f"disabled: {cost:.2f} instructions over the executor's own")
    assert 1.5 <= cost <= 3.1  # less would mean that the check is not there


def test_on_is_more() -> None:
    needs("valgrind")
    assert per_call("busy") - per_call("run") > 100


def system_calls(what: str, n: int, *flags: str) -> int:
    traced = ["strace", "-f", "-qq", "-o", "/dev/stdout", *flags, str(PROGRAM), what, str(n)]
    done = subprocess.run(traced, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return len(done.stdout.splitlines())


@pytest.mark.parametrize("what", ["run", "disabled", "busy"])
def test_a_thousand_loops_make_no_system_call(what: str) -> None:
    needs("strace")
    assert abs(system_calls(what, 1001) - system_calls(what, 1)) < 100


def test_cpu_clocks_are_not_read_after_each_short_chunk() -> None:
    needs("strace")
    loops = 200  # of 128 chunks that do nothing, on one thread
    reading = "-e", "trace=clock_gettime"
    calls = system_calls("cpu", loops + 1, *reading) - system_calls("cpu", 1, *reading)
    print(f"{calls / loops:.2f} readings a loop")
    # Two of the process, one or two of the participant; more only where a loop is held up on its
    # way: each further reading takes 20 us.
    assert 3 * loops <= calls <= 8 * loops
