"""What the delegate kit costs in instructions: counted, so that no machine is too slow for it."""

from __future__ import annotations

import os
import pathlib
import shutil

import pytest
from callgrind import instructions_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFERPROBE_BUILD", ROOT / "build/test"))
PROGRAM = BUILD / "tests/delegate_instructions"
CALLS = 10_000
LAYERS = 25_000


@pytest.fixture(scope="module", autouse=True)
def tools_are_there() -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")


def instructions(what: str, n: int) -> int:
    return instructions_of(PROGRAM, what, n)


def per_call(what: str) -> float:
    return (instructions(what, 2 * CALLS) - instructions(what, CALLS)) / CALLS


# Seen with g++ 12: 173, 194 and 809 for a call with three phases; a fifth is left for other
# compilers. Most of the first two is the lock.
@pytest.mark.parametrize(
    ("what", "most"),
    [
        pytest.param("off", 208, id="at level off"),
        pytest.param("silent", 233, id="at level phases, and nobody takes events"),
        pytest.param("phases", 970, id="at level phases, with four events"),
    ],
)
def test_a_call_costs_no_more_than(what: str, most: float) -> None:
    cost = per_call(what) - per_call("empty")
    print(f"{what}: {cost:.0f} instructions a call")
    assert 20 <= cost <= most  # less would mean that the kit is not in it


def test_fifty_thousand_layers_cost_twice_what_half_of_them_do() -> None:
    describe = {n: instructions("describe", n) for n in (1, LAYERS, 2 * LAYERS)}
    report = {n: instructions("report", n) - describe[n] for n in describe}
    for what, cost in (("described", describe), ("reported", report)):
        ratio = (cost[2 * LAYERS] - cost[1]) / (cost[LAYERS] - cost[1])
        each = (cost[2 * LAYERS] - cost[LAYERS]) / LAYERS
        print(f"{what}: {each:.0f} instructions a layer, {ratio:.3f} times")
        assert each > 10, what  # less would mean that nothing is done for a layer
        assert ratio <= 2.1, what
