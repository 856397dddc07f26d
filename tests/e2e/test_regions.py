"""Parallel regions of unmodified ExecuTorch programs: counted against an independent count, linked
to their instructions, and seen by nobody who did not ask."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from callgrind import instructions_of
from conftest import BUILD, SAMPLES, SOURCE
from trace_processor import open_trace

PROGRAMS = ["text_portable", "text_xnnpack", "vision_xnnpack"]
LIBRARIES = "site-packages/executorch/lib"

_REGIONS = """
SELECT s.id, s.name, s.ts, s.dur, track.name AS track,
       extract_arg(s.arg_set_id, 'debug.run') AS run,
       extract_arg(s.arg_set_id, 'debug.instruction') AS instruction,
       extract_arg(s.arg_set_id, 'debug.requested') AS requested,
       extract_arg(s.arg_set_id, 'debug.admitted') AS admitted,
       extract_arg(s.arg_set_id, 'debug.observed') AS observed,
       extract_arg(s.arg_set_id, 'debug.code') AS code,
       extract_arg(s.arg_set_id, 'debug.participants') AS participants
FROM slice s JOIN track ON track.id = s.track_id WHERE s.category = '{category}'
"""


def regions_of(trace: pathlib.Path, category: str = "region") -> list[Any]:
    with open_trace(trace) as processor:
        errors = processor.query(
            "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
        )
        assert [(row.name, row.value) for row in errors] == []
        return list(processor.query(_REGIONS.format(category=category)))


def profiled_runs(trace: pathlib.Path) -> list[int]:
    with open_trace(trace) as processor:
        rows = processor.query(
            "select extract_arg(arg_set_id, 'debug.run') as run from slice "
            "where extract_arg(arg_set_id, 'debug.mode') = 'pair_on'"
        )
        return [row.run for row in rows]


def loops_of(program: pathlib.Path, folder: pathlib.Path) -> int:
    """Outermost loops of an inference, by callgrind's count of calls: no hook of ours is there."""

    def calls(runs: int) -> int:
        out = folder / f"calls.{runs}"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += ["--compress-strings=no", "--compress-pos=no"]
        command += [str(BUILD / "tests/run_program"), str(program), str(runs)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        caller = callee = ""
        found = 0
        for line in out.read_text().splitlines():
            if line.startswith("ob="):
                caller = line[3:]
            elif line.startswith("cfn="):
                callee = line[4:]
            elif line.startswith("calls=") and "libexecutorch_threadpool" not in caller:
                loop = "pthreadpool_parallelize_" in callee or "extension::parallel_for(" in callee
                found += int(line[6:].split()[0]) if loop else 0
        return found

    return (calls(3) - calls(1)) // 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_run_has_the_loops_of_the_program(
    run: Callable[..., Any], tmp_path: pathlib.Path, program: str
) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    trace = tmp_path / "t.pftrace"
    path = SAMPLES / f"{program}.pte"
    done = run("perf", path, "--regions", "--iterations", 3, "--trace", trace, "--threads", 2)
    assert done.returncode == 0, done.stderr
    regions = regions_of(trace)
    runs = profiled_runs(trace)
    counts = Counter(region.run for region in regions if region.run in runs)
    assert len(counts) == 3
    assert set(counts.values()) == {loops_of(path, tmp_path)}
    # Each is in an instruction of the program, and says where its body is.
    assert all(region.instruction is not None for region in regions)
    assert all(re.fullmatch(r"lib\w+\.so\+0x[0-9a-f]+", region.code) for region in regions)
    assert all(region.participants == "valid" for region in regions)
    names = {region.name for region in regions}
    if "portable" in program:
        assert names == {"parallel_for"}
    else:
        assert any("tile" in name for name in names)


