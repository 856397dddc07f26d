"""`inferprobe perf` of PyTorch's models, through the command: real torch, small models."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch_packages
from conftest import BUILD, SOURCE, Run, load

MODELS = SOURCE / "tests" / "e2e" / "torch_models.py"
LENGTH = ("--iterations", "5", "--warmup", "1")

pytestmark = pytest.mark.skipif(
    torch_packages.missing(), reason="no torch: tools/setup.sh test installs it"
)


@pytest.fixture(autouse=True)
def _python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's Python is that of the tests, whatever is first in PATH."""
    monkeypatch.setenv("INFERPROBE_PYTHON", sys.executable)


@pytest.fixture
def perf(run: Run, tmp_path: Path) -> Any:
    """The result of a measurement that goes well."""

    def call(model: str | Path, *arguments: Any) -> Any:
        output = tmp_path / "result.json"
        done = run("perf", model, *LENGTH, "--output", output, "--force", *arguments)
        assert done.returncode == 0, done.stderr
        return load(output)

    return call


@pytest.fixture(scope="session")
def packages() -> Path:
    return torch_packages.folder(SOURCE / "build" / "torch")


def shapes(result: Any) -> list[list[int]]:
    return [one["shape"] for one in result["model"]["inputs"]]


def test_a_function_with_an_example(perf: Any) -> None:
    result = perf(f"{MODELS}:with_example")
    assert result["engine"]["name"] == "torch"
    assert result["model"]["path"].endswith("torch_models.py:with_example")
    (given,) = result["model"]["inputs"]
    assert (given["name"], given["type"], given["shape"]) == ("x", "float32", [3, 8])
    assert given["source"] == "the function's example"
    assert [one["shape"] for one in result["model"]["outputs"]] == [[3, 4]]
    assert len(result["latency_ms"]["samples"][0]) == 5
    assert result["outputs"]["repeatable"] is True
    assert result["outputs"]["profiled_equal"] is True


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("plain", ["--shape", "x=2x8"], [[2, 8]]),
        ("plain", ["--shape", "2x8"], [[2, 8]]),
        ("plain", ["--shape", "x=2x8", "--shape", "mask=2x1"], [[2, 8], [2, 1]]),
        ("plain", ["--input", "a.npy"], [[5, 8]]),
        ("plain", ["--input", "x=a.npy", "--shape", "mask=5x1"], [[5, 8], [5, 1]]),
        ("plain", ["--input", "a.npy", "--input", "b.npy"], [[5, 8], [5, 1]]),
        ("with_tuple", [], [[3, 8], [3, 1]]),
        ("by_name", [], [[3, 8], [3, 1]]),
        ("by_name", ["--shape", "x=3x8"], [[3, 8], [3, 1]]),
        ("with_example", ["--input", "0=a.npy"], [[5, 8]]),
        ("with_example", ["--shape", "7x8"], [[7, 8]]),
        ("module", ["--shape", "x=2x8"], [[2, 8]]),
    ],
)
def test_inputs(
    perf: Any, tmp_path: Path, function: str, arguments: list[str], expected: list[list[int]]
) -> None:
    np.save(tmp_path / "a.npy", np.ones((5, 8), np.float32))
    np.save(tmp_path / "b.npy", np.ones((5, 1), np.float32))
    assert shapes(perf(f"{MODELS}:{function}", *arguments)) == expected


def test_every_type_goes_in_and_comes_out(perf: Any) -> None:
    result = perf(f"{MODELS}:all_types")
    kinds = list(torch_packages.KINDS)
    assert [one["type"] for one in result["model"]["inputs"]] == kinds
    assert [one["name"] for one in result["model"]["inputs"]][:2] == ["tensors.0", "tensors.1"]
    assert [one["type"] for one in result["model"]["outputs"]] == kinds
    assert result["model"]["outputs"][0]["name"] == "same.0"


def test_a_model_runs_in_evaluation_and_inference_mode(perf: Any) -> None:
    assert perf(f"{MODELS}:trained")["outputs"]["repeatable"] is True


def test_threads_and_method(perf: Any) -> None:
    result = perf(f"{MODELS}:with_example", "--threads", "1", "--method", "double")
    assert result["engine"]["threads"] == 1
    assert result["model"]["method"] == "double"
    assert [one["shape"] for one in result["model"]["outputs"]] == [[3, 8]]


def test_processes_are_fresh_ones(perf: Any) -> None:
    result = perf(f"{MODELS}:with_example", "--processes", "2")
    assert len(result["latency_ms"]["samples"]) == 2
    assert len({process["pid"] for process in result["processes"]}) == 2


