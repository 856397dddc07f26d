"""`make bench`: the standing targets that this version has a part for, measured now, as one table.

Each row is a ratio or a cost beside its peers of the same run, with the middle half of its
repetitions and a verdict. "A against A" rows say how far a row can be trusted: a difference that is
not larger than theirs is none.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass

SOURCE = pathlib.Path(__file__).resolve().parents[1]


@dataclass
class Row:
    what: str
    measured: str
    spread: str
    target: str
    verdict: str


def quartiles(values: list[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def run_scopes(program: pathlib.Path, repetitions: int) -> dict[str, list[float]]:
    """ns per event of each repetition; the benchmarks take turns."""
    out = subprocess.run(
        [
            str(program),
            "--benchmark_format=json",
            f"--benchmark_repetitions={repetitions}",
            "--benchmark_enable_random_interleaving=true",
            "--benchmark_min_time=0.05",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    costs: dict[str, list[float]] = {}
    for one in json.loads(out)["benchmarks"]:
        if one["run_type"] == "iteration":
            costs.setdefault(one["run_name"], []).append(one["each"] * 1e9)
    return costs


def scope_rows(costs: dict[str, list[float]]) -> list[Row]:
    rows = []
    empty = statistics.median(costs["empty loop"])

    def add(name: str, target: str, met: bool | None, note: str = "") -> None:
        low, middle, high = quartiles(costs[name])
        verdict = "" if met is None else ("met" if met else "missed" + note)
        rows.append(Row(name, f"{middle:.2f} ns", f"{low:.2f} to {high:.2f}", target, verdict))

    def median(name: str) -> float:
        return statistics.median(costs[name])

    add("empty loop", "", None)
    again = costs["empty loop"]
    half = len(again) // 2
    null = abs(statistics.median(again[:half]) - statistics.median(again[half:]))
    rows.append(Row("  A against A: halves of its runs", f"{null:.2f} ns", "", "", ""))
    spread = quartiles(again)[2] - quartiles(again)[0]
    noise = max(null, spread, 0.3)
    add(
        "disabled scope",
        "as the empty loop (3 instructions)",
        median("disabled scope") - empty <= noise,
    )
    add("two clock readings", "", None)
    clocks = median("two clock readings")
    scope_met = median("enabled scope") <= 19
    add(
        "enabled scope",
        "<= 19 ns",
        scope_met,
        f": two clock readings alone take {clocks:.1f} ns here, the rest "
        f"{median('enabled scope') - clocks:.1f} ns",
    )
    add("chained", "<= 11 ns", median("chained") <= 11)
    if "ETDumpGen" in costs:
        add("ETDumpGen", "(peer)", None)
    return rows


def tracer_rows(program: pathlib.Path, rounds: int) -> list[Row]:
    out = subprocess.run(
        [str(program), "--json", "--rounds", str(rounds)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rows = []
    by_program: dict[str, dict[str, dict[str, float]]] = {}
    for line in out.splitlines():
        one = json.loads(line)
        by_program.setdefault(one["program"], {})[one["tracer"]] = one
    for name, tracers in by_program.items():
        none = tracers["none"]
        rows.append(
            Row(
                f"{name}: no tracer",
                f"{none['median_us']:.1f} us",
                "",
                "",
                f"{none['events']} events a run",
            )
        )
        peer = tracers["ETDumpGen"]["x_none"]
        for tracer, one in tracers.items():
            if tracer == "none":
                continue
            verdict = ""
            target = ""
            if tracer == "ours":
                target = "<= +3 %, below ETDumpGen"
                own = one["x_null"] - 1
                below = one["x_none"] < peer
                verdict = "met" if one["x_none"] <= 1.03 and below else "missed"
                if verdict == "missed":
                    verdict += (
                        f": a tracer that does nothing already costs "
                        f"{(tracers['null (does nothing)']['x_none'] - 1) * 100:+.1f} % (XNNPACK "
                        f"times its operators then); ours adds {own * 100:+.1f} %"
                        f"{'' if below else '; not below ETDumpGen'}"
                    )
            rows.append(
                Row(
                    f"  {tracer}",
                    f"{(one['x_none'] - 1) * 100:+.2f} %",
                    " to ".join(
                        f"{(one[end] - 1) * 100:+.2f}" for end in ("x_none_low", "x_none_high")
                    ),
                    target,
                    verdict,
                )
            )
    return rows


def disk_row(command: pathlib.Path, folder: pathlib.Path) -> Row:
    """Bytes of trace for each begin or end event of a real run."""
    trace = folder / "bench.pftrace"
    result = folder / "bench.json"
    subprocess.run(
        [
            str(command),
            "perf",
            str(SOURCE / "samples" / "regions50_xnnpack.pte"),
            *("--iterations", "300", "--force", "--quiet"),
            *("--trace", str(trace), "--output", str(result)),
        ],
        check=True,
    )
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    parsed = Trace()
    parsed.ParseFromString(trace.read_bytes())
    events = sum(packet.HasField("track_event") for packet in parsed.packet)
    each = trace.stat().st_size / events
    return Row(
        "on disk, an event (begin or end)",
        f"{each:.1f} bytes",
        f"{events} events",
        "<= 24 bytes",
        "met" if each <= 24 else "missed",
    )


def print_table(rows: list[Row]) -> None:
    head = Row("what", "measured", "middle half", "target", "verdict")
    cells = [[row.what, row.measured, row.spread, row.target, row.verdict] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(4)]
    for row in cells:
        line = [row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2])]
        print("  ".join([*line, row[3].ljust(widths[3]), row[4]]).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "bench")
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--rounds", type=int, default=1000)
    args = parser.parse_args()
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    load = pathlib.Path("/proc/loadavg").read_text().split()[0]
    print(f"{cpu.group(1) if cpu else 'unknown CPU'}; load {load}\n")
    rows = scope_rows(run_scopes(args.build / "bench" / "scope_bench", args.repetitions))
    rows += tracer_rows(args.build / "bench" / "tracer_bench", args.rounds)
    rows.append(disk_row(args.build / "inferprobe", args.build))
    print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
