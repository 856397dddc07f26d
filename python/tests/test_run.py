"""inferprobe.run and the command of the installed package, on the sample programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import inferprobe
import numpy as np
import pytest

MODEL = "vision_xnnpack.pte"


def test_run_measures_a_sample(samples: Path) -> None:
    result = inferprobe.run(samples / MODEL, iterations=30, warmup=2)
    assert result.latency_ms.p50.value > 0
    assert result.latency_ms.p50.kind == "host_wall"
    assert result.latency_ms.p99.why == "too_few_samples"
    assert result.settings.iterations.value == 30
    assert any(row.type == "delegate_call" for row in result.ops)
    assert result.delegates[0].backend == "XnnpackBackend"
    assert "where the time goes" in str(result)
    assert result.environment.cpus >= 1


def test_files_and_result_are_of_one_run(samples: Path, tmp_path: Path) -> None:
    output, trace, etdump = (tmp_path / name for name in ("r.json", "t.pftrace", "e.etdp"))
    result = inferprobe.run(
        samples / MODEL, iterations=5, warmup=0, output=output, trace=trace, etdump=etdump
    )
    assert json.loads(output.read_text()) == result.to_dict()
    assert trace.stat().st_size > 0
    assert etdump.stat().st_size > 0
    with pytest.raises(inferprobe.Error) as refused:
        inferprobe.run(samples / MODEL, iterations=5, warmup=0, output=output)
    assert refused.value.code == "already_exists"
    assert "--force" in refused.value.hint or "force" in refused.value.hint
    inferprobe.run(samples / MODEL, iterations=5, warmup=0, output=output, force=True)


def test_arrays_and_files_are_inputs(samples: Path, tmp_path: Path) -> None:
    expected = np.load(samples / "data" / "vision_xnnpack.input0.npy")
    by_seed = inferprobe.run(samples / MODEL, iterations=3, warmup=0)
    by_order = inferprobe.run(samples / MODEL, inputs=[expected], iterations=3, warmup=0)
    by_index = inferprobe.run(samples / MODEL, inputs={0: expected}, iterations=3, warmup=0)
    path = tmp_path / "in.npy"
    np.save(path, expected)
    by_file = inferprobe.run(samples / MODEL, inputs=[path], iterations=3, warmup=0)
    digests = [r.outputs.sha256 for r in (by_order, by_index, by_file)]
    assert digests[0] == digests[1] == digests[2]
    assert by_seed.outputs.sha256 != digests[0]


def test_array_layout_does_not_matter(samples: Path) -> None:
    array = np.load(samples / "data" / "vision_xnnpack.input0.npy")
    plain = inferprobe.run(samples / MODEL, inputs=[array], iterations=3, warmup=0)
    odd = inferprobe.run(samples / MODEL, inputs=[np.asfortranarray(array)], iterations=3, warmup=0)
    assert plain.outputs.sha256 == odd.outputs.sha256


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"iterations": 0}, "invalid_argument"),
        ({"processes": 0}, "invalid_argument"),
        ({"threads": -1}, "invalid_argument"),
        ({"warmup": -1}, "invalid_argument"),
        ({"duration": float("nan")}, "invalid_argument"),
        ({"inputs": "x.npy"}, "invalid_argument"),
        ({"delegates": [1]}, "invalid_argument"),
        ({"delegates": 1}, "invalid_argument"),
        ({"delegates": ["openvino=stock", "openvino=async"]}, "invalid_argument"),
        ({"level": 1}, "invalid_argument"),
        ({"level": ["layers", 2]}, "invalid_argument"),
        ({"level": ["layers", "off"]}, "invalid_argument"),
        ({"level": "=layers"}, "invalid_argument"),
        ({"inputs": [object()]}, "invalid_argument"),
        ({"inputs": ["nosuch.npy"]}, "not_found"),
        ({"method": "nosuch"}, "not_found"),
        ({"output": "/nosuch/r.json"}, "not_found"),
    ],
)
def test_wrong_arguments_are_errors_with_a_code(
    samples: Path, arguments: dict[str, object], code: str
) -> None:
    with pytest.raises(inferprobe.Error) as error:
        inferprobe.run(samples / MODEL, **arguments)  # type: ignore[arg-type]
    assert error.value.code == code, error.value
    assert error.value.message


@pytest.mark.parametrize(
    ("level", "said"),
    [
        ("layers", "layers"),
        ("xnnpackbackend=off", "delegate, xnnpackbackend=off"),
        (["off", "xnnpackbackend=layers"], "off, xnnpackbackend=layers"),
    ],
)
def test_levels_are_for_all_or_by_name(samples: Path, level: str | list[str], said: str) -> None:
    result = inferprobe.run(samples / MODEL, level=level, iterations=3, warmup=0)
    assert result.settings.level == said


def test_a_wrong_shape_is_refused_with_what_is_expected(samples: Path) -> None:
    with pytest.raises(inferprobe.Error) as error:
        inferprobe.run(samples / MODEL, inputs=[np.zeros((2, 2), np.float32)], iterations=3)
    assert error.value.code == "invalid_argument"
    assert "f32[" in str(error.value)


def test_a_missing_model_is_named() -> None:
    with pytest.raises(inferprobe.Error) as error:
        inferprobe.run("nosuch.pte")
    assert error.value.code == "not_found"
    assert "nosuch.pte" in error.value.message


def wait_for_child(pid: int) -> int:
    """Its worker is there: it measures. (A thread of its own has started it.)"""
    for _ in range(6000):
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                children = task.read_text().split()
            except OSError:  # the thread has ended
                continue
            if children:
                return int(children[0])
        time.sleep(0.01)
    raise AssertionError("no worker ever came")


def test_ctrl_c_ends_it(samples: Path) -> None:
    script = (
        "import inferprobe, sys\n"
        "print('started', flush=True)\n"
        f"inferprobe.run({str(samples / MODEL)!r}, duration=300)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    wait_for_child(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in stderr


def test_a_stopped_worker_is_a_warning_and_the_run_goes_on(samples: Path) -> None:
    told: list[warnings.WarningMessage] = []
    worker: list[int] = []

    def stop_until_told() -> None:
        worker.append(wait_for_child(os.getpid()))
        os.kill(worker[0], signal.SIGSTOP)
        for _ in range(6000):
            if told:
                break
            time.sleep(0.01)
        os.kill(worker[0], signal.SIGCONT)

    stopper = threading.Thread(target=stop_until_told)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = caught
        stopper.start()
        result = inferprobe.run(samples / MODEL, iterations=3000, warmup=0)
        stopper.join()
    assert [warning.category for warning in caught] == [RuntimeWarning]
    assert f"kill -CONT {worker[0]}" in str(caught[0].message)
    assert result.latency_ms.count == 3000


def test_importing_brings_neither_numpy_nor_torch() -> None:
    script = "import sys, inferprobe; print({'numpy', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_the_packages_command_runs(samples: Path) -> None:
    script = Path(sys.executable).parent / "inferprobe"
    for command in ([str(script)], [sys.executable, "-m", "inferprobe"]):
        version = subprocess.run([*command, "--version"], capture_output=True, text=True)
        assert inferprobe.__version__ in version.stdout, version.stderr
        done = subprocess.run(
            [*command, "perf", str(samples / MODEL), "--iterations", "3", "--warmup", "0"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "where the time goes" in done.stdout
        assert subprocess.run([*command, "perf", "--nosuch"], capture_output=True).returncode == 2
