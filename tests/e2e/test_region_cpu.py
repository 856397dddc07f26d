"""CPU time of an inference, which `perf --regions` measures beside the regions."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Run


def regions_of(run: Run, samples: pathlib.Path, *more: str) -> Any:
    done = run("perf", samples / "vision_xnnpack.pte", "--threads", 2, "--format", "json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["regions"]


def test_blocks_of_runs_tell_it(
    run: Run, fake_model: Callable[..., pathlib.Path], fake_env: dict[str, str]
) -> None:
    # By its own CPU clock, so that no other program on the machine changes what a run needs.
    burned_ns = 4e6
    model = fake_model(ops=1, burn_us=4000, sleep_us=4000)
    done = run(
        *("perf", model, "--engine", "fake", "--regions", "--duration", "0.4"),
        *("--format", "json"),
        env=fake_env,
    )
    assert done.returncode == 0, done.stderr
    # Far below a run's time, half of which it sleeps.
    assert 0.99 * burned_ns < json.loads(done.stdout)["regions"]["process_cpu_ns"] < 1.6 * burned_ns


def test_a_program_has_it_too(run: Run, samples: pathlib.Path) -> None:
    regions = regions_of(run, samples, "--regions", "--duration", "0.3")
    # How long threads that wait do so actively, the machine decides.
    assert regions["process_cpu_ns"] > 0


def test_a_few_runs_do_not(run: Run, samples: pathlib.Path) -> None:
    regions = regions_of(run, samples, "--regions", "--iterations", "3", "--warmup", "0")
    assert regions["process_cpu_ns"]["status"] == "below_resolution"


@pytest.mark.parametrize("detail", ["wall", "busy", "cpu"])
def test_each_detail_has_its_figures(run: Run, samples: pathlib.Path, detail: str) -> None:
    regions = regions_of(run, samples, f"--regions={detail}", "--iterations", "5")
    assert regions["detail"] == detail
    assert regions["per_inference"] == len(regions["rows"]) > 0
    for row in regions["rows"]:
        if isinstance(row["wall_ns"], dict):
            assert row["wall_ns"]["status"] == "below_resolution"
        assert row["requested"] == 2
        if detail == "wall":
            assert row["busy_ns"]["status"] == "not_requested"
        else:
            assert len(row["busy_ns"]) == len(row["participants"])
            assert len(row["busy_ns"]) <= 2
        if detail == "cpu":
            if isinstance(row["worker_cpu_ns"], dict):  # too short to read that clock
                assert row["worker_cpu_ns"]["status"] == "below_resolution"
            else:
                assert len(row["worker_cpu_ns"]) == len(row["busy_ns"])
        else:
            assert row["process_cpu_ns"]["status"] == "not_requested"


def test_regions_are_off_by_default(run: Run, samples: pathlib.Path) -> None:
    assert regions_of(run, samples, "--iterations", "3")["status"] == "not_requested"
