"""One run, three files: Perfetto's processor and Inspector see what the result says."""

from __future__ import annotations

import collections
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from conftest import Run, load
from trace_processor import open_trace, slice_counts

RUNS = 15


@pytest.fixture(scope="module", params=["vision_xnnpack", "text_portable"])
def one_run(
    request: pytest.FixtureRequest,
    command: str,
    samples: pathlib.Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Any], pathlib.Path]:
    folder = tmp_path_factory.mktemp(request.param)
    model = samples / f"{request.param}.pte"
    length = ["--iterations", str(RUNS), "--warmup", "2"]
    files = ["--output", "r.json", "--trace", "t.pftrace", "--etdump", "e.etdp"]
    done = subprocess.run(
        [command, "perf", str(model), *length, *files],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return load(folder / "r.json"), folder


def calls(result: dict[str, Any], row_type: str) -> int:
    return sum(row["calls"] for row in result["ops"] if row["type"] == row_type)


def test_perfetto_sees_the_slices_of_the_result(
    one_run: tuple[dict[str, Any], pathlib.Path],
) -> None:
    result, folder = one_run
    counts = slice_counts(folder / "t.pftrace")
    # First, two warm-ups, the loop, three profiled warm-ups, the triples, each run settled before.
    assert counts["run"] == 1 + 2 + RUNS + 3 + 2 * 3 * RUNS
    assert counts["load"] == 1
    with open_trace(folder / "t.pftrace") as trace:
        profiled = """
            from slice as run join args on run.arg_set_id = args.arg_set_id
            where run.name = 'run' and args.string_value = 'pair_on'"""
        (runs,) = trace.query(f"select count(*) as n, sum(run.dur) as ns {profiled}")
        assert runs.n == RUNS
        assert runs.ns == result["ops"][0]["total_ns"]
        for row_type, category in [
            ("operator_call", "operator_call"),
            ("delegate_call", "delegate_call"),
            ("kernel", "kernel"),
        ]:
            (inner,) = trace.query(
                f"""with profiled as (select run.ts, run.dur, run.track_id {profiled})
                select count(*) as n, sum(slice.dur) as ns from slice, profiled
                where slice.category = '{category}' and slice.track_id = profiled.track_id
                and slice.ts >= profiled.ts
                and slice.ts + slice.dur <= profiled.ts + profiled.dur"""
            )
            expected = [row for row in result["ops"] if row["type"] == row_type]
            assert inner.n == calls(result, row_type), category
            assert (inner.ns or 0) == sum(row["total_ns"] for row in expected), category


def test_engine_reported_operators_have_tracks_of_their_own(
    one_run: tuple[dict[str, Any], pathlib.Path],
) -> None:
    result, folder = one_run
    with open_trace(folder / "t.pftrace") as trace:
        tracks = list(
            trace.query(
                """select distinct track.name as name from slice
                join track on slice.track_id = track.id
                where slice.category = 'delegate_op'"""
            )
        )
        assert len(tracks) == sum(1 for delegate in result["delegates"] if delegate["layers"])
        assert all("engine-reported" in track.name for track in tracks)


def test_inspector_sees_the_events_and_totals_of_the_result(
    one_run: tuple[dict[str, Any], pathlib.Path],
) -> None:
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    result, folder = one_run
    inspector = Inspector(
        etdump_path=str(folder / "e.etdp"),
        source_time_scale=TimeScale.NS,
        target_time_scale=TimeScale.NS,
    )
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]
    totals: dict[tuple[str, int], float] = collections.defaultdict(float)
    for event in block.events:
        assert len(event.perf_data.raw) == RUNS, event.name
        if event.delegate_debug_identifier is None:
            totals[event.name, event._instruction_id] += sum(event.perf_data.raw)
    for row in result["ops"]:
        if row["type"] == "delegate_call":
            assert totals["DELEGATE_CALL", row["instruction"]] == row["total_ns"]
        if row["type"] == "operator_call":
            assert totals["OPERATOR_CALL", row["instruction"]] == row["total_ns"]
    layers = sum(len(delegate["layers"]) for delegate in result["delegates"])
    kernels = sum(row["type"] == "kernel" for row in result["ops"])
    instructions = sum(row["type"] in ("operator_call", "delegate_call") for row in result["ops"])
    # Inspector keys events by name, instruction and identifier; XNNPACK names its operators twice.
    distinct_layers = sum(
        len({layer["name"] for layer in delegate["layers"]}) for delegate in result["delegates"]
    )
    assert distinct_layers <= layers
    whole_calls = [row for row in result["ops"] if row["name"] == "xnnpackbackend.delegate"]
    for row in whole_calls:
        assert row["calls"] == RUNS
    assert len(whole_calls) == len(result["delegates"])
    assert len(block.events) == 1 + instructions + kernels + len(whole_calls) + distinct_layers


EXPORT = """
import sys, torch
from executorch.exir import to_edge

class Mixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = torch.nn.Linear(7, 5)
    def forward(self, x, k):
        y = torch.relu(self.linear(x)).sum(dim=1) * k
        return y, y.argmax()

example = (torch.randn(4, 7), torch.tensor([2.0]))
batch = torch.export.Dim("batch", min=1, max=16)
program = torch.export.export(Mixed(), example, dynamic_shapes=({0: batch}, None))
open(sys.argv[1], "wb").write(to_edge(program).to_executorch().buffer)
"""


def test_a_program_exported_elsewhere(run: Run, tmp_path: pathlib.Path) -> None:
    subprocess.run(
        [sys.executable, "-c", EXPORT, tmp_path / "m.pte"], check=True, capture_output=True
    )
    np.save(tmp_path / "x.npy", np.ones((9, 7), np.float32))
    done = run("perf", "m.pte", "--iterations", 20, "--input", "0=x.npy", "--output", "r.json")
    assert done.returncode == 0, done.stderr
    result = load(tmp_path / "r.json")
    assert result["model"]["inputs"][0]["shape"] == [9, 7]
    root = result["ops"][0]
    children = [
        row
        for row in result["ops"]
        if row.get("parent") == root["id"] and row["kind"] == "host_wall"
    ]
    assert sum(row["total_ns"] for row in children) == root["total_ns"]
    assert any("linear" in row["name"] or "addmm" in row["name"] for row in result["ops"])
    too_big = np.ones((17, 7), np.float32)
    np.save(tmp_path / "big.npy", too_big)
    refused = run("perf", "m.pte", "--input", "0=big.npy")
    assert refused.returncode in (1, 2) and "16" in refused.stderr
