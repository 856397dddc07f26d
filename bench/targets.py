"""`make bench`: the standing targets that this version has a part for, measured now, as one table.

Each row is a ratio or a cost beside its peers of the same run, with the middle half of its
repetitions and a verdict. "A against A" rows say how far a row can be trusted: a difference that is
not larger than theirs is none.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "samples"))
import on_this_machine  # noqa: E402


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


_INSPECTOR = """
import sys, time
from executorch.devtools import Inspector
wall, cpu = time.perf_counter(), time.process_time()
Inspector(etdump_path=sys.argv[1])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
import pathlib
status = pathlib.Path("/proc/self/status").read_text()
print(wall, cpu, status.split("RssAnon:")[1].split()[0])
"""


def etdump_rows(
    programs: pathlib.Path, folder: pathlib.Path, rounds: int, whole: bool
) -> list[Row]:
    """Loading an ETDump: ours and Inspector take turns, each load in a fresh process.

    Times are those of the CPU, which other work on the machine does not lengthen; loading is
    one thread that waits for nothing when the file is cached. Inspector gets 100 k events, and the
    ratio is that of an event, unless `whole` asks for all.
    """
    counts = (100_000, 1_000_000)
    files = {events: folder / f"bench-{events}.etdp" for events in counts}
    for events, file in files.items():
        subprocess.run([programs / "etdump_make", file, str(events)], check=True)
    peer_events = counts[1] if whole else counts[0]
    ours: dict[int, list[float]] = {events: [] for events in counts}
    wall: list[float] = []
    peer: list[float] = []
    memory = peer_kb = 0.0
    for _ in range(rounds):
        for events in counts:
            out = subprocess.run(
                [programs / "etdump_load", files[events], "5"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            one = json.loads(out)
            ours[events] += one["cpu_seconds"]
            if events == counts[1]:
                wall += one["seconds"]
                memory = max(memory, one["anonymous_kb"], one["peak_anonymous_kb"])
        out = subprocess.run(
            [sys.executable, "-c", _INSPECTOR, files[peer_events]],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()[-1]
        _, cpu, kb = map(float, out.split())
        peer.append(cpu)
        peer_kb = max(peer_kb, kb)
    for file in files.values():
        file.unlink()

    def row(what: str, values: list[float], target: str, verdict: str) -> Row:
        low, middle, high = quartiles(values)
        return Row(what, f"{middle:.4f} s", f"{low:.4f} to {high:.4f}", target, verdict)

    million = statistics.median(ours[counts[1]])
    each = million / counts[1]
    ratio = statistics.median(peer) / peer_events / each
    null = abs(statistics.median(ours[counts[1]][::2]) - statistics.median(ours[counts[1]][1::2]))
    return [
        row(
            "ETDump, 1 M events, CPU time",
            ours[counts[1]],
            "<= 0.06 s",
            ("met" if million <= 0.06 else "missed")
            + f"; by the clock {statistics.median(wall):.3f} s",
        ),
        Row("  A against A: every other load", f"{null:.4f} s", "", "", ""),
        Row(
            "  anonymous memory, its peak",
            f"{memory / 1024:.0f} MiB",
            "",
            "<= 48 MB",
            "met" if memory * 1024 <= 48e6 else "missed",
        ),
        row("  100 k events", ours[counts[0]], "", ""),
        row(
            f"  Inspector, {peer_events // 1000} k events",
            peer,
            "(peer)",
            f"{ratio:.0f} times ours an event; {peer_kb / 1024:.0f} MiB",
        ),
    ]


DELEGATE_TARGET = "within the A/A spread"
LEVELS = ("delegate", "phases", "layers")


def level_rows(lines: list[dict[str, Any]], where: str) -> list[Row]:
    """Each program's levels against `off` in the same mode, then the other ways to run it."""
    rows = []
    by_program: dict[str, dict[str, dict[str, Any]]] = {}
    for one in lines:
        by_program.setdefault(one["program"], {})[one["way"]] = one
    for name, ways in by_program.items():
        off = ways["off"]
        again = ways["off again (A against A)"]
        spread = max(abs(again["x_off_low"] - 1), abs(again["x_off_high"] - 1))
        rows.append(
            Row(
                f"{name}{where}: our delegate, blocking, off",
                f"{off['median_us']:.1f} us",
                "",
                "",
                f"{off['rounds']} rounds",
            )
        )
        for way, one in ways.items():
            if way == "off":
                continue
            what, target, verdict = f"  {way}", "", f"{one['more_us']:+.2f} us a run"
            if way in LEVELS:
                target = DELEGATE_TARGET if way == "phases" else ""
                inside = abs(one["x_off"] - 1) <= spread
                within = f"{'inside' if inside else 'outside'} +-{spread * 100:.1f} %"
                verdict = f"{within}; {verdict}"
                if way == "phases":
                    verdict = f"{'met' if inside else 'missed'}: {verdict}"
                if way == "layers":
                    verdict += ", the engine's own part included"
            elif way == "async":
                what = "  off, openvino=async"
                verdict += ": another mode, never one figure with blocking"
            elif way == "stock":
                what = "  off, ExecuTorch's own delegate"
            rows.append(
                Row(
                    what,
                    f"{(one['x_off'] - 1) * 100:+.2f} %",
                    " to ".join(
                        f"{(one[end] - 1) * 100:+.2f}" for end in ("x_off_low", "x_off_high")
                    ),
                    target,
                    verdict,
                )
            )
    return rows


