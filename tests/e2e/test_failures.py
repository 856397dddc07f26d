"""Crashes, kills, full disks: what was recorded is kept, and no half file has a final name."""

from __future__ import annotations

import os
import pathlib
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
from conftest import Run, load
from trace_processor import slice_counts

Model = Callable[..., pathlib.Path]
FAKE = ["--engine", "fake"]


def wait_for(path: pathlib.Path) -> None:
    """The handshake: the engine has reached the marked run. Bounded; ends at once then."""
    for _ in range(3000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


def children_of(pid: int) -> list[int]:
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def start(
    command: str,
    args: list[object],
    cwd: pathlib.Path,
    env: dict[str, str],
    own_group: bool = False,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [command, *map(str, args)],
        cwd=cwd,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=own_group,
        text=True,
    )


def test_a_crash_in_the_engine_is_a_line_and_the_samples_stay(
    run: Run, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    model = fake_model(spin_us=20, ops=3, crash_at=60, say="about to work")
    done = run(
        "perf",
        model,
        *FAKE,
        "--iterations",
        100,
        "--warmup",
        2,
        "--output",
        "r.json",
        "--trace",
        "t.pftrace",
        env=fake_env,
    )
    assert done.returncode == 1
    assert "signal 11" in done.stderr and "about to work" in done.stderr
    result = load(tmp_path / "r.json")
    # Runs before the loop: first, repeat, profiled check, two warm-ups; the 60th run never ended.
    assert len(result["latency_ms"]["samples"][0]) == 60 - 1 - 5
    assert "signal 11" in result["processes"][0]["failure"]
    assert any(row["name"] == "worker_died" for row in result["statistics"])
    # The two checks of the outputs are no runs of the timeline.
    assert slice_counts(tmp_path / "t.pftrace")["run"] == 60 - 1 - 2


def test_files_of_an_engine_that_died_are_not_said_to_be_written(
    run: Run, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "kd").mkdir()
    files = ("--profile-format", "trex", "--profile-path-prefix", "kd")
    flags = ("--iterations", 50, "--output", "kd/r.json", *files)
    died = run("perf", fake_model(crash_at=60), *FAKE, *flags, env=fake_env)
    assert died.returncode == 1
    assert died.stdout.splitlines()[-1].split() == ["wrote", "kd/r.json"]
    lived = run("perf", fake_model(), *FAKE, *flags, "--force", env=fake_env)
    assert lived.returncode == 0
    assert lived.stdout.splitlines()[-1].endswith("kd/r.json, each engine's files in kd")


def test_a_crash_before_any_run_is_an_error(
    run: Run, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    done = run(
        "perf",
        fake_model(crash_at=1),
        *FAKE,
        "--output",
        "r.json",
        "--trace",
        "t.pftrace",
        env=fake_env,
    )
    assert done.returncode == 1 and "signal 11" in done.stderr
    assert not (tmp_path / "r.json").exists() and not (tmp_path / "t.pftrace").exists()


def test_an_engine_that_exits_is_said(
    run: Run, fake_env: dict[str, str], fake_model: Model
) -> None:
    done = run("perf", fake_model(exit_at=1), *FAKE, env=fake_env)
    assert done.returncode == 1 and "exited with 7" in done.stderr


def test_one_crash_of_several_processes_leaves_the_others(
    run: Run, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    # Every process crashes at its run 30: each is reported, each keeps its samples.
    done = run(
        "perf",
        fake_model(spin_us=10, crash_at=30),
        *FAKE,
        "--iterations",
        100,
        "--warmup",
        0,
        "--processes",
        3,
        "--output",
        "r.json",
        env=fake_env,
    )
    assert done.returncode == 1
    assert done.stderr.count("signal 11") == 3
    assert [len(one) for one in load(tmp_path / "r.json")["latency_ms"]["samples"]] == [26, 26, 26]


def test_the_engines_own_error_is_printed(
    run: Run, fake_env: dict[str, str], fake_model: Model
) -> None:
    done = run("perf", fake_model(fail_load="no memory for the weights"), *FAKE, env=fake_env)
    assert done.returncode == 1 and "no memory for the weights" in done.stderr


def test_kill_9_of_the_worker_keeps_what_it_published(
    command: str, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    mark = tmp_path / "mark"
    model = fake_model(spin_us=20, ops=2, mark_at=f"200 {mark}")
    process = start(
        command,
        [
            "perf",
            model,
            *FAKE,
            "--iterations",
            1000,
            "--warmup",
            5,
            "--output",
            "r.json",
            "--trace",
            "t.pftrace",
        ],
        tmp_path,
        fake_env,
    )
    wait_for(mark)
    (worker,) = children_of(process.pid)
    os.kill(worker, signal.SIGKILL)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1 and "signal 9" in stderr
    assert len(load(tmp_path / "r.json")["latency_ms"]["samples"][0]) == 200 - 1 - 8


def test_a_stopped_worker_is_told_once_and_goes_on(
    command: str, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    mark = tmp_path / "mark"
    model = fake_model(spin_us=20, mark_at=f"50 {mark}")
    process = start(
        command, ["perf", model, *FAKE, "--iterations", 100, "--quiet"], tmp_path, fake_env
    )
    wait_for(mark)
    (worker,) = children_of(process.pid)
    os.kill(worker, signal.SIGSTOP)
    assert process.stderr is not None
    assert select.select([process.stderr], [], [], 60)[0], "nothing is told"
    told = process.stderr.readline()
    assert f"kill -CONT {worker}" in told and "stopped" in told
    os.kill(worker, signal.SIGCONT)
    pathlib.Path(f"{mark}.go").touch()
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 0 and rest == ""


def test_kill_9_of_the_command_leaves_a_valid_partial_trace_and_no_worker(
    command: str, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    mark = tmp_path / "mark"
    # 256 events fill in about 60 runs (two cells each): several drains before run 600.
    model = fake_model(spin_us=20, ops=2, mark_at=f"600 {mark}")
    process = start(
        command,
        [
            "perf",
            model,
            *FAKE,
            "--iterations",
            1000,
            "--warmup",
            5,
            "--ring-events",
            256,
            "--output",
            "r.json",
            "--trace",
            "t.pftrace",
        ],
        tmp_path,
        fake_env,
    )
    wait_for(mark)
    (worker,) = children_of(process.pid)
    process.kill()
    process.wait()
    for _ in range(500):
        if not pathlib.Path(f"/proc/{worker}").exists():
            break
        time.sleep(0.01)
    assert not pathlib.Path(f"/proc/{worker}").exists(), "the worker outlived the command"
    assert not (tmp_path / "t.pftrace").exists() and not (tmp_path / "r.json").exists()
    counts = slice_counts(tmp_path / "t.pftrace.partial")
    assert 300 < counts["run"] < 600
    assert counts["inferprobe.drain"] > 2


def test_interrupt_ends_it_and_keeps_the_partial_trace(
    command: str, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    mark = tmp_path / "mark"
    model = fake_model(spin_us=20, mark_at=f"50 {mark}")
    process = start(
        command,
        ["perf", model, *FAKE, "--iterations", 1000, "--trace", "t.pftrace"],
        tmp_path,
        fake_env,
    )
    wait_for(mark)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1 and "interrupted" in stderr and stdout == ""
    assert (tmp_path / "t.pftrace.partial").exists() and not (tmp_path / "t.pftrace").exists()


OUTPUTS = [("--output", "out.json"), ("--trace", "out.pftrace"), ("--etdump", "out.etdp")]


@pytest.mark.parametrize(("flag", "name"), OUTPUTS)
def test_an_existing_output_needs_force(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path, flag: str, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    args = ["perf", samples / "vision_xnnpack.pte", "--iterations", 3, "--warmup", 0, flag, name]
    done = run(*args)
    assert done.returncode == 2 and name in done.stderr and "--force" in done.stderr
    assert (tmp_path / name).read_text() == "mine"
    assert run(*args, "--force").returncode == 0
    assert (tmp_path / name).stat().st_size > 100


@pytest.mark.parametrize(("flag", "name"), OUTPUTS)
def test_a_write_that_fails_leaves_no_half_file(
    command: str,
    fake_env: dict[str, str],
    fake_model: Model,
    tmp_path: pathlib.Path,
    flag: str,
    name: str,
) -> None:
    # The limit comes while the model runs: the rings, which are a file too, are there by then.
    mark = tmp_path / "mark"
    model = fake_model(spin_us=5, ops=5, mark_at=f"20 {mark}")
    out = tmp_path / "out"
    out.mkdir()
    process = start(command, ["perf", model, *FAKE, "--iterations", 100, flag, name], out, fake_env)
    wait_for(mark)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (2000, 2000))
    mark.with_suffix(".go").touch()
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert name in stderr and "too large" in stderr
    assert "latency" in stdout, "the measurement itself is not lost"
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("flag", [flag for flag, _ in OUTPUTS])
def test_a_full_device_is_an_error(run: Run, samples: pathlib.Path, flag: str) -> None:
    done = run(
        "perf", samples / "vision_xnnpack.pte", "--iterations", 3, "--warmup", 0, flag, "/dev/full"
    )
    assert done.returncode == 1 and "/dev/full" in done.stderr and "space" in done.stderr


@pytest.mark.parametrize(("flag", "name"), OUTPUTS)
def test_a_folder_that_does_not_exist_is_refused_before_work(
    run: Run, samples: pathlib.Path, flag: str, name: str
) -> None:
    done = run("perf", samples / "vision_xnnpack.pte", flag, f"nosuch/{name}")
    assert done.returncode == 1 and "nosuch" in done.stderr and done.stdout == ""


def test_the_model_is_never_overwritten(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    model = tmp_path / "m.pte"
    content = (samples / "vision_xnnpack.pte").read_bytes()
    model.write_bytes(content)
    done = run("perf", model, "--output", model, "--force")
    assert done.returncode == 2 and model.read_bytes() == content
    (tmp_path / "link.pte").symlink_to(model)
    os.link(model, tmp_path / "hard.pte")
    for other in ("./m.pte", "link.pte", "hard.pte", f"../{tmp_path.name}/m.pte"):
        for flag in ("--output", "--trace", "--etdump"):
            done = run("perf", model, "--iterations", 3, flag, other, "--force")
            assert done.returncode == 2, (flag, other)
            assert model.read_bytes() == content


def test_an_input_is_never_overwritten(
    run: Run, samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    content = (samples / "data" / "vision_xnnpack.input0.npy").read_bytes()
    (tmp_path / "in.npy").write_bytes(content)
    model = samples / "vision_xnnpack.pte"
    done = run("perf", model, "--input", "0=in.npy", "--output", "./in.npy", "--force")
    assert done.returncode == 2
    assert (tmp_path / "in.npy").read_bytes() == content


def test_a_worker_that_hangs_at_its_end_is_ended(
    run: Run, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    model = fake_model(spin_us=5, ops=1, hang_at_exit=1)
    done = run("perf", model, *FAKE, "--iterations", 5, "--output", "r.json", env=fake_env)
    assert done.returncode == 1 and "hung" in done.stderr
    assert len(load(tmp_path / "r.json")["latency_ms"]["samples"][0]) == 5


def test_no_output_stream_is_no_crash(command: str, samples: pathlib.Path) -> None:
    model = samples / "text_portable.pte"
    for script in (
        f"{command} perf nosuch.pte 2>&-",
        f"{command} perf nosuch.pte 2>/dev/full",
        f"{command} perf {model} --iterations 3 >/dev/full",
        f"{command} perf {model} --iterations 3 --format json >/dev/full",
        f"{command} perf {model} --iterations 3 --format csv >&-",
        f"{command} doctor >/dev/full",
        f"{command} --help >/dev/full",
    ):
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, script


def test_terminating_the_whole_group_ends_in_order(
    command: str, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    mark = tmp_path / "mark"
    model = fake_model(spin_us=20, mark_at=f"50 {mark}")
    args = ["perf", model, *FAKE, "--iterations", 1000, "--trace", "t.pftrace"]
    process = start(command, args, tmp_path, fake_env, own_group=True)
    wait_for(mark)
    os.killpg(process.pid, signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1 and "interrupted" in stderr
    assert not (tmp_path / "t.pftrace").exists()


def test_two_writers_of_one_name_do_not_mix(
    command: str, fake_env: dict[str, str], fake_model: Model, run: Run, tmp_path: pathlib.Path
) -> None:
    mark = tmp_path / "mark"
    model = fake_model("slow.fake", spin_us=20, mark_at=f"50 {mark}")
    args = ["perf", model, *FAKE, "--iterations", 60, "--trace", "t.pftrace", "--force"]
    process = start(command, args, tmp_path, fake_env)
    wait_for(mark)
    other = fake_model("quick.fake", spin_us=5)
    done = run(
        "perf", other, *FAKE, "--iterations", 5, "--trace", "t.pftrace", "--force", env=fake_env
    )
    assert done.returncode == 2 and "t.pftrace" in done.stderr
    pathlib.Path(f"{mark}.go").touch()
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert slice_counts(tmp_path / "t.pftrace")["run"] > 100


def test_one_name_for_two_outputs_is_refused(run: Run, samples: pathlib.Path) -> None:
    done = run("perf", samples / "vision_xnnpack.pte", "--output", "x", "--trace", "x")
    assert done.returncode == 2 and "two outputs" in done.stderr


def test_a_full_ring_drops_and_says_so(
    run: Run, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    done = run(
        "perf",
        fake_model(spin_us=1, ops=400),
        *FAKE,
        "--iterations",
        5,
        "--ring-events",
        256,
        "--output",
        "r.json",
        env=fake_env,
    )
    assert done.returncode == 0, done.stderr
    dropped = [
        row for row in load(tmp_path / "r.json")["statistics"] if row["name"] == "ring_dropped"
    ]
    assert dropped and dropped[0]["value"] > 0 and dropped[0]["severity"] == "data_loss"
    assert "ring_dropped" in done.stdout and "--ring-events" in done.stdout
