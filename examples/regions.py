"""Which parallel loops of a program leave cores idle.

python examples/regions.py model.pte

Regions are looked at only when asked for. A figure that could not be had says why; zero is a
measurement.
"""

import sys

import inferprobe


def main(model: str) -> None:
    result = inferprobe.run(model, iterations=20, threads=2, regions=True)
    regions = result.regions
    if isinstance(regions, inferprobe.Metric):  # this engine's loops are not seen: no empty list
        print("regions:", regions)
        return
    print(f"{regions.per_inference} regions a run, efficiency: {regions.efficiency}")
    print("dropped:", regions.dropped)  # a count: zero means that none was lost
    for region in regions[:5]:
        print(
            f"{region.where}: asked for {region.requested}, admitted {region.admitted}, "
            f"seen {region.observed}"
        )
        print("  wall:", region.wall_ns)
        print("  busy:", region.busy_ns)
        print("  idle, at most:", region.idle_core_ns)
        print("  ipc:", region.ipc)  # n/a, and why: not zero


if __name__ == "__main__":
    main(sys.argv[1])