def call_rows(lines: list[dict[str, Any]], counted: dict[str, float]) -> list[Row]:
    """A call of the kit and of the wrapper, alone: its time, and its instructions."""
    calls = {one["call"]: one for one in lines}

    def row(what: str, call: str, verdict: str) -> Row:
        one = calls[call]
        return Row(
            what, f"{one['ns']:.1f} ns", f"{one['low']:.1f} to {one['high']:.1f}", "", verdict
        )

    def instructions(what: str) -> str:
        return (
            f"{counted[what]:.0f} instructions" if what in counted else "instructions: no valgrind"
        )

    bare = calls["backend bare"]["ns"]
    null = abs(calls["kit off"]["ns"] - calls["kit off again"]["ns"])
    wrapped = {level: calls[f"backend wrapped, {level}"]["ns"] - bare for level in LEVELS[:1]}
    wrapped["off"] = calls["backend wrapped, off"]["ns"] - bare
    return [
        row("delegate kit: a call at level off", "kit off", instructions("off")),
        Row("  A against A: the same call again", f"{null:.1f} ns", "", "", ""),
        row(
            "  at phases: four events",
            "kit phases",
            f"into our recorder; {instructions('phases')} without it",
        ),
        row("an unmodified backend that does nothing", "backend bare", ""),
        row("  wrapped, off", "backend wrapped, off", f"{wrapped['off']:+.1f} ns a call"),
        row(
            "  wrapped, delegate",
            "backend wrapped, delegate",
            f"{wrapped['delegate']:+.1f} ns a call: one event into our recorder",
        ),
    ]


