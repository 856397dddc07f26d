"""Parallel regions, over JSON that the test writes, and of a program that runs."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inferprobe
import pytest
from inferprobe import Error, Location, Metric, Region, Regions, Result

MISSING = {"status": "not_requested", "hint": "--regions=cpu reads the CPU clocks"}

ROW: dict[str, Any] = {
    "where": "2d_tile_2d_dynamic", "location": {"file": "a.cc", "line": 7, "function": "void F()"},
    "op": 1, "index": 7, "calls": 60, "calls_per_run": 1, "iterations": 147, "grain": 1,
    "requested": 2, "admitted": 2, "observed": 1.5, "wall_ns": 21000, "p50_ns": 20500,
    "busy_ns": [20700, 0], "participants": [], "idle_core_ns": 0, "serial_ns": 300,
    "busy_utilization": 0.5, "imbalance": {"status": "unavailable", "hint": "fewer than two"},
    "process_cpu_ns": MISSING, "worker_cpu_ns": MISSING, "cpu_utilization": MISSING,
    "ipc": MISSING, "llc_miss_rate": MISSING, "counters": {"cycles": MISSING},
}  # fmt: skip
OPS: list[dict[str, Any]] = [
    {"id": 0, "name": "forward", "instruction": MISSING},
    {"id": 1, "name": "XnnpackBackend #0", "instruction": 3},
    {"id": 2, "name": "aten::addmm.out", "instruction": 7},
    {"id": 3, "name": "aten::addmm.out", "instruction": 12},
]
OPERATOR: dict[str, Any] = {
    "op": 1, "regions_per_run": 29.25, "requested": 2, "wall_ns": 375041.5, "in_regions_ns": 3e5,
    "efficiency": 0.58345, "serial_ns": 268000, "idle_core_ns": MISSING,
}  # fmt: skip
REGIONS: dict[str, Any] = {
    "detail": "busy", "runs": 60, "threads": 2, "per_inference": 38, "mean_per_inference": 38,
    "dropped": 3, "efficiency": 0.71, "process_cpu_ns": MISSING,
    "rows": [ROW, {k: v for k, v in ROW.items() if k != "location"}],
    "operators": [OPERATOR, OPERATOR | {"op": 2}, OPERATOR | {"op": 3}], "not_observable": [],
}  # fmt: skip


def of(regions: Any) -> Regions:
    return Result(json.dumps({"regions": regions, "ops": OPS})).regions


def test_rows_are_objects() -> None:
    regions = of(REGIONS)
    assert (len(regions), regions.dropped, regions.per_inference.value) == (2, 3, 38)
    assert regions.efficiency.value == 0.71
    region = regions[0]
    assert region.where == "2d_tile_2d_dynamic"
    assert region.location == Location("a.cc", 7, "void F()")
    assert regions[1].location is None
    assert (region.requested, region.admitted, region.observed.value) == (2, 2, 1.5)
    assert isinstance(region.requested, int)
    assert region.wall_ns.value == 21000
    assert region.wall_ns.unit == "ns"
    assert (region.busy_ns.value, region.busy_ns.unit) == ([20700, 0], "ns")
    assert (region.busy_ns.kind, region.worker_cpu_ns.kind) == ("host_wall", "host_cpu")
    assert [row.index for row in regions[:1]] == [7]
    assert not region.nested_inline


def test_unavailable_is_not_zero() -> None:
    region = of(REGIONS)[0]
    assert (region.idle_core_ns.value, region.idle_core_ns.why) == (0, None)  # measured: none
    assert region.idle_core_ns
    for figure in (region.ipc, region.llc_miss_rate, region.cpu_utilization, region.worker_cpu_ns):
        assert isinstance(figure, Metric)
        assert (figure.value, figure.why) == (None, "not_requested")
    assert region.imbalance.why == "unavailable"
    assert of(REGIONS).process_cpu_ns.value is None


def test_no_thread_took_part() -> None:
    region = of(REGIONS | {"rows": [ROW | {"busy_ns": []}]})[0]
    assert (region.busy_ns.value, region.busy_ns.why) == ([], None)


def test_without_regions_there_is_a_reason() -> None:
    regions = of({"status": "not_requested", "hint": "perf --regions"})
    hint = "perf --regions, or run(..., regions=True)"
    assert not regions
    assert (regions.why, regions.hint) == ("not_requested", hint)
    assert str(regions) == f"n/a (not requested: {hint})"
    assert repr(regions) == f"<Regions: n/a (not requested: {hint})>"
    assert not hasattr(regions, "no_such_thing")
    dir(regions)


@pytest.mark.parametrize(
    "use",
    [
        list,
        len,
        lambda regions: regions[0],
        lambda regions: regions[:1],
        lambda regions: regions.rows,
        lambda regions: regions.dropped,
        lambda regions: regions.efficiency,
        lambda regions: regions.operators,
    ],
)
def test_what_was_not_looked_at_is_no_empty_list(use: Callable[[Regions], object]) -> None:
    with pytest.raises(Error, match=r"^no parallel regions: unsupported \(load later\)$") as none:
        use(of({"status": "unsupported", "hint": "load later"}))
    assert (none.value.code, none.value.hint) == ("unsupported", "load later")


def test_a_program_without_regions_was_looked_at() -> None:
    regions = of(REGIONS | {"rows": []})
    assert (bool(regions), len(regions), regions.why) == (True, 0, None)


def test_regions_and_operators_have_the_names_of_the_tables() -> None:
    nowhere = {key: value for key, value in ROW.items() if key != "op"}
    regions = of(REGIONS | {"rows": [ROW, ROW | {"op": 3}, ROW | {"op": 99}, nowhere]})
    names = ["XnnpackBackend #0", "aten::addmm.out [12]", None, None]
    assert [region.operator for region in regions] == names
    assert [row.operator for row in regions.operators] == [
        "XnnpackBackend #0",
        "aten::addmm.out [7]",
        "aten::addmm.out [12]",
    ]


def test_they_print_as_a_table() -> None:
    lines = str(of(REGIONS)).splitlines()
    assert lines[0].split("  ")[-1] == "where"
    assert "0.0 us" in lines[1]
    assert "2 / 2 / 1.5" in lines[1]
    assert lines[1].endswith("  2d_tile_2d_dynamic in XnnpackBackend #0")
    assert repr(of(REGIONS)) == "<Regions: 2 rows, 3 dropped>"
    assert repr(of(REGIONS)[0]) == (
        "<Region 2d_tile_2d_dynamic in XnnpackBackend #0: 21,000 ns, 2 / 2 / 1.5 threads>"
    )


def test_figures_print_rounded_and_counts_without_a_unit() -> None:
    region = of(REGIONS | {"rows": [ROW | {"observed": 1.0123, "busy_ns": [20712.7, 0.5]}]})[0]
    assert str(region.observed) == "1.01"
    assert str(region.busy_utilization) == "0.5"
    assert str(region.busy_ns) == "[20,713, 0.5] ns"
    assert str(of(REGIONS).per_inference) == "38"
    assert region.observed.value == 1.0123


def test_an_operator_prints_its_figures() -> None:
    assert str(of(REGIONS).operators[0]).splitlines() == [
        "operator: XnnpackBackend #0",
        "op: 1",
        "regions_per_run: 29.2",
        "requested: 2",
        "wall_ns: 375,042 ns",
        "in_regions_ns: 300,000 ns",
        "efficiency: 0.583",
        "serial_ns: 268,000 ns",
        "idle_core_ns: n/a (not requested: --regions=cpu reads the CPU clocks)",
    ]


@pytest.mark.parametrize("thing", [of(REGIONS), of(REGIONS)[0], of(REGIONS).operators[0]])
def test_dir_has_everything_once(thing: Regions | Region) -> None:
    names = list(thing.__dir__())
    assert len(names) == len(set(names))
    assert {"operators", "efficiency"} <= set(names) or {"operator", "wall_ns"} <= set(names)


@pytest.mark.parametrize("path", [5, None])
def test_what_is_no_path_is_told_its_type(path: Any) -> None:
    for opened in (inferprobe.regions, inferprobe.load, inferprobe.run):
        with pytest.raises(TypeError, match=type(path).__name__):
            opened(path)


@pytest.mark.parametrize("regions", ["all", "", 1, None])
def test_an_unknown_detail_is_refused(regions: Any, samples: Path) -> None:
    with pytest.raises(Error, match="regions is"):
        inferprobe.run(samples / "vision_xnnpack.pte", regions=regions)


def test_they_are_off_by_default(samples: Path) -> None:
    result = inferprobe.run(samples / "vision_xnnpack.pte", iterations=3, warmup=0)
    assert result.regions.why == "not_requested"


def test_a_run_has_them_and_its_files_too(samples: Path, tmp_path: Path) -> None:
    output, trace = tmp_path / "r.json", tmp_path / "t.pftrace"
    result = inferprobe.run(
        samples / "vision_xnnpack.pte",
        iterations=5,
        warmup=0,
        threads=2,
        regions=True,
        output=output,
        trace=trace,
    )
    regions = result.regions
    assert len(regions) > 0
    assert any(f" in {region.operator}, region" in str(result) for region in regions)
    assert regions.dropped == 0
    assert all(region.requested == 2 for region in regions)
    assert regions[0].ipc.value is None
    for path in (output, trace):
        again = inferprobe.regions(path)
        assert [row.where for row in again] == [row.where for row in regions]
        assert [row.wall_ns for row in again] == [row.wall_ns for row in regions]


def test_a_file_without_them_says_so(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    inferprobe.run(samples / "vision_xnnpack.pte", iterations=3, warmup=0, output=path)
    regions = inferprobe.regions(path)
    assert regions.why == inferprobe.load(path).regions.why == "not_requested"
    with pytest.raises(Error, match="no parallel regions") as none:
        list(regions)
    assert none.value.code == "not_found"


def test_the_example_runs(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = samples.parent / "examples" / "regions.py"
    runpy.run_path(str(example))["main"](str(samples / "vision_xnnpack.pte"))
    text = capsys.readouterr().out
    assert " regions a run, " in text
    assert ", 0 dropped" in text
    assert "of 2 threads" in text
    assert " in XnnpackBackend #0\n" in text
    assert "ipc: n/a (not requested" in text
    assert "0 count" not in text and " count\n" not in text
