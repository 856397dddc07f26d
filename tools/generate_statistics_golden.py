#!/usr/bin/env python3
"""Writes tests/golden/statistics/scipy.json: what scipy and numpy say, for src/analyze's test.

Run it by hand after a change (needs numpy and scipy); the file is committed, so that the test
needs neither.
"""

import json
import pathlib

import numpy as np
from scipy import stats

OUT = pathlib.Path(__file__).resolve().parents[1] / "tests/golden/statistics/scipy.json"
PERCENTILES = [0.5, 0.9, 0.95, 0.99, 0.999]
ALPHA = 0.05


def quantile_ranks(n: int, p: float):
    """The rule of QuantileRanks, written from its definition by search over all ranks."""
    below = stats.binom(n, p)
    ranks = np.arange(n)
    low_error = below.cdf(ranks)  # P(X(l) > q)
    high_error = below.sf(ranks)  # P(X(u) < q)

    def lowest(budget):
        fitting = ranks[low_error <= budget]
        return int(fitting[-1]) if len(fitting) else None

    fitting = ranks[high_error <= ALPHA / 2]
    high, spent = (int(fitting[0]), ALPHA / 2) if len(fitting) else (None, 0)
    if high is None and high_error[-1] <= ALPHA:
        high, spent = n - 1, high_error[-1]
    if high is not None and (low := lowest(ALPHA - spent)) is not None:
        return [low, high]
    low = lowest(ALPHA)
    return None if low is None else [low, None]


def sample_case(name, samples):
    data = np.asarray(samples, dtype=float)
    case = {"name": name, "samples": [float(x) for x in data]}
    case["quantiles"] = [float(np.quantile(data, p)) for p in PERCENTILES]
    case["mean"] = float(data.mean())
    if len(data) > 1 and data.std() == 0:
        case |= {"std": 0.0, "t_interval": [float(data.mean())] * 2}
    elif len(data) > 1:
        case["std"] = float(data.std(ddof=1))
        low, high = stats.t.interval(0.95, len(data) - 1, loc=data.mean(), scale=stats.sem(data))
        case["t_interval"] = [float(low), float(high)]
    return case


def main():
    rng = np.random.default_rng(20260101)
    samples = [
        sample_case("one", [3.25]),
        sample_case("two", [1.0, 2.0]),
        sample_case("even", [4.0, 1.0, 3.0, 2.0]),
        sample_case("odd", [5.0, 1.0, 4.0, 2.0, 3.0]),
        sample_case("equal", [7.0] * 9),
        sample_case("hundred", range(1, 101)),
        sample_case("lognormal", np.exp(rng.normal(size=257))),
        sample_case("ties", rng.integers(0, 5, size=64)),
        sample_case("huge", rng.normal(1e15, 1e3, size=40)),
    ]
    sizes = [1, 2, 3, 4, 5, 6, 7, 10, 28, 29, 30, 35, 36, 58, 59, 60, 73, 100, 298, 299, 300]
    sizes += [368, 369, 412, 1000, 2994, 2995, 5000, 100000]
    ranks = [{"n": n, "p": p, "ranks": quantile_ranks(n, p)} for n in sizes for p in PERCENTILES]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    sample_lines = ",\n  ".join(json.dumps(item) for item in samples)
    rank_lines = ",\n  ".join(json.dumps(item) for item in ranks)
    OUT.write_text(
        f'{{"percentiles": {json.dumps(PERCENTILES)},\n'
        f' "samples": [\n  {sample_lines}\n ],\n "ranks": [\n  {rank_lines}\n ]}}\n'
    )


if __name__ == "__main__":
    main()
