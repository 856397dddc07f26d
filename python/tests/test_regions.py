"""Parallel regions, over JSON that the test writes, and of a program that runs."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import inferprobe
import pytest
from inferprobe import Error, Location, Metric, Regions, Result

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
REGIONS: dict[str, Any] = {
    "detail": "busy", "runs": 60, "threads": 2, "per_inference": 38, "mean_per_inference": 38,
    "dropped": 3, "efficiency": 0.71, "process_cpu_ns": MISSING,
    "rows": [ROW, {k: v for k, v in ROW.items() if k != "location"}],
}  # fmt: skip


def of(regions: Any) -> Any:
    return Result(json.dumps({"regions": regions})).regions


def test_rows_are_objects() -> None:
    regions = of(REGIONS)
    assert isinstance(regions, Regions)
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
    assert region.busy_ns.value == [20700, 0]
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
    assert isinstance(regions, Metric)
    assert (regions.value, regions.why) == (None, "not_requested")


def test_they_print_as_a_table() -> None:
    lines = str(of(REGIONS)).splitlines()
    assert lines[0].split("  ")[-1] == "where"
    assert "0.0 us" in lines[1]
    assert "2 / 2 / 1.5" in lines[1]
    assert repr(of(REGIONS)) == "<Regions: 2 rows, 3 dropped>"
    assert repr(of(REGIONS)[0]) == "<Region 2d_tile_2d_dynamic: 21000 ns, 2 / 2 / 1.5 threads>"


@pytest.mark.parametrize("regions", ["all", "", 1, None])
def test_an_unknown_detail_is_refused(regions: Any, samples: Path) -> None:
    with pytest.raises(Error, match="regions is"):
        inferprobe.run(samples / "vision_xnnpack.pte", regions=regions)


def test_they_are_off_by_default(samples: Path) -> None:
    result = inferprobe.run(samples / "vision_xnnpack.pte", iterations=3, warmup=0)
    assert isinstance(result.regions, Metric)
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
    assert isinstance(regions, Regions)
    assert len(regions) > 0
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
    with pytest.raises(Error, match="no parallel regions") as none:
        inferprobe.regions(path)
    assert none.value.code == "not_found"


def test_the_example_runs(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = samples.parent / "examples" / "regions.py"
    runpy.run_path(str(example))["main"](str(samples / "vision_xnnpack.pte"))
    text = capsys.readouterr().out
    assert "dropped: 0" in text
    assert "ipc: n/a (not requested" in text