@pytest.mark.parametrize("threads", [1, 2])
def test_participants_are_no_more_than_the_pool_has(
    run: Callable[..., Any], tmp_path: pathlib.Path, threads: int
) -> None:
    trace = tmp_path / "t.pftrace"
    model = SAMPLES / "vision_xnnpack.pte"
    done = run(
        "perf", model, "--regions", "--iterations", 3, "--trace", trace, "--threads", threads
    )
    assert done.returncode == 0, done.stderr
    regions = regions_of(trace)
    assert regions
    for region in regions:
        assert region.requested == threads
        assert 1 <= region.observed <= region.admitted <= threads
    parts = regions_of(trace, "region_part")
    assert len(parts) == sum(region.observed for region in regions)
    tracks = {part.track for part in parts}
    assert 1 <= len(tracks) <= threads
    assert all(re.fullmatch(r"thread \d+ in parallel regions", track) for track in tracks)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_region_lies_in_its_operator_and_its_parts_in_it(
    run: Callable[..., Any], tmp_path: pathlib.Path, program: str
) -> None:
    trace = tmp_path / "t.pftrace"
    model = SAMPLES / f"{program}.pte"
    done = run("perf", model, "--regions", "--iterations", 3, "--trace", trace, "--threads", 2)
    assert done.returncode == 0, done.stderr
    done = run("show", trace, "--events", "--format", "csv")
    assert done.returncode == 0, done.stderr
    slices = {row["id"]: row for row in csv.DictReader(done.stdout.splitlines())}
    seen = Counter(row["category"] for row in slices.values())
    assert seen["region"] > 0
    assert seen["region_part"] > 0

    def contains(outer: dict[str, str], inner: dict[str, str]) -> bool:
        begin, outer_begin = int(inner["start_ns"]), int(outer["start_ns"])
        end, outer_end = begin + int(inner["dur_ns"]), outer_begin + int(outer["dur_ns"])
        return outer_begin <= begin and end <= outer_end

    # What a region may be in. A delegate's operators are timed by its own clock.
    scopes: dict[str, list[dict[str, str]]] = {}
    for row in slices.values():
        if row["category"] not in ("region", "region_part", "delegate_op"):
            scopes.setdefault(row["parent"], []).append(row)

    for row in slices.values():
        if row["category"] not in ("region", "region_part"):
            continue
        outer = slices[row["parent"]]
        assert contains(outer, row), (row, outer)
        assert row["run"] == outer["run"]
        if row["category"] == "region_part":
            assert outer["category"] == "region"
            continue
        # The innermost slice of its thread: a kernel, or what a delegate does in its call.
        assert not any(contains(inner, row) for inner in scopes.get(outer["id"], [])), (row, outer)
        while not outer["instruction"].isdigit():
            outer = slices[outer["parent"]]
        assert outer["category"] in ("operator_call", "kernel", "delegate_call"), (row, outer)
        assert row["instruction"] == outer["instruction"]


@pytest.mark.parametrize("detail", ["wall", "busy", "cpu"])
def test_outputs_are_the_same_with_and_without(
    run: Callable[..., Any], tmp_path: pathlib.Path, detail: str
) -> None:
    results: list[Any] = []
    for flags in [[], [f"--regions={detail}"]]:
        output = tmp_path / f"{len(results)}.json"
        model = SAMPLES / "text_xnnpack.pte"
        done = run("perf", model, "--iterations", 2, "--output", output, *flags)
        assert done.returncode == 0, done.stderr
        results.append(json.loads(output.read_text())["outputs"])
    assert results[0]["sha256"] == results[1]["sha256"]
    assert results[1]["profiled_equal"] is True


def test_wall_alone_says_nothing_of_threads(
    run: Callable[..., Any], tmp_path: pathlib.Path
) -> None:
    trace = tmp_path / "t.pftrace"
    model = SAMPLES / "vision_xnnpack.pte"
    done = run("perf", model, "--regions=wall", "--iterations", 1, "--trace", trace)
    assert done.returncode == 0, done.stderr
    regions = regions_of(trace)
    assert regions
    assert all(region.observed is None and region.participants is None for region in regions)
    assert regions_of(trace, "region_part") == []


