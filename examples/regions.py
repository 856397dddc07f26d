"""Which parallel loops of a program leave cores idle.

python examples/regions.py model.pte

Regions are looked at only when asked for. A figure that could not be had says why; zero is a
measurement.
"""

import sys

import inferprobe


def main(model: str) -> None:
    regions = inferprobe.run(model, iterations=20, threads=2, regions=True).regions
    if not regions:  # this engine's loops are not seen: no empty list
        print("regions:", regions)
        return
    # 0 dropped is a count, too: none was lost.
    print(f"{regions.per_inference} regions a run, {regions.dropped} dropped")
    print(f"efficiency: {regions.efficiency} of {regions.threads} threads")
    for region in regions[:3]:
        print(f"\n{region.where} in {region.operator}")
        print(
            f"  threads: {region.requested:.3g} asked for, {region.admitted:.3g} admitted,", end=""
        )
        print(f" {region.observed} seen")
        print(f"  wall: {region.wall_ns}, busy: {region.busy_ns}")
        print(f"  idle, at most: {region.idle_core_ns}")
        print(f"  ipc: {region.ipc}")  # n/a, and why: not zero

    print("\nand the operators")
    for operator in regions.operators:
        print(f"  {operator.operator}: {operator.serial_ns} of {operator.wall_ns} on one thread")


if __name__ == "__main__":
    main(sys.argv[1])