def count_instructions(program: pathlib.Path) -> dict[str, float]:
    """Instructions of one call of the kit, counted by callgrind; {} where that is not there."""
    if shutil.which("valgrind") is None:
        return {}

    def collected(what: str, n: int) -> int:
        done = subprocess.run(
            [
                *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
                *(str(program), what, str(n)),
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        found = re.search(r"Collected : (\d+)", done.stderr)
        assert found, done.stderr
        return int(found[1])

    n = 5000
    each = {
        what: (collected(what, 2 * n) - collected(what, n)) / n
        for what in ("empty", "off", "phases")
    }
    return {what: each[what] - each["empty"] for what in ("off", "phases")}


def delegate_rows(build: pathlib.Path, seconds: float) -> list[Row]:
    """Programs with OpenVINO delegates are exported here, once.

    The large one runs on one CPU: OpenVINO then takes one thread. With two on a busy machine, A
    against A has a middle half of 15 % to either side, in which anything is.
    """

    def bench(*arguments: str, cpus: set[int] | None = None) -> list[dict[str, Any]]:
        out = subprocess.run(
            [str(build / "bench" / "delegate_bench"), "--seconds", *arguments],
            check=True,
            capture_output=True,
            text=True,
            preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,
        ).stdout
        return [json.loads(line) for line in out.splitlines()]

    counted = count_instructions(build / "tests" / "delegate_instructions")
    rows = call_rows(bench(str(seconds / 4)), counted)
    missing = on_this_machine.missing_package()
    if missing:
        return [*rows, Row("delegates at levels", "n/a", "", "", f"no Python package {missing}")]
    folder = on_this_machine.mixed_folder(SOURCE / "build" / "samples")
    rows += level_rows(bench(str(seconds), str(folder / "openvino_small.pte")), "")
    one = {max(os.sched_getaffinity(0))}
    large = bench(str(seconds), str(folder / "openvino_large.pte"), cpus=one)
    return rows + level_rows(large, " on one CPU")


REGION_TARGETS = {"off": "within the A/A spread", "wall": "<= +1 %", "wall + busy": "<= +2.5 %"}
# The loop that the standing targets of enabled regions are about: many short ones.
TARGET_LOOP = "48 loops of about 10 us"


def region_rows(program: pathlib.Path, rounds: int) -> list[Row]:
    """Loops on our executor: the wrapper off against none, each detail against off."""
    out = subprocess.run(
        [str(program), "--rounds", str(rounds)], check=True, capture_output=True, text=True
    ).stdout
    by_loop: dict[str, dict[str, dict[str, Any]]] = {}
    for line in out.splitlines():
        one = json.loads(line)
        by_loop.setdefault(one["loop"], {})[one["way"]] = one
    rows = []
    for loop, ways in by_loop.items():
        bare = ways["no wrapper"]
        again = ways["off again (A against A)"]
        spread = max(abs(again["x_low"] - 1), abs(again["x_high"] - 1))
        rows.append(Row(f"regions: {loop}", f"{bare['median_us']:.1f} us", "", "", "no wrapper"))
        for way, one in ways.items():
            if way == "no wrapper":
                continue
            target = REGION_TARGETS.get(way, "")
            if way != "off" and loop != TARGET_LOOP:
                target = ""
            more = one["x"] - 1
            met = abs(more) <= spread if way == "off" else more <= {"wall": 0.01}.get(way, 0.025)
            verdict = ("met" if met else "missed") if target else ""
            if way == "off":
                verdict += f": +-{spread * 100:.1f} %"
            rows.append(
                Row(
                    f"  {way}",
                    f"{more * 100:+.2f} %",
                    " to ".join(f"{(one[end] - 1) * 100:+.2f}" for end in ("x_low", "x_high")),
                    target,
                    verdict,
                )
            )
    return rows


# The standing targets' two programs: of many regions, and of few in a short run.
POOL_TARGETS = {
    "regions50_xnnpack.pte": {"wall": 0.01, "wall + busy": 0.025},
    "vision_xnnpack.pte": {"wall": 0.01, "wall + busy": 0.04},
}


def pool_rows(program: pathlib.Path, rounds: int) -> list[Row]:
    """Programs of an unmodified ExecuTorch: each detail against not looking, without a tracer."""
    out = subprocess.run(
        [str(program), "--rounds", str(rounds)], check=True, capture_output=True, text=True
    ).stdout
    rows = []
    for line in out.splitlines():
        one = json.loads(line)
        if one["way"] == "off":
            what = f"{one['program']}: regions not looked at"
            rows.append(Row(what, f"{one['median_us']:.1f} us", "", "", f"{one['regions']} a run"))
            continue
        most = POOL_TARGETS.get(one["program"], {}).get(one["way"])
        more = one["x"] - 1
        rows.append(
            Row(
                f"  {one['way']}",
                f"{more * 100:+.2f} %",
                " to ".join(f"{(one[end] - 1) * 100:+.2f}" for end in ("x_low", "x_high")),
                f"<= +{most * 100:g} %" if most else "",
                ("met" if more <= most else "missed") if most else "",
            )
        )
    return rows


# The most that a way may cost, against plain and by call of a module.
MODULES_X = 1.015
MODULES_US_A_CALL = 0.15
OPS_AGAINST_TORCH = 1.05
REPORTED_WITHIN = 0.03


def module_rows(rounds: int) -> list[Row]:
    """What watching the modules of a PyTorch model costs (modules_bench.py)."""
    out = subprocess.run(
        [
            sys.executable,
            str(SOURCE / "bench" / "modules_bench.py"),
            "--rounds",
            str(rounds),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rows = []
    for line in out.splitlines():
        one = json.loads(line)
        spread = f"{one['x_low']:.3f} to {one['x_high']:.3f}"
        if one["way"] == "plain":
            rows.append(Row(f"{one['model']}: plain", f"{one['median_us']:.1f} us", "", "", ""))
            continue
        what = "plain again (A against A)" if one["way"] == "plain again" else one["way"]
        target = verdict = ""
        if one["way"] == "modules":
            met = one["x"] <= MODULES_X and one["us_a_call"] <= MODULES_US_A_CALL
            target = f"<= {MODULES_X} x, {MODULES_US_A_CALL} us a call"
            verdict = f"{'met' if met else 'missed'} ({one['us_a_call']:.3f} us a call)"
        rows.append(Row(f"  {what}", f"{one['x']:.3f} x", spread, target, verdict))
        if one["way"] == "modules":
            rows.append(Row("    the first run inside", f"{one['first_x']:.3f} x", "", "", ""))
        if "against_torch" in one:
            spread = f"{one['against_low']:.3f} to {one['against_high']:.3f}"
            met = one["against_torch"] <= OPS_AGAINST_TORCH
            rows.append(
                Row(
                    "    against torch.profiler",
                    f"{one['against_torch']:.3f} x",
                    spread,
                    f"<= {OPS_AGAINST_TORCH} x",
                    "met" if met else "missed",
                )
            )
        if "reported" in one:
            off = one["reported"] - 1
            rows.append(
                Row(
                    "    its total against the plain time",
                    f"{off * 100:+.1f} %",
                    "",
                    f"within {REPORTED_WITHIN * 100:g} %",
                    "met" if abs(off) <= REPORTED_WITHIN else "missed",
                )
            )
    return rows


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
    parser.add_argument("--region-rounds", type=int, default=300)
    parser.add_argument("--module-rounds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8, help="of each program with delegates")
    parser.add_argument("--loads", type=int, default=3, help="rounds of loading ETDumps")
    parser.add_argument(
        "--whole", action="store_true", help="let Inspector load 1 M events too: a minute each"
    )
    args = parser.parse_args()
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    load = pathlib.Path("/proc/loadavg").read_text().split()[0]
    print(f"{cpu.group(1) if cpu else 'unknown CPU'}; load {load}\n")
    rows = scope_rows(run_scopes(args.build / "bench" / "scope_bench", args.repetitions))
    rows += tracer_rows(args.build / "bench" / "tracer_bench", args.rounds)
    rows += region_rows(args.build / "bench" / "regions_bench", args.region_rounds)
    rows += pool_rows(args.build / "bench" / "pool_bench", args.rounds)
    rows += module_rows(args.module_rounds)
    rows += delegate_rows(args.build, args.seconds)
    rows.append(disk_row(args.build / "inferprobe", args.build))
    rows += etdump_rows(args.build / "bench", args.build, args.loads, args.whole)
    print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