def test_without_the_flag_there_are_none(run: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "t.pftrace"
    done = run("perf", SAMPLES / "vision_xnnpack.pte", "--iterations", 1, "--trace", trace)
    assert done.returncode == 0, done.stderr
    assert regions_of(trace) == []


def test_an_unknown_detail_is_wrong_usage(run: Callable[..., Any]) -> None:
    done = run("perf", SAMPLES / "vision_xnnpack.pte", "--regions=all")
    assert done.returncode == 2
    assert "wall" in done.stderr


def test_a_model_after_the_flag_is_the_model(
    run: Callable[..., Any], fake_model: Callable[..., pathlib.Path], fake_env: dict[str, str]
) -> None:
    model = fake_model(ops=2, loops=3)
    done = run("perf", "--regions", model, "--engine", "fake", "--iterations", 2, env=fake_env)
    assert done.returncode == 0, done.stderr


def test_loops_of_an_engine_with_an_executor_of_ours(
    run: Callable[..., Any],
    fake_model: Callable[..., pathlib.Path],
    fake_env: dict[str, str],
    tmp_path: pathlib.Path,
) -> None:
    trace = tmp_path / "t.pftrace"
    model = fake_model(ops=2, loops=3)
    done = run(
        "perf", model, "--engine", "fake", "--regions", "--iterations", 4, "--threads", 2,
        "--trace", trace, env=fake_env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = profiled_runs(trace)
    regions = [region for region in regions_of(trace) if region.run in runs]
    assert Counter(region.run for region in regions) == dict.fromkeys(runs, 6)
    assert Counter(region.instruction for region in regions) == {0: 12, 1: 12}
    assert {(region.requested, region.admitted) for region in regions} == {(2, 2)}


def exported(library: pathlib.Path, flags: str) -> set[str]:
    listed = subprocess.run(["nm", "-D", flags, str(library)], capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    names = {line.split()[-1] for line in listed.stdout.splitlines() if line}
    return {name for name in names if re.search(r"pthreadpool_parallelize_|12parallel_forE", name)}


def test_every_loop_that_the_libraries_call_is_hooked() -> None:
    plugin = BUILD / "libinferprobe_engine_executorch.so"
    if not plugin.exists():
        pytest.skip(f"{plugin} is not built")
    folder = next((SOURCE / ".venv/lib").glob(f"python*/{LIBRARIES}"))
    called: set[str] = set()
    for library in folder.glob("libexecutorch*.so"):
        called |= exported(library, "--undefined-only")
    assert len(called) > 20
    assert exported(plugin, "--defined-only") == called


def test_a_hook_that_nobody_looks_through_is_a_load_a_test_and_a_jump() -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    program = BUILD / "tests/pool_instructions"

    def per_loop(what: str) -> float:
        return (
            instructions_of(program, what, 20_000) - instructions_of(program, what, 10_000)
        ) / 1e4

    cost = per_loop("hooked") - per_loop("real")
    print(f"{cost:.2f} instructions")
    # The check (load, test, jump), and on the way to the real function its address and a jump.
    assert 2 <= cost <= 5.5


_BESIDE_TORCH = """
import ctypes, sys

def load_ours():
    look = ctypes.CDLL(sys.argv[1])
    look.run_program.restype = look.look_end.restype = ctypes.c_int64
    return look

def ours(wanted):
    digest = ctypes.c_uint64()
    found = look.run_program(sys.argv[2].encode(), wanted, ctypes.byref(digest))
    return found, digest.value

if sys.argv[3] == "ours":            # the engine and its libraries before torch's
    look = load_ours()
    assert ours(0)[0] == 0
import torch

torch.backends.quantized.engine = "qnnpack"   # runs on a pthreadpool of torch's own
def quantized(values, kind):
    return torch.quantize_per_tensor(values, 0.1, 0, kind)
weight = quantized(torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64).sin(), torch.qint8)
packed = torch.ops.quantized.linear_prepack(weight, torch.zeros(64))
given = quantized(torch.arange(256 * 64, dtype=torch.float32).reshape(256, 64).cos(), torch.quint8)
def by_torch():
    return torch.ops.quantized.linear(given, packed, 0.1, 10).int_repr()

before = by_torch()
if sys.argv[3] == "torch":
    look = load_ours()
plain, seen = ours(0), ours(1)
assert plain[0] == 0 and seen[0] > 0, (plain, seen)
assert plain[1] == seen[1]
look.look_begin()
after = by_torch()
assert look.look_end() == 0          # nobody looks at torch's
assert torch.equal(before, after)
assert ours(1) == seen
print(seen[0])
"""


@pytest.mark.parametrize("first", ["torch", "ours"])
def test_torch_in_the_same_process_is_not_disturbed(first: str) -> None:
    pytest.importorskip("torch")
    look = BUILD / "tests/liblook_at_regions.so"
    model = SAMPLES / "text_xnnpack.pte"
    command = [sys.executable, "-c", _BESIDE_TORCH, str(look), str(model), first]
    env = {**os.environ, "INFERPROBE_PLUGIN_PATH": str(BUILD)}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


_AFTER_EXECUTORCH = """
import ctypes, pathlib, sys

folder = pathlib.Path(sys.argv[3])
ctypes.CDLL(str(folder / "libexecutorch_backend_xnnpack.so"))  # by something else of the process
look = ctypes.CDLL(sys.argv[1])
look.run_program.restype = ctypes.c_int64
digest = ctypes.c_uint64()
assert look.run_program(sys.argv[2].encode(), 0, ctypes.byref(digest)) == 0
assert look.run_program(sys.argv[2].encode(), 1, ctypes.byref(digest)) == -1
"""


def test_libraries_that_were_there_before_are_named_and_no_empty_list() -> None:
    folder = next((SOURCE / ".venv/lib").glob(f"python*/{LIBRARIES}"))
    look = BUILD / "tests/liblook_at_regions.so"
    model = SAMPLES / "text_xnnpack.pte"
    command = [sys.executable, "-c", _AFTER_EXECUTORCH, str(look), str(model), str(folder)]
    env = {**os.environ, "INFERPROBE_PLUGIN_PATH": str(BUILD)}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert "parallel regions cannot be seen here" in done.stderr
    assert "libexecutorch_backend_xnnpack.so" in done.stderr


def test_an_engine_whose_loops_are_not_seen_says_why(
    run: Callable[..., Any],
    fake_model: Callable[..., pathlib.Path],
    fake_env: dict[str, str],
    tmp_path: pathlib.Path,
) -> None:
    output = tmp_path / "r.json"
    model = fake_model(ops=1, no_regions="its loops are its own")
    done = run(
        "perf", model, "--engine", "fake", "--regions", "--iterations", 2, "--output", output,
        env=fake_env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    regions = json.loads(output.read_text())["regions"]
    assert regions == {"status": "unsupported", "hint": "its loops are its own"}


def test_a_collectors_callback_runs_no_model(samples: pathlib.Path) -> None:
    look = BUILD / "tests/liblook_at_regions.so"
    code = (
        "import ctypes, sys\n"
        "sys.exit(ctypes.CDLL(sys.argv[1]).run_in_callback(sys.argv[2].encode()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(look), str(samples / "vision_xnnpack.pte")],
        capture_output=True,
        text=True,
        timeout=60,  # it hung in the engine's lock
    )
    assert done.returncode == 0, done.stderr
    assert "a model cannot run in a collector's callback" in done.stderr
