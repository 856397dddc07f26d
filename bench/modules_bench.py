"""What watching the modules of a PyTorch model costs, against the ways that users have today.

Prints a line of JSON for each model and way. One thread; the ways take turns in random order, each
turn a fresh profile over some runs of the model, and each ratio is of one round. Entering and
leaving a profile is in no figure: only the runs inside are. The first run inside finds the caches
cold that entering left, whatever is watched then (inferprobe.profile of another model does the
same): it is a figure of its own. Two plain turns in each round say how far a ratio can be trusted.

    python bench/modules_bench.py --rounds 200
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import os
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import inferprobe
import torch
from torch import nn

RUNS = 40  # of the model in a turn, after the first


class Encoder(nn.Module):
    """An encoder block written out, so that no fast path hides its layers."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * width, width)
        self.drop1 = nn.Dropout(0.0)
        self.drop2 = nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in (q, k, v))
        weights = torch.softmax(q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.drop1(self.out(mixed))
        return x + self.drop2(self.down(self.act(self.up(self.norm2(x)))))


def cnn60() -> tuple[nn.Module, torch.Tensor]:
    layers: list[nn.Module] = []
    for _ in range(20):
        layers += [nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    return nn.Sequential(*layers).eval(), torch.rand(1, 8, 8, 8)


def enc6() -> tuple[nn.Module, torch.Tensor]:
    blocks: list[nn.Module] = [Encoder() for _ in range(6)]
    return nn.Sequential(*blocks, nn.LayerNorm(64)).eval(), torch.rand(1, 16, 64)


@contextlib.contextmanager
def hooks(model: nn.Module) -> Iterator[None]:
    """The least that a user writes by hand: a time before and after each module."""
    times: list[tuple[int, int]] = []
    begun: list[int] = []

    def before(_module: nn.Module, _args: object) -> None:
        begun.append(time.perf_counter_ns())

    def after(_module: nn.Module, _args: object, _result: object) -> None:
        times.append((begun.pop(), time.perf_counter_ns()))

    handles = []
    for module in model.modules():
        handles.append(module.register_forward_pre_hook(before))
        handles.append(module.register_forward_hook(after))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def torch_profiler(_model: nn.Module) -> AbstractContextManager[object]:
    profile: AbstractContextManager[object] = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU]
    )
    return profile


def torchprof(model: nn.Module) -> AbstractContextManager[object]:
    import torchprof as other

    profile: AbstractContextManager[object] = other.Profile(model)
    return profile


Way = Callable[[nn.Module], AbstractContextManager[object]]
WAYS: dict[str, Way] = {
    "plain": lambda _model: contextlib.nullcontext(),
    "plain again": lambda _model: contextlib.nullcontext(),
    "modules": lambda model: inferprobe.profile(model, detail="modules"),
    "ops": lambda model: inferprobe.profile(model, detail="ops"),
    "torch.profiler": torch_profiler,
    "hooks": hooks,
}
# A way of the past, which needs to be installed.
SLOW = {"torchprof": torchprof} if importlib.util.find_spec("torchprof") else {}


@dataclasses.dataclass
class Turn:
    first_s: float  # of the first run inside
    run_s: float  # of a run after it
    profile: object


def turn(model: nn.Module, x: torch.Tensor, way: Way, runs: int) -> Turn:
    model(x)  # finds colder caches in every way
    with way(model) as profile:
        start = time.perf_counter_ns()
        model(x)
        first = time.perf_counter_ns()
        for _ in range(runs):
            model(x)
        end = time.perf_counter_ns()
    return Turn((first - start) / 1e9, (end - first) / 1e9 / runs, profile)


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def measure(name: str, model: nn.Module, x: torch.Tensor, rounds: int, seed: int) -> None:
    order = random.Random(seed)
    calls = sum(1 for _ in model.modules())
    kept: list[dict[str, Turn]] = []  # by way, of each round
    reported: list[float] = []
    for index in range(rounds + 1):
        # A slow way a few times: its turn takes longer than all others together.
        ways = [*WAYS.items(), *(SLOW.items() if index % 10 == 1 else ())]
        order.shuffle(ways)
        turns = {way: turn(model, x, make, 2 if way in SLOW else RUNS) for way, make in ways}
        if index == 0:  # the first round finds everything cold
            continue
        kept.append(turns)
        profile = turns["modules"].profile
        assert isinstance(profile, inferprobe.ModuleProfile)
        total_s = profile.modules[0].total_cpu_ns.value / 1e9 / (1 + RUNS)
        reported.append(total_s / turns["plain"].run_s)
    plain = statistics.median(turns["plain"].run_s for turns in kept)
    for way in [*WAYS, *SLOW]:
        of_way = [turns for turns in kept if way in turns]
        low, middle, high = quartiles([one[way].run_s / one["plain"].run_s for one in of_way])
        line = {
            "model": name,
            "way": way,
            "rounds": len(of_way),
            "median_us": statistics.median(one[way].run_s for one in of_way) * 1e6,
            "x": middle,
            "x_low": low,
            "x_high": high,
            "us_a_call": (middle - 1) * plain * 1e6 / calls,
            "first_x": statistics.median(one[way].first_s / one["plain"].first_s for one in of_way),
        }
        if way == "ops":
            low, middle, high = quartiles(
                [one[way].run_s / one["torch.profiler"].run_s for one in of_way]
            )
            line |= {"against_torch": middle, "against_low": low, "against_high": high}
        if way == "modules":
            line["reported"] = statistics.median(reported)
        print(json.dumps(line), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    os.environ["KINETO_LOG_LEVEL"] = "9"  # else two lines on stderr for each profiler
    if not SLOW:
        print("torchprof is not installed: there are no rows of it", file=sys.stderr)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with torch.inference_mode():
        for name, make in {"cnn60": cnn60, "enc6": enc6}.items():
            torch.manual_seed(args.seed)
            model, x = make()
            measure(name, model, x, args.rounds, args.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