def test_trace_and_result_are_shown_again(run: Run) -> None:
    done = run("perf", f"{MODELS}:with_example", *LENGTH, "--trace", "t.pftrace", "--output",
               "r.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("t.pftrace", "r.json"):
        shown = run("show", name)
        assert shown.returncode == 0, shown.stderr
        assert "torch_models.py:with_example" in shown.stdout
        assert "PyTorch 2" in shown.stdout


def test_observed_runs_show_modules_and_their_operators(run: Run, tmp_path: Path) -> None:
    done = run("perf", f"{MODELS}:with_example", *LENGTH, "--trace", "t.pftrace", "--output",
               "r.json", "--all")  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = load(tmp_path / "r.json")
    rows = {row["path"]: row for row in result["modules"]}
    assert list(rows) == ["", "first", "second"]
    assert [row["calls"] for row in rows.values()] == [5, 5, 5]
    for row in rows.values():
        parts = ("self_cpu_ns", "operators_cpu_ns", "children_cpu_ns")
        assert row["total_cpu_ns"] == sum(row[part] for part in parts)
    inside = rows["first"]["total_cpu_ns"] + rows["second"]["total_cpu_ns"]
    assert rows[""]["children_cpu_ns"] == inside
    names = [operator["name"] for operator in rows["first"]["operators"]]
    assert {"aten::linear", "aten::addmm"} <= set(names)
    assert rows[""]["operators"][0]["name"] == "aten::relu"
    by_id = {row["id"]: row for row in result["ops"]}
    (linear,) = (row for row in result["ops"] if row["name"] == "first Linear")
    assert by_id[linear["parent"]]["name"] == "Net"
    shown = run("show", "t.pftrace", "--all").stdout
    assert "first" in shown and "aten::addmm" in shown
    events = run("show", "t.pftrace", "--events", "--format", "csv").stdout
    assert "first Linear" in events


def test_level_off_looks_at_nothing(perf: Any) -> None:
    result = perf(f"{MODELS}:with_example", "--level", "off")
    assert "--level off" in result["modules"]["hint"]
    assert [row["type"] for row in result["ops"]] == ["method", "unattributed"]


def test_a_compiled_package_hides_its_modules_and_shows_its_kernels(
    perf: Any, packages: Path
) -> None:
    result = perf(packages / "plain.pt2")
    assert "AOTInductor compiled them" in result["modules"]["hint"]
    assert any("cpp.enable_kernel_profile" in note for note in result["model"]["notes"])
    assert any("OpenMP" in note for note in result["model"]["notes"])
    assert not any("fused" in row["name"] for row in result["ops"])
    profiled = perf(packages / "profiled.pt2")
    assert any("fused" in row["name"] for row in profiled["ops"])
    assert not any("enable_kernel_profile" in note for note in profiled["model"]["notes"])


def test_torchscript_shows_operators(perf: Any, packages: Path) -> None:
    result = perf(packages / "script.pt", "--shape", "x=2x8")
    assert "cannot be watched" in result["modules"]["hint"]
    assert any(row["name"] == "aten::addmm" for row in result["ops"])


def test_a_compiled_package(perf: Any, packages: Path) -> None:
    result = perf(packages / "plain.pt2")
    assert result["model"]["format"] == "aotinductor"
    assert result["model"]["methods"] == ["model"]
    assert shapes(result) == [[2, 8]]
    assert [one["shape"] for one in result["model"]["outputs"]] == [[2, 4]]


def test_a_package_with_an_open_shape(perf: Any, run: Run, packages: Path) -> None:
    refused = run("perf", packages / "dynamic.pt2", *LENGTH)
    assert refused.returncode == 2
    assert "float32[any,8]" in refused.stderr
    assert shapes(perf(packages / "dynamic.pt2", "--shape", "5x8")) == [[5, 8]]
    wrong = run("perf", packages / "dynamic.pt2", *LENGTH, "--shape", "5x9")
    assert wrong.returncode != 0


def test_torchscript(perf: Any, packages: Path) -> None:
    result = perf(packages / "script.pt", "--shape", "x=2x8")
    assert result["model"]["format"] == "torchscript"
    assert [one["shape"] for one in result["model"]["outputs"]] == [[2, 4]]


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        ("raises", [], ["raises() raised ValueError: no weights here (torch_models.py, line "]),
        ("exits", [], ["exits() raised SystemExit", "(3)"]),
        ("exits_in_forward", [], ["the model raised SystemExit", "torch_models.py, line "]),
        (
            "fails",
            [],
            ["the model raised ValueError: not this time, with 1 dimension (torch_models"],
        ),
        ("number", [], ["number gave int, which cannot be called", "return a torch.nn.Module"]),
        ("constant", [], ["constant in ", "is int, no function"]),
        ("nothing", [], ['has no "nothing"', "with_example"]),
        ("misfit", [], ["the example inputs do not fit forward(x: ", "too many positional"]),
        ("plain", [], ['input 0 "x" of forward(', "--shape x=", "example_inputs"]),
        ("with_example", ["--shape", "x=3x9"], ["the model raised RuntimeError: mat1 and mat2"]),
        ("with_example", ["--shape", "z=3x9"], ["--shape z=3x9: there is no such input"]),
        ("with_example", ["--input", "none.npy"], ["none.npy"]),
        ("with_example", ["--level", "layers"], ["level layers is of delegates"]),
        ("with_example", ["--method", "none"], ['has no method "none"']),
        ("with_example", ["--data", "x.ptd"], ["data files (.ptd)"]),
        ("with_example", ["--delegate", "openvino=ours"], ["PyTorch has none"]),
    ],
)
def test_failures_have_words(
    run: Run, function: str, arguments: list[str], words: list[str]
) -> None:
    done = run("perf", f"{MODELS}:{function}", *LENGTH, *arguments)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr


def _zip(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in entries.items():
            file.writestr(name.replace("__", "/"), data)
    return path


def test_other_zip_files(run: Run, packages: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.pt"
    damaged.write_bytes((packages / "script.pt").read_bytes()[:1000])
    hollow = tmp_path / "hollow.pt2"  # a program without its library
    _zip(hollow, a__data__aotinductor__model__x=b"", a__archive_format=b"pt2")
    cases = {
        packages / "weights.pt": "holds weights or a pickled module",
        packages / "exported.pt2": "is an exported program",
        damaged: "is a damaged zip file",
        hollow: "hollow.pt2 cannot be loaded",
        _zip(tmp_path / "onnx.zip", **{"model.onnx": b"x"}): "it holds model.onnx",
    }
    for path, words in cases.items():
        done = run("perf", path, *LENGTH)
        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_that_is_no_python(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def make(:\n")
    done = run("perf", "broken.py:make", *LENGTH)
    assert "importing broken.py raised SyntaxError" in done.stderr
    assert "make" in run("perf", "broken.py").stderr
    assert run("perf", "absent.py:make").returncode == 1


def test_files_beside_it_are_imported_and_those_of_the_folder_are_not(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "layers.py").write_text("import torch\nNet = torch.nn.Identity\n")
    (folder / "net.py").write_text(
        "import layers, torch\ndef make(): return layers.Net(), torch.ones(1)\n"
    )
    (tmp_path / "torch.py").write_text("raise SystemExit('the wrong torch')\n")
    done = run("perf", "project/net.py:make", *LENGTH)
    assert done.returncode == 0, done.stderr


def test_a_python_without_torch(run: Run, tmp_path: Path) -> None:
    """What the user reads who has only the command, or the wrong Python."""
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    done = run("perf", f"{MODELS}:plain", env={"INFERPROBE_PYTHON": str(bare)})
    assert done.returncode == 1
    assert "no Python that has both inferprobe and torch" in done.stderr
    assert "INFERPROBE_PYTHON" in done.stderr
    doctor = run("doctor", "--format", "json", env={"INFERPROBE_PYTHON": str(bare)})
    rows = {row["name"]: row for row in json.loads(doctor.stdout)}
    assert "no Python that has both" in json.dumps(rows["PyTorch"])


def test_doctor_names_torch(run: Run) -> None:
    rows = {row["name"]: row for row in json.loads(run("doctor", "--format", "json").stdout)}
    assert "PyTorch 2" in json.dumps(rows["PyTorch"])
    assert "modules (FILE.py:FUNCTION)" in json.dumps(rows["PyTorch"])


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()]


def _started(command: str, tmp_path: Path, mark: Path) -> subprocess.Popen[str]:
    """A measurement that has reached its runs and goes on for a minute."""
    (tmp_path / "slow.py").write_text(
        "import pathlib, time, torch\n"
        "class Slow(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        f"        pathlib.Path({str(mark)!r}).touch()\n"
        "        time.sleep(0.01)\n"
        "        return x\n"
        "def make(): return Slow(), torch.ones(1)\n"
    )
    process = subprocess.Popen(
        [command, "perf", "slow.py:make", "--duration", "60"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not mark.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    assert mark.exists()
    return process


def test_a_killed_worker_is_reported(command: str, tmp_path: Path) -> None:
    process = _started(command, tmp_path, tmp_path / "mark")
    os.kill(_children(process.pid)[0], signal.SIGKILL)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "was killed by signal 9" in error


def test_interrupted(command: str, tmp_path: Path) -> None:
    process = _started(command, tmp_path, tmp_path / "mark")
    worker = _children(process.pid)[0]
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "interrupted" in error
    assert not Path(f"/proc/{worker}").exists()


def test_another_version_is_refused(run: Run, tmp_path: Path) -> None:
    """The worker answers in its own version: both are said."""
    other = tmp_path / "python"
    other.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "if '-c' in sys.argv:\n"
        "    print('inferprobe-python 0.0.1 True')\n"
    )
    other.chmod(0o755)
    done = run("perf", f"{MODELS}:plain", env={"INFERPROBE_PYTHON": str(other)})
    assert "it has inferprobe 0.0.1, and this is " in done.stderr


def test_the_command_is_the_build_under_test(command: str) -> None:
    assert shutil.which(command) == str(BUILD / "inferprobe")
