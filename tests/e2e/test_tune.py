"""tune: the clock decides, outputs are compared, and what cannot be told is said."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Run

Model = Callable[..., pathlib.Path]
FAST = ["--rounds", "3", "--iterations", "3", "--warmup", "0"]


def tuned(run: Run, *args: Any, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = run("tune", *args, "--format", "json", env=env)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def by_threads(result: dict[str, Any]) -> dict[int | None, dict[str, Any]]:
    """None: the default, which has a status for its threads."""
    rows = {}
    for each in result["candidates"]:
        threads = each["threads"]
        rows[threads if isinstance(threads, int) else None] = each
    return rows


def test_a_real_model(run: Run, samples: pathlib.Path) -> None:
    result = tuned(run, samples / "vision_xnnpack.pte", "--threads", "1,2", *FAST)
    rows = by_threads(result)
    assert list(rows) == [None, 1, 2]
    for row in rows.values():
        assert len(row["rounds_p50_ms"]) == 3
        assert row["max_abs_error"] == 0  # the same bits with any number of threads
        # Looked at in one more process.
        assert 0 < row["explained_by"]["efficiency"] <= 1
        assert row["explained_by"]["idle_core_ns"] >= 0
        assert 0 <= row["explained_by"]["serial_share"] <= 1
    assert rows[1]["explained_by"]["serial_share"] == 1
    assert rows[1]["verdict"] in ("faster", "slower", "no_difference")
    assert result["confidence"] == pytest.approx(0.975)
    assert len(result["a_against_a"]["rounds_p50_ms"]) == 3
    assert result["recommendation"]


def test_what_is_a_thousand_times_as_fast_is_faster(
    run: Run, fake_env: dict[str, str], fake_model: Model
) -> None:
    model = fake_model(spin_us=4000, fast_with=3)
    result = tuned(run, model, "--engine", "fake", "--threads", "1,3", *FAST, env=fake_env)
    rows = by_threads(result)
    assert rows[3]["verdict"] == "faster"
    assert rows[3]["ratio_interval"][1] < 1
    low, high = result["a_against_a"]["ratio_interval"]
    if low <= 1 <= high:  # a quiet machine, as far as three rounds tell
        assert result["recommended"] == {"name": "3 threads", "threads": 3}
        assert result["recommendation"].startswith("3 threads: ")
    else:
        assert result["recommended"] is None
        assert result["recommendation"].startswith("cannot tell")


def test_the_fastest_with_wrong_outputs_does_not_win(
    run: Run, fake_env: dict[str, str], fake_model: Model
) -> None:
    model = fake_model(spin_us=4000, fast_with=3, wrong_with=3)
    result = tuned(run, model, "--engine", "fake", "--threads", "3", *FAST, env=fake_env)
    row = by_threads(result)[3]
    assert row["verdict"] == "wrong_outputs"
    assert "output 0" in row["why"]
    assert row["ratio"] < 1
    assert result["recommended"] is None


def test_a_candidate_that_crashes_is_a_row(
    run: Run, fake_env: dict[str, str], fake_model: Model
) -> None:
    done = run(
        "tune", fake_model(crash_with=2), "--engine", "fake", "--threads", "1,2", *FAST,
        env=fake_env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("  2 threads  ")]
    assert " failed " in row
    assert "  2 threads: the worker process was killed by signal 11" in done.stdout


# In the first run, and when something has been measured already.
@pytest.mark.parametrize("at", [1, 4])
def test_a_default_that_crashes_is_an_error(
    run: Run, fake_env: dict[str, str], fake_model: Model, at: int
) -> None:
    done = run("tune", fake_model(crash_at=at), "--engine", "fake", *FAST, env=fake_env)
    assert done.returncode == 1
    assert "signal 11" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--grain", "4"], "they are not adjustable"),
        (["--threads", "0"], "0"),
        (["--threads", "2,2"], "2 threads are given twice"),
        (["--rounds", "2"], "--rounds"),
        (["--iterations", "1"], "a process counts with its median"),
        (["--nonsense"], "--nonsense"),
        (["--iterations", "3", "--duration", "1"], "--duration"),
    ],
)
def test_wrong_usage(run: Run, samples: pathlib.Path, flags: list[str], says: str) -> None:
    done = run("tune", samples / "vision_xnnpack.pte", *flags)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""


def test_a_missing_model(run: Run) -> None:
    done = run("tune", "nowhere.pte")
    assert done.returncode == 1
    assert "nowhere.pte" in done.stderr


def test_ctrl_c_ends_it_with_its_worker(
    command: str, fake_env: dict[str, str], fake_model: Model, tmp_path: pathlib.Path
) -> None:
    mark = tmp_path / "reached"
    process = subprocess.Popen(
        [command, "tune", fake_model(mark_at=f"3 {mark}"), "--engine", "fake", "--rounds", "3"],
        env={**os.environ, **fake_env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(3000):
        if mark.exists():
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "interrupted" in err
    assert out == ""
