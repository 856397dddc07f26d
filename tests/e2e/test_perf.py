"""`inferprobe perf` and `doctor`, as a user runs them, on the real engine."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import pathlib
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from conftest import Run, load

NAMES = ["vision_portable", "vision_xnnpack", "text_portable", "text_xnnpack", "regions50_xnnpack"]
FAST = ["--iterations", "20", "--warmup", "2"]


def host_wall_children(ops: list[dict[str, Any]], parent: int) -> list[dict[str, Any]]:
    return [row for row in ops if row.get("parent") == parent and row["kind"] == "host_wall"]


@pytest.mark.parametrize("name", NAMES)
def test_rows_add_up_to_the_method(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path, name: str
) -> None:
    done = run("perf", samples / f"{name}.pte", *FAST, "--output", "r.json")
    assert done.returncode == 0, done.stderr
    result = load(tmp_path / "r.json")
    root = result["ops"][0]
    children = host_wall_children(result["ops"], root["id"])
    assert sum(row["total_ns"] for row in children) == root["total_ns"]
    for row in result["ops"]:
        inner = host_wall_children(result["ops"], row["id"])
        assert sum(child["total_ns"] for child in inner) <= row["total_ns"]
    kinds = {row["type"] for row in result["ops"]}
    assert {"method", "between_instructions", "unattributed"} <= kinds
    assert len(result["latency_ms"]["samples"][0]) == 20
    assert result["settings"]["iterations"] == 20


def test_delegate_operators_are_engine_reported(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    assert run("perf", samples / "vision_xnnpack.pte", *FAST, "--output", "r.json").returncode == 0
    result = load(tmp_path / "r.json")
    assert [delegate["backend"] for delegate in result["delegates"]] == ["XnnpackBackend"] * 2
    large = max(result["delegates"], key=lambda delegate: delegate["host_ns"])
    assert len(large["layers"]) > 20, "XNNPACK reports its operators"
    assert all(layer["kind"] == "engine_reported" for layer in large["layers"])
    assert large["layer_coverage"] > 0


def test_the_table_says_what_was_measured(run: Run, samples: pathlib.Path) -> None:
    done = run("perf", samples / "vision_xnnpack.pte", *FAST)
    assert done.returncode == 0
    for words in [
        "latency (host wall, profiling off)",
        "where the time goes",
        "XnnpackBackend",
        "between instructions",
        "unattributed",
        "engine-reported",
        "load",
        "first run",
    ]:
        assert words in done.stdout, f"{words!r} is missing in:\n{done.stdout}"
    assert done.stderr == ""


def test_a_percentile_needs_its_samples(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    done = run("perf", samples / "vision_xnnpack.pte", "--iterations", "50", "--output", "r.json")
    assert done.returncode == 0
    latency = load(tmp_path / "r.json")["latency_ms"]
    assert isinstance(latency["p90"], float)
    assert latency["p99"]["status"] == "too_few_samples"
    assert "100" in latency["p99"]["hint"] and "50" in latency["p99"]["hint"]


def test_outputs_are_equal_with_and_without_profiling(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    for name in NAMES:
        output = f"{name}.json"
        assert (
            run(
                "perf",
                samples / f"{name}.pte",
                "--iterations",
                "3",
                "--warmup",
                "0",
                "--output",
                output,
            ).returncode
            == 0
        )
        outputs = load(tmp_path / output)["outputs"]
        assert outputs["repeatable"] is True, name
        assert outputs["profiled_equal"] is True, name


def test_inputs_come_from_numpy_files(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    data = samples / "data" / "vision_xnnpack.input0.npy"
    done = run(
        "perf", samples / "vision_xnnpack.pte", *FAST, "--input", f"0={data}", "--output", "r.json"
    )
    assert done.returncode == 0, done.stderr
    (given,) = load(tmp_path / "r.json")["model"]["inputs"]
    assert given["source"].endswith("vision_xnnpack.input0.npy")


def test_wrong_inputs_are_refused_with_what_is_expected(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    model = samples / "vision_xnnpack.pte"
    right = np.load(samples / "data" / "vision_xnnpack.input0.npy")
    np.save(tmp_path / "type.npy", right.astype(np.float64))
    np.save(tmp_path / "shape.npy", right[..., :-1])
    np.save(tmp_path / "right.npy", right)
    expected = "x".join(map(str, right.shape))
    for args in [
        ["--input", "0=type.npy"],
        ["--input", "0=shape.npy"],
        ["--input", "0=right.npy", "--input", "1=right.npy"],
        ["--input", "nosuch=right.npy"],
        ["--input", "0=missing.npy"],
    ]:
        done = run("perf", model, *FAST, *args)
        assert done.returncode in (1, 2), args
        assert done.stdout == ""
        assert "inferprobe: " in done.stderr
    assert (
        "float32" in run("perf", model, "--input", "0=type.npy").stderr
        or "f32" in run("perf", model, "--input", "0=type.npy").stderr
    )
    assert expected.replace("x", ",") in run(
        "perf", model, "--input", "0=shape.npy"
    ).stderr.replace(" ", "")


def test_a_bundled_program_is_checked_against_its_outputs(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    done = run("perf", samples / "vision_xnnpack.bpte", *FAST, "--output", "r.json")
    assert done.returncode == 0, done.stderr
    result = load(tmp_path / "r.json")
    assert result["outputs"]["verdict"] == "match"
    assert result["model"]["inputs"][0]["source"] == "bundled case 0"


def test_threads_are_set(run: Run, samples: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for threads in (1, 2):
        assert (
            run(
                "perf",
                samples / "vision_xnnpack.pte",
                *FAST,
                "--threads",
                threads,
                "--output",
                f"{threads}.json",
            ).returncode
            == 0
        )
        assert load(tmp_path / f"{threads}.json")["engine"]["threads"] == threads


def test_each_process_keeps_its_samples(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    assert (
        run(
            "perf", samples / "vision_xnnpack.pte", *FAST, "--processes", 3, "--output", "r.json"
        ).returncode
        == 0
    )
    result = load(tmp_path / "r.json")
    assert [len(one) for one in result["latency_ms"]["samples"]] == [20, 20, 20]
    assert len({process["pid"] for process in result["processes"]}) == 3


def test_formats_print_the_same_rows(run: Run, samples: pathlib.Path) -> None:
    model = samples / "text_portable.pte"
    as_csv = run("perf", model, *FAST, "--format", "csv")
    rows = list(csv.reader(io.StringIO(as_csv.stdout)))
    assert len({len(row) for row in rows}) == 1
    as_json = json.loads(run("perf", model, *FAST, "--format", "json").stdout)
    assert as_json["schema_version"] == 1
    assert len(as_json["ops"]) == len(rows) - 1
    assert run("perf", model, *FAST, "--format", "markdown").stdout.startswith("|")


def test_quiet_prints_nothing(run: Run, samples: pathlib.Path) -> None:
    done = run("perf", samples / "vision_xnnpack.pte", *FAST, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["perf"],
        ["nosuch"],
        ["perf", "m.pte", "--nosuch"],
        ["perf", "m.pte", "--iterations", "0"],
        ["perf", "m.pte", "--iterations", "many"],
        ["perf", "m.pte", "--processes", "0"],
        ["perf", "m.pte", "--format", "xml"],
        ["perf", "m.pte", "--iterations", "3", "--duration", "1"],
        ["perf", "m.pte", "--duration", "-1"],
        ["perf", "m.pte", "--seed", "-1"],
        ["perf", "m.pte", "--seed", "18446744073709551616"],
        ["perf", "m.pte", "--output", ""],
    ],
)
def test_wrong_usage_exits_2(run: Run, args: list[str]) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr != ""


def test_help_has_examples_and_goes_to_stdout(run: Run) -> None:
    for args in (["--help"], ["perf", "--help"], ["doctor", "--help"]):
        done = run(*args)
        assert done.returncode == 0 and done.stderr == ""
        assert "inferprobe" in done.stdout
    assert "Examples:" in run("perf", "--help").stdout
    assert "worker" not in run("--help").stdout
    assert run("--version").stdout.startswith("inferprobe 0.")


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 100, b"\x20\0\0\0ET12" + b"\xff" * 200])
def test_files_that_are_no_programs_are_refused_by_name(
    run: Run, tmp_path: pathlib.Path, content: bytes
) -> None:
    (tmp_path / "m.pte").write_bytes(content)
    done = run("perf", "m.pte")
    assert done.returncode == 1
    assert "m.pte" in done.stderr and done.stdout == ""


def test_a_missing_file_is_refused_by_name(run: Run) -> None:
    done = run("perf", "nosuch.pte")
    assert done.returncode == 1
    assert "nosuch.pte" in done.stderr


def test_an_unknown_method_lists_the_methods(run: Run, samples: pathlib.Path) -> None:
    done = run("perf", samples / "vision_xnnpack.pte", "--method", "nosuch")
    assert done.returncode in (1, 2)
    assert "nosuch" in done.stderr and "forward" in done.stderr


def test_a_truncated_program_is_an_error_not_a_crash(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    whole = (samples / "vision_xnnpack.pte").read_bytes()
    for part in (16, 64, 1000, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.pte").write_bytes(whole[:part])
        done = run("perf", "cut.pte", "--iterations", "1")
        assert done.returncode == 1, part
        assert "cut.pte" in done.stderr, done.stderr
        assert "crash" not in done.stderr


def test_doctor_says_what_there_is(run: Run) -> None:
    done = run("doctor")
    assert done.returncode == 0, done.stderr
    for words in ("ExecuTorch", "1.5.1", "XnnpackBackend", "TSC", "cycles", "run-queue delay"):
        assert words in done.stdout, f"{words!r} is missing in:\n{done.stdout}"
    rows = json.loads(run("doctor", "--format", "json").stdout)
    groups = {row["group"] for row in rows}
    assert {"engine", "delegate", "clock", "counter", "hook", "disturbance"} <= groups


def test_doctor_says_how_each_backend_is_seen(run: Run) -> None:
    def delegates(**environment: str) -> dict[str, tuple[str, str]]:
        done = run("doctor", "--format", "json", env=environment)
        assert done.returncode == 0, done.stderr
        return {
            row["name"]: (row["available"], row["state"])
            for row in json.loads(done.stdout)
            if row["group"] == "delegate"
        }

    seen = delegates()
    available, state = seen["XnnpackBackend"]
    assert available == "yes" and state.startswith("from outside: calls, loading")
    assert "switch does not reach it" in state
    if importlib.util.find_spec("openvino") is not None:
        available, state = seen["OpenvinoBackend"]
        assert available == "yes" and state.startswith("from inside: phases, layers"), state
        assert "OpenVINO 2026" in state and "/libopenvino_c.so" in state, state
    # A named place is an answer: nothing else is tried.
    available, state = delegates(OPENVINO_LIB_PATH="/nowhere")["OpenvinoBackend"]
    assert available == "no" and "was not found; pip install openvino" in state, state


def test_without_engines_doctor_works_and_perf_says_what_to_install(
    command: str, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    build = pathlib.Path(command).parent
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in (
        "inferprobe",
        "libinferprobe_delegate.so",
        "libinferprobe_record.so",
        "libinferprobe_regions.so",
        "libinferprobe_session.so",
    ):
        shutil.copy(build / name, bare / name)
    doctor = subprocess.run([bare / "inferprobe", "doctor"], capture_output=True, text=True)
    assert doctor.returncode == 0, doctor.stderr
    assert "not built in" in doctor.stdout and "executorch==1.5.1" in doctor.stdout
    perf = subprocess.run(
        [bare / "inferprobe", "perf", samples / "vision_xnnpack.pte"],
        capture_output=True,
        text=True,
    )
    assert perf.returncode == 1
    assert "pip install --no-deps executorch==1.5.1" in perf.stderr
