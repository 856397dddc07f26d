"""Parallel regions of a result, as `show` prints them in each format.

Needs the test program `result_samples` of a build with tests (see conftest.py).
"""

import csv
import io
import json
import pathlib
import subprocess

import pytest
from conftest import BUILD, SAMPLES, Run


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    program = BUILD / "tests" / "result_samples"
    if not program.exists():
        pytest.skip(f"{program} is not built: make test builds it")
    folder = tmp_path_factory.mktemp("results")
    subprocess.run([program, folder], check=True)
    return folder


def test_show_has_them_among_the_rest(run: Run, results: pathlib.Path) -> None:
    shown = run("show", results / "regions.json")
    assert shown.returncode == 0
    assert "\nthreads (4 parallel regions a run; host wall, busy per participant)\n" in shown.stdout
    assert "where the time goes" in shown.stdout
    assert "(an upper bound, not a saving)" in shown.stdout


def test_idle_in_regions_and_in_the_run_are_told_apart(run: Run, results: pathlib.Path) -> None:
    lines = run("show", results / "regions.json", "--regions").stdout.splitlines()
    assert lines[1].startswith("  in regions: efficiency 77 % of 2 threads · 1.68 ms of idle")
    assert lines[2].startswith("  in the observable 98.5 % of the run: efficiency 51 % · 131 ms of")


def test_show_regions_has_them_alone(run: Run, results: pathlib.Path) -> None:
    shown = run("show", results / "regions.json", "--regions")
    assert shown.returncode == 0
    assert shown.stdout.startswith("threads (4 parallel regions a run")
    assert "where the time goes" not in shown.stdout


def test_rows_are_there_for_machines(run: Run, results: pathlib.Path) -> None:
    expected = json.loads((results / "regions.json").read_text())["regions"]["rows"]
    text = run("show", results / "regions.json", "--regions", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["idle_core_ns"]) for row in rows] == [row["idle_core_ns"] for row in expected]
    assert rows[0]["process_cpu_ns"] == "n/a (not requested)"
    assert [row["operator"] for row in rows] == [
        "aten::mul.out" if row["where"] == "parallel_for" else "XnnpackBackend #0" for row in rows
    ]
    listed = json.loads(
        run("show", results / "regions.json", "--regions", "--format", "json").stdout
    )
    assert [row["wall_ns"] for row in listed] == [row["wall_ns"] for row in expected]
    assert listed[0]["process_cpu_ns"]["status"] == "not_requested"
    assert [row["busy_ns"] for row in listed] == [row["busy_ns"] for row in expected]
    assert rows[0]["busy_ns"] == " ".join(f"{ns:.0f}" for ns in expected[0]["busy_ns"])


def test_without_regions_it_says_why(run: Run, results: pathlib.Path) -> None:
    shown = run("show", results / "typical.json", "--regions")
    assert shown.returncode == 0
    assert shown.stdout == "parallel regions: n/a (not requested: perf --regions)\n"


def test_regions_and_events_exclude_each_other(run: Run, results: pathlib.Path) -> None:
    assert run("show", results / "regions.json", "--regions", "--events").returncode == 2


# Without busy times, operators that have no loop would be the only ones in a table by idleness.
def test_wall_alone_has_no_table_of_operators(run: Run) -> None:
    done = run("perf", SAMPLES / "text_portable.pte", "--regions=wall", "--iterations", 2)
    assert done.returncode == 0, done.stderr
    assert "operators by idle core-time, a run" not in done.stdout
    assert (
        "\n  operators by idle core-time: n/a (not requested: --regions=busy sees who took part)\n"
        in done.stdout
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--regions=wall", "--regions=cpu"], "--regions: At Most 1 required but received 2"),
        (["--regions", "--regions=busy"], "--regions: At Most 1 required but received 2"),
        (["--regions="], "--regions: its value is empty: wall, busy or cpu"),
        (["--regions=all"], "--regions: all not in {wall,busy,cpu}"),
        (["--regions", "busy"], 'it takes its value behind "=": --regions=busy'),
    ],
)
def test_how_closely_is_said_once_and_behind_a_sign(
    run: Run, flags: list[str], message: str
) -> None:
    for words in [["model.pte", *flags], [*flags, "model.pte"]]:
        done = run("perf", *words)
        assert done.returncode == 2
        assert message in done.stderr


def test_a_model_may_be_named_like_the_flag(run: Run) -> None:
    done = run("perf", "--", "--regions=")
    assert done.returncode == 1
    assert "cannot open --regions=" in done.stderr
