"""`show` and `convert`, as a user calls them, on ETDumps of ExecuTorch's own ETDumpGen, on our
traces and results, and on what a killed process left."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import BUILD, SOURCE, Run

GOLDEN = SOURCE / "tests" / "golden" / "show"


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ETDumps of every odd shape, written just now by ExecuTorch."""
    folder = tmp_path_factory.mktemp("shapes")
    subprocess.run([str(BUILD / "tests" / "etdump_shapes"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def recorded(
    command: str, samples: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """One `perf` with all its files, and what it printed."""
    folder = tmp_path_factory.mktemp("recorded")
    said = subprocess.run(
        [
            *(command, "perf", str(samples / "vision_xnnpack.pte"), "--iterations", "20"),
            *("--output", "r.json", "--trace", "t.pftrace", "--etdump", "e.etdp"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder, said.stdout


def result_of(run: Run, path: Path, *flags: str) -> dict[str, Any]:
    said = run("show", path, "--format", "json", *flags)
    assert said.returncode == 0, said.stderr
    parsed: dict[str, Any] = json.loads(said.stdout)
    return parsed


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of calls of modules, of their operators and allocations, without runs."""
    folder = tmp_path_factory.mktemp("modules")
    subprocess.run([str(BUILD / "tests" / "trace_samples"), str(folder)], check=True)
    return folder / "module_tree.pftrace"


def events_of(run: Run, path: Path, *flags: str) -> list[dict[str, Any]]:
    said = run("show", path, "--events", "--format", "json", *flags)
    assert said.returncode == 0, said.stderr
    parsed: list[dict[str, Any]] = json.loads(said.stdout)
    return parsed


def statistics(result: dict[str, Any]) -> dict[str, int]:
    return {row["name"]: row["value"] for row in result["statistics"] if row["value"] != 0}


def rows(result: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in result["ops"] if row["name"] == name]


# ---- every odd shape, by ExecuTorch's own writer


def test_an_empty_block_is_listed_and_in_no_mean(run: Run, shapes: Path) -> None:
    result = result_of(run, shapes / "two_blocks_one_empty.etdp")
    blocks = [(b["name"], b["count"], b["events"]) for b in result["source"]["blocks"]]
    assert blocks == [("Default", 1, 1), ("Execute", 1, 8), ("Execute", 1, 0)]
    assert result["profiled_runs"] == 1
    assert statistics(result)["empty_block"] == 1
    shown = run("show", shapes / "two_blocks_one_empty.etdp").stdout
    assert re.search(r"Execute: 0 events", shown)


def test_times_that_cannot_be_are_counted_and_left_out(run: Run, shapes: Path) -> None:
    result = result_of(run, shapes / "times_that_cannot_be.etdp")
    assert statistics(result)["end_before_start"] == 2
    assert statistics(result)["zero_times"] == 1
    (delegate,) = result["delegates"]
    assert [layer["name"] for layer in delegate["layers"]] == ["good"]
    assert all(event["dur_ns"] < 10**9 for event in events_of(run, Path(result["source"]["path"])))


def test_delegate_id_zero_is_an_id(run: Run, shapes: Path) -> None:
    (delegate,) = result_of(run, shapes / "delegate_id_zero.etdp")["delegates"]
    assert [layer["name"] for layer in delegate["layers"]] == ["id 0", "id 7"]
    assert [layer["total_ns"] for layer in delegate["layers"]] == [30_000, 50_000]


def test_a_delegate_that_reports_nothing_has_no_inner_detail(run: Run, shapes: Path) -> None:
    (delegate,) = result_of(run, shapes / "no_inner_detail.etdp")["delegates"]
    assert delegate["layers"] == []
    assert delegate["layer_coverage"]["status"] == "unavailable"
    assert "no inner detail" in delegate["layer_coverage"]["hint"]
    assert "no inner detail" in run("show", shapes / "no_inner_detail.etdp").stdout


def test_times_of_another_clock_are_never_added(run: Run, shapes: Path) -> None:
    path = shapes / "another_clock.etdp"
    result = result_of(run, path)
    (delegate,) = result["delegates"]
    assert [layer["total_ticks"] for layer in delegate["layers"]] == [900, 300]
    assert all(layer["mean_ns"]["status"] == "unavailable" for layer in delegate["layers"])
    assert delegate["layer_coverage"]["status"] == "unavailable"
    root = result["ops"][0]
    children = [row for row in result["ops"][1:] if row.get("parent") == root["id"]]
    assert sum(row["total_ns"] for row in children) == root["total_ns"]
    ticks = [event for event in events_of(run, path) if event["category"] == "delegate_op"]
    assert {event["dur_ticks"] for event in ticks} == {100, 300}
    assert all(event["start_ns"]["status"] == "unavailable" for event in ticks)
    assert "--delegate-clock" in run("show", path).stdout


@pytest.mark.parametrize("name", ["DELEGATE_CALL", "DELEGATE_CALL@2"])
def test_a_delegates_clock_can_be_given(run: Run, shapes: Path, name: str) -> None:
    path = shapes / "another_clock.etdp"
    result = result_of(run, path, "--delegate-clock", f"{name}=250")
    (delegate,) = result["delegates"]
    assert [layer["total_ns"] for layer in delegate["layers"]] == [225_000, 75_000]
    (call,) = [row for row in result["ops"] if row["type"] == "delegate_call"]
    assert delegate["layer_coverage"] == pytest.approx(300_000 / call["total_ns"])
    assert delegate["resolution_ns"] == 250
    assert "delegate_clock" not in statistics(result)


def test_operators_of_one_name_are_two_rows(run: Run, shapes: Path) -> None:
    result = result_of(run, shapes / "no_inner_detail.etdp")
    assert [row["instruction"] for row in rows(result, "add.out")] == [0, 1]
    assert [row["calls"] for row in rows(result, "add.out")] == [3, 3]


def test_allocations_are_counted_not_shown(run: Run, shapes: Path) -> None:
    assert statistics(result_of(run, shapes / "allocations.etdp"))["other_events"] == 2


def test_a_runtime_without_its_tracer_is_said(run: Run, shapes: Path) -> None:
    shown = run("show", shapes / "no_tracer_blocks.etdp")
    assert shown.returncode == 0
    assert "ET_EVENT_TRACER_ENABLED" in shown.stdout
    said = run("show", shapes / "no_tracer.etdp")
    assert said.returncode == 1
    assert "byte 0" in said.stderr and "ET_EVENT_TRACER_ENABLED" in said.stderr


# ---- an ETDump of ExecuTorch's Python runtime


def test_executorchs_own_etdump_has_the_totals_that_inspector_sees(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    import torch
    from executorch.extension.pybindings import portable_lib
    from test_etdump import _inspect, _seen

    module = portable_lib._load_for_executorch(
        str(samples / "vision_xnnpack.pte"), enable_etdump=True
    )
    for _ in range(3):
        module.forward([torch.zeros(1, 3, 64, 64)])
    dump = tmp_path / "theirs.etdp"
    module.write_etdump_result_to_file(str(dump))

    result = result_of(run, dump)
    assert result["profiled_runs"] == 3
    assert statistics(result).keys() <= {"engine_ops_coverage"}
    theirs = _seen(_inspect(dump))
    (whole,) = [times for key, times in theirs.items() if key[2] == "Method::execute"]
    assert result["ops"][0]["total_ns"] == sum(whole)
    for row in result["ops"]:
        if row["type"] == "delegate_call":
            key = ("Execute", row["instruction"], "DELEGATE_CALL", None)
        elif row["type"] == "kernel":
            key = ("Execute", row["instruction"], row["name"], None)
        else:
            continue
        assert row["total_ns"] == sum(theirs[key]), key
    # Inspector keeps one event for each name in a block; of ours all are there.
    out = tmp_path / "out.etdp"
    assert run("convert", dump, out).returncode == 0
    assert _seen(_inspect(out)) == theirs


# ---- what the delegate kit records, by ExecuTorch's own writer


def test_two_delegates_in_one_dump_keep_their_events_apart(run: Run, shapes: Path) -> None:
    result = result_of(run, shapes / "two_delegates.etdp")
    xnnpack, openvino = result["delegates"]
    assert [layer["name"] for layer in xnnpack["layers"]] == ["conv", "pool"]
    assert [layer["total_ns"] for layer in xnnpack["layers"]] == [150_000, 90_000]
    assert xnnpack["phases"]["status"] == "not_requested"
    assert "mode" not in xnnpack and "layer_error_ns" not in xnnpack

    assert [phase["name"] for phase in openvino["phases"]] == [
        "openvino.input_binding",
        "openvino.infer_host",
    ]
    assert {phase["kind"] for phase in openvino["phases"]} == {"host_wall"}
    assert openvino["mode"] == "blocking"
    names = [layer["name"] for layer in openvino["layers"]]
    assert names == ['first "layer"', "second layer"]
    # Calls 1 to 3, in whole microseconds.
    assert openvino["layer_error_ns"] == pytest.approx(1000 * (1 + 3) / 3)
    assert [layer["mean_ns"] for layer in openvino["layers"]] == [60_000, 40_000]
    by_id = {row["id"]: row for row in result["ops"]}
    assert by_id[openvino["whole_call"]]["name"] == "openvino.delegate"
    # Layers are compared with the delegate's own event, not with reading them.
    whole = by_id[openvino["whole_call"]]["total_ns"]
    assert openvino["layer_coverage"] == pytest.approx(300_000 / whole)


def test_host_rows_of_delegates_add_up(run: Run, shapes: Path) -> None:
    result = result_of(run, shapes / "two_delegates.etdp")
    children: dict[int, int] = {}
    for row in result["ops"]:
        if "parent" in row:
            children[row["parent"]] = children.get(row["parent"], 0) + row["total_ns"]
    assert all(row["kind"] == "host_wall" for row in result["ops"])
    for row in result["ops"]:
        assert row["total_ns"] == row["self_ns"] + children.get(row["id"], 0)
    split = result["delegate_summary"]
    known = [value for value in split.values() if not isinstance(value, dict)]
    assert sum(known) == pytest.approx(result["profiled_mean_ns"])


def test_a_late_device_result_is_of_its_call_and_a_lost_one_is_missing(
    run: Run, shapes: Path
) -> None:
    path = shapes / "late_device.etdp"
    (delegate,) = result_of(run, path)["delegates"]
    assert delegate["mode"] == "asynchronous"
    device = delegate["device"]
    assert (device["clock"], device["calls"], device["missing"]) == ("cuda event", 3, 1)
    assert device["mean_ns"] == pytest.approx(202_000)
    assert delegate["layers"] == []
    events = [event for event in events_of(run, path) if event["kind"] == "device"]
    assert sorted(event["dur_ns"] for event in events) == [201_000, 202_000, 203_000]
    assert {event["track"] for event in events} == {"DELEGATE_CALL@0 (device, cuda event)"}
    shown = run("show", path).stdout
    assert "1 of 4 calls have no device time" in shown
    assert "return while work is in flight" in shown


@pytest.mark.parametrize("shape", ["two_delegates", "late_device"])
@pytest.mark.parametrize("ways", [["x.etdp"], ["x.pftrace"], ["x.pftrace", "y.etdp"]])
def test_what_the_kit_noted_survives_conversion(
    run: Run, shapes: Path, tmp_path: Path, shape: str, ways: list[str]
) -> None:
    source = shapes / f"{shape}.etdp"
    path = source
    for way in ways:
        said = run("convert", path, tmp_path / way)
        assert said.returncode == 0, said.stderr
        path = tmp_path / way

    def measured(file: Path) -> dict[str, Any]:
        result = result_of(run, file)
        rows = [*result["ops"], *(layer for d in result["delegates"] for layer in d["layers"])]
        for row in rows:
            del row["probe_cost_ns"]  # why it is not known depends on the format
        return {key: result[key] for key in ("ops", "delegates", "delegate_summary")}

    assert measured(path) == measured(source)
    assert result_of(run, path)["load_ms"] == result_of(run, source)["load_ms"]


def test_loading_a_delegate_is_a_part_of_loading(run: Run, shapes: Path) -> None:
    path = shapes / "two_delegates.etdp"
    loads = {e["name"]: e for e in events_of(run, path) if e["category"] == "load"}
    assert set(loads) == {"Method::init", "openvino.delegate_load"}
    assert loads["openvino.delegate_load"]["parent"] == loads["Method::init"]["id"]
    assert result_of(run, path)["load_ms"] == pytest.approx(loads["Method::init"]["dur_ns"] / 1e6)


# ---- golden: files that ETDumpGen wrote once, and what `show` says of them


def golden_cases() -> list[Path]:
    return sorted(GOLDEN.glob("*.cmd"))


@pytest.mark.parametrize("case", golden_cases(), ids=lambda path: path.stem)
def test_golden(run: Run, case: Path) -> None:
    """NAME.cmd holds arguments, NAME.out what the command prints, on both streams, and its exit
    code. INFERPROBE_UPDATE_GOLDEN=1 writes the latter."""
    said = run(*case.read_text().split(), cwd=GOLDEN)
    text = f"{said.stdout}{said.stderr}exit {said.returncode}\n"
    expected = case.with_suffix(".out")
    if os.environ.get("INFERPROBE_UPDATE_GOLDEN"):
        expected.write_text(text)
    assert text == expected.read_text()


# ---- what inferprobe wrote itself


def test_a_result_shows_what_perf_printed(run: Run, recorded: tuple[Path, str]) -> None:
    folder, printed = recorded
    shown = run("show", "r.json", cwd=folder)
    assert shown.stdout == printed[: printed.index("\nwrote ")]
    as_json = run("show", "r.json", "--format", "json", cwd=folder)
    assert as_json.stdout == (folder / "r.json").read_text()


def test_a_trace_has_the_rows_of_its_result(run: Run, recorded: tuple[Path, str]) -> None:
    folder, _ = recorded
    result = json.loads((folder / "r.json").read_text())
    trace = result_of(run, folder / "t.pftrace")
    assert trace["ops"] == result["ops"]
    assert trace["delegates"] == result["delegates"]
    assert trace["latency_ms"] == result["latency_ms"]
    assert trace["perturbation"] == result["perturbation"]
    assert trace["load_ms"] == result["load_ms"]
    assert trace["tool"]["run_id"] == result["tool"]["run_id"]


def test_an_etdump_has_the_operators_of_its_result(run: Run, recorded: tuple[Path, str]) -> None:
    folder, _ = recorded
    result = json.loads((folder / "r.json").read_text())
    dump = result_of(run, folder / "e.etdp")
    kinds = ("operator_call", "kernel", "delegate_call")

    def totals(of: dict[str, Any]) -> list[tuple[int, int]]:
        return [(r["instruction"], r["total_ns"]) for r in of["ops"] if r["type"] in kinds]

    assert totals(dump) == totals(result)
    layers = [[row["total_ns"] for row in d["layers"]] for d in dump["delegates"]]
    assert layers == [[row["total_ns"] for row in d["layers"]] for d in result["delegates"]]
    assert dump["latency_ms"]["count"] == 0


def test_content_decides_not_the_name(run: Run, recorded: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = recorded
    for name, title in [("t.pftrace", "Perfetto trace"), ("e.etdp", "ETDump")]:
        shutil.copy(folder / name, tmp_path / "wrong.json")
        assert title in run("show", "wrong.json").stdout


def test_events_agree_in_every_format(run: Run, shapes: Path) -> None:
    path = shapes / "another_clock.etdp"
    events = events_of(run, path)
    assert len(events) == 24
    said = run("show", path, "--events", "--format", "csv").stdout
    parsed = list(csv.DictReader(io.StringIO(said)))
    assert [row["name"] for row in parsed] == [event["name"] for event in events]
    assert [row["dur_ns"] for row in parsed if row["dur_ns"].isdigit()] == [
        str(event["dur_ns"]) for event in events if isinstance(event["dur_ns"], int)
    ]
    assert len(run("show", path, "--events").stdout.splitlines()) == 25
    assert len(run("show", path, "--events", "--format", "markdown").stdout.splitlines()) == 26
    starts = [e["start_ns"] for e in events if isinstance(e["start_ns"], int)]
    assert starts == sorted(starts)


def leave_behind(ring: Path, *arguments: str) -> None:
    """Runs a process that records into `ring`, and kills it."""
    program = BUILD / "tests" / "record_and_wait"
    with subprocess.Popen([program, ring, *arguments], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"recorded\n"
        child.send_signal(signal.SIGKILL)


def test_a_killed_process_leaves_what_it_had_recorded(run: Run, tmp_path: Path) -> None:
    ring = tmp_path / "killed.ring"
    leave_behind(ring, "1000")
    events = events_of(run, ring)
    assert len([e for e in events if e["name"] == "step"]) == 1000
    shown = run("show", ring)
    assert "inferprobe recording" in shown.stdout and "step" in shown.stdout
    converted = run("convert", ring, "out.pftrace")
    assert converted.returncode == 0, converted.stderr
    assert len(events_of(run, tmp_path / "out.pftrace")) == len(events)
    # There is no run of a model in it.
    said = run("convert", ring, "out.etdp")
    assert said.returncode == 1 and "holds no profiled run" in said.stderr
    assert not (tmp_path / "out.etdp").exists()


def test_a_killed_process_leaves_the_inside_of_its_inferences(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    ring = tmp_path / "killed.ring"
    leave_behind(ring, "7", str(samples / "vision_xnnpack.pte"))
    result = result_of(run, ring)
    assert result["profiled_runs"] == 7
    assert len([row for row in result["ops"] if row["type"] == "delegate_call"]) == 2
    root = result["ops"][0]
    children = [row for row in result["ops"][1:] if row.get("parent") == root["id"]]
    assert sum(row["total_ns"] for row in children) == root["total_ns"]
    said = run("convert", ring, "out.etdp")
    assert said.returncode == 0, said.stderr
    assert "not_in_format" in said.stdout  # the user's scopes
    assert result_of(run, tmp_path / "out.etdp")["profiled_runs"] == 7


# ---- convert


def test_convert_round_trips(run: Run, recorded: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = recorded
    steps = [
        (folder / "e.etdp", "a.pftrace"),
        (tmp_path / "a.pftrace", "b.etdp"),
        (tmp_path / "b.etdp", "c.json"),
        (tmp_path / "c.json", "d.json"),
        (folder / "t.pftrace", "e.etdp"),
    ]
    for source, target in steps:
        said = run("convert", source, target)
        assert said.returncode == 0, said.stderr
        assert target in said.stdout
    assert (tmp_path / "b.etdp").read_bytes() == (folder / "e.etdp").read_bytes()
    assert (tmp_path / "e.etdp").read_bytes() == (folder / "e.etdp").read_bytes()
    assert (tmp_path / "c.json").read_bytes() == (tmp_path / "d.json").read_bytes()


def test_ticks_survive_a_perfetto_trace(run: Run, shapes: Path, tmp_path: Path) -> None:
    source = shapes / "another_clock.etdp"
    assert run("convert", source, "a.pftrace").returncode == 0
    assert run("convert", "a.pftrace", "b.etdp").returncode == 0
    assert result_of(run, tmp_path / "b.etdp")["delegates"] == result_of(run, source)["delegates"]


def test_converting_does_not_make_a_lossy_run_whole(run: Run, shapes: Path, tmp_path: Path) -> None:
    from test_etdump import _inspect

    lossy = shapes / "times_that_cannot_be.etdp"
    said = run("convert", lossy, "a.etdp")
    assert said.returncode == 0 and "1  incomplete_run" in said.stdout
    assert run("convert", "a.etdp", "b.pftrace").returncode == 0
    assert run("convert", "b.pftrace", "c.etdp").returncode == 0
    assert (tmp_path / "c.etdp").read_bytes() == (tmp_path / "a.etdp").read_bytes()
    source = result_of(run, lossy)
    for name in ["a.etdp", "b.pftrace", "c.etdp"]:
        made = result_of(run, tmp_path / name)
        for mine, theirs in zip(made["ops"], source["ops"], strict=True):
            # Why that is not known differs by format.
            assert mine | {"probe_cost_ns": None} == theirs | {"probe_cost_ns": None}, name
        assert made["delegates"] == source["delegates"], name
        assert statistics(made)["incomplete_run"] == 1, name
        said = run("show", name, "--strict")
        assert said.returncode == 1 and "1 incomplete_run" in said.stderr, name
        for target in ["x.pftrace", "x.etdp", "x.json"]:
            said = run("convert", name, target, "--strict", "--force")
            assert said.returncode == 1, (name, target)
    # Inspector takes the name as it is.
    blocks = [block.name for block in _inspect(tmp_path / "a.etdp").event_blocks]
    assert blocks == ["Execute (lost events: end_before_start)"]


@pytest.mark.parametrize(
    "shape",
    [
        "two_blocks_one_empty",
        "delegate_id_zero",
        "another_clock",
        "no_inner_detail",
        "two_delegates",
    ],
)
def test_inspector_sees_the_same_after_a_round_trip(
    run: Run, shapes: Path, tmp_path: Path, shape: str
) -> None:
    from test_etdump import _inspect, _seen

    out = tmp_path / "out.etdp"
    said = run("convert", shapes / f"{shape}.etdp", out)
    assert said.returncode == 0, said.stderr
    before = _seen(_inspect(shapes / f"{shape}.etdp"))
    # A block without events has nothing to write.
    assert _seen(_inspect(out)) == {key: times for key, times in before.items() if times}


def test_the_format_is_by_the_ending_or_by_to(run: Run, shapes: Path) -> None:
    source = shapes / "no_inner_detail.etdp"
    assert run("convert", source, "x.bin").returncode == 2
    assert "--to" in run("convert", source, "x.bin").stderr
    assert run("convert", source, "x.bin", "--to", "perfetto").returncode == 0
    assert "Perfetto trace" in run("show", "x.bin").stdout
    assert run("convert", source, "y.perfetto-trace").returncode == 0
    assert "Perfetto trace" in run("show", "y.perfetto-trace").stdout
    said = run("convert", source, "y.bin", "--to", "rings")
    assert said.returncode == 2 and "etdump, trex, json, perfetto" in said.stderr


def test_endings_of_later_formats_are_refused(run: Run, shapes: Path, tmp_path: Path) -> None:
    for name in ["x.chrome.json", "x.node.json"]:
        said = run("convert", shapes / "no_inner_detail.etdp", name)
        assert said.returncode == 1 and "this version does not write" in said.stderr
        assert not (tmp_path / name).exists()


def test_losses_are_said_beside_rows_for_programs(run: Run, shapes: Path) -> None:
    lossy = shapes / "times_that_cannot_be.etdp"
    for flags in [
        ["--format", "csv"],
        ["--format", "markdown"],
        ["--events"],
        ["--events", "--format", "json"],
    ]:
        said = run("show", lossy, *flags)
        assert said.returncode == 0
        assert "end_before_start" in said.stderr and "end_before_start" not in said.stdout, flags
    for flags in [[], ["--format", "json"]]:
        assert run("show", lossy, *flags).stderr == ""
    assert (
        "ET_EVENT_TRACER_ENABLED"
        in run("show", shapes / "no_tracer_blocks.etdp", "--format", "csv").stderr
    )


def test_nothing_is_overwritten_unasked(run: Run, shapes: Path, tmp_path: Path) -> None:
    source = shapes / "no_inner_detail.etdp"
    (tmp_path / "out.json").write_text("mine")
    said = run("convert", source, "out.json")
    assert said.returncode == 2 and "out.json" in said.stderr
    assert (tmp_path / "out.json").read_text() == "mine"
    assert run("convert", source, "out.json", "--force").returncode == 0
    shutil.copy(source, tmp_path / "same.etdp")
    (tmp_path / "link.etdp").symlink_to("same.etdp")
    for target in ["same.etdp", "link.etdp"]:
        said = run("convert", "same.etdp", target, "--force")
        assert said.returncode == 2 and "not overwritten" in said.stderr
    assert (tmp_path / "same.etdp").read_bytes() == source.read_bytes()


def test_a_result_cannot_become_a_trace(
    run: Run, recorded: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = recorded
    for target in ["x.pftrace", "x.etdp"]:
        said = run("convert", folder / "r.json", target)
        assert said.returncode == 1 and "figures" in said.stderr
        assert not (tmp_path / target).exists()
    assert run("show", folder / "r.json", "--events").returncode == 1


# ---- --strict, --input-unit, wrong usage


def test_strict_turns_data_loss_into_a_failure(run: Run, shapes: Path) -> None:
    lossy = shapes / "times_that_cannot_be.etdp"
    assert run("show", lossy).returncode == 0
    said = run("show", lossy, "--strict")
    assert said.returncode == 1
    assert "2 end_before_start, 1 zero_times" in said.stderr
    assert said.stdout == run("show", lossy).stdout
    assert run("show", lossy, "--events", "--strict").returncode == 1
    assert run("convert", lossy, "out.json", "--strict").returncode == 1
    assert run("show", shapes / "no_inner_detail.etdp", "--strict").returncode == 0
    assert run("show", shapes / "no_tracer_blocks.etdp", "--strict").returncode == 1


def test_the_unit_of_an_etdump_can_be_given(
    run: Run, shapes: Path, recorded: tuple[Path, str]
) -> None:
    path = shapes / "no_inner_detail.etdp"
    plain = result_of(run, path)["ops"][0]["total_ns"]
    assert result_of(run, path, "--input-unit", "us")["ops"][0]["total_ns"] == plain * 1000
    assert result_of(run, path, "--input-unit", "1000")["ops"][0]["total_ns"] == plain * 1000
    folder, _ = recorded
    for other in ["t.pftrace", "r.json"]:
        said = run("show", folder / other, "--input-unit", "us")
        assert said.returncode == 2 and "unit" in said.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show"], "show needs a file"),
        (["convert", "a"], "convert needs a file to read and one to write"),
        (["show", "x.etdp", "--input-unit", "weeks"], '"weeks" is no unit'),
        (["show", "x.etdp", "--input-unit", "-1"], '"-1" is no unit'),
        (["show", "x.etdp", "--input-unit", "nan"], '"nan" is no unit'),
        (["show", "x.etdp", "--delegate-clock", "QNN"], "is not NAME=NS_PER_TICK"),
        (["show", "x.etdp", "--delegate-clock", "QNN=0"], "is not NAME=NS_PER_TICK"),
        (["show", "x.etdp", "--delegate-clock", "=5"], "is not NAME=NS_PER_TICK"),
        (["show", "x.etdp", "--format", "xml"], "--format"),
        (["convert", "x.etdp", "y.etdp", "--to", "chrome"], "there is no such format"),
        (["convert", "x.etdp", "-", "--to", "json"], 'must be a file, not "-"'),
    ],
)
def test_wrong_usage_is_exit_2(run: Run, arguments: list[str], says: str) -> None:
    said = run(*arguments)
    assert said.returncode == 2, said.stderr
    assert says in said.stderr
    assert said.stdout == ""


def test_a_clock_for_no_delegate_names_those_there_are(run: Run, shapes: Path) -> None:
    said = run("show", shapes / "another_clock.etdp", "--delegate-clock", "QNN=3")
    assert said.returncode == 2
    assert 'no delegate of the name "QNN"' in said.stderr
    assert "DELEGATE_CALL@2" in said.stderr
    said = run(
        *["show", shapes / "another_clock.etdp", "--delegate-clock", "DELEGATE_CALL=3"],
        *["--delegate-clock", "DELEGATE_CALL@2=3"],
    )
    assert said.returncode == 2 and "two clocks" in said.stderr


def test_files_that_are_nothing_we_know(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello, world")
    (tmp_path / "empty").write_text("")
    (tmp_path / "zeros").write_bytes(bytes(4096))
    (tmp_path / "folder").mkdir()
    for name, code, says in [
        ("text", 1, 'text: byte 0: begins with "hello, world"'),
        ("empty", 1, "empty: byte 0: the file is empty"),
        ("zeros", 1, "zeros: byte 0: begins with"),
        ("folder", 1, "folder is a folder"),
        ("missing", 1, "missing"),
    ]:
        said = run("show", name)
        assert said.returncode == code, name
        assert says in said.stderr, said.stderr
        assert said.stdout == ""


def test_a_full_disk_is_an_error(command: str, shapes: Path) -> None:
    with Path("/dev/full").open("w") as full:
        said = subprocess.run(
            [command, "show", str(shapes / "no_inner_detail.etdp"), "--events"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert said.returncode == 1
    assert "No space left" in said.stderr


def test_every_statistic_is_in_the_docs(run: Run, shapes: Path) -> None:
    page = (SOURCE / "docs" / "measure" / "statistics.md").read_text().splitlines()
    result = result_of(run, shapes / "no_inner_detail.etdp")
    listed = [
        f"| `{row['name']}` | {row['severity']} | {row['blame']} | {row['advice']} |"
        for row in result["statistics"]
    ]
    assert [line for line in page if line.startswith("| `")] == listed


def test_modules_of_a_trace_are_a_tree(run: Run, modules: Path) -> None:
    said = run("show", modules)
    assert said.returncode == 0, said.stderr
    assert "model      Net   PyTorch 2.13.0 · 3 modules" in said.stdout
    assert re.search(r"\n  ├── conv +Conv2d +2 \(1 raised\) +0 ns +1\.00 us +1\.00 us", said.stdout)
    assert "\n  └── conv_again is conv again\n" in said.stdout
    assert "not covered: head: scripted: it has no forward of Python" in said.stdout
    # Its calls and operators are in that table, and in no other.
    assert "aten::conv2d" not in said.stdout and "on main" not in said.stdout


def test_modules_are_rows_for_programs(run: Run, modules: Path) -> None:
    result = result_of(run, modules)
    conv = result["modules"][1]
    assert (conv["path"], conv["also"], conv["calls"], conv["raised"]) == (
        "conv",
        ["conv_again"],
        2,
        1,
    )
    assert [op["name"] for op in conv["operators"]] == ["aten::conv2d"]
    assert conv["self_cpu_bytes"] == 2 * (4096 - 1024)
    assert conv["total_device_ns"] == 2 * 800
    assert result["module_summary"]["clock_error_ns"] == 250
    rows = list(csv.DictReader(io.StringIO(run("show", modules, "--format", "csv").stdout)))
    assert [row["path"] for row in rows] == ["", "conv", "head"]
    assert rows[0]["total_cpu_ns"] == "1800"
    assert run("show", modules, "--format", "markdown").stdout.count("\n") == 2 + 3


def test_modules_stay_the_same_in_every_format(run: Run, modules: Path, tmp_path: Path) -> None:
    shown = run("show", modules).stdout
    for name in ("again.pftrace", "result.json"):
        assert run("convert", modules, tmp_path / name).returncode == 0
        said = run("show", tmp_path / name).stdout
        assert said.split("\n", 1)[1] == shown.split("\n", 1)[1], name
    assert (tmp_path / "again.pftrace").read_bytes() == modules.read_bytes()
    # An ETDump consists of runs; what it has no place for is refused, not dropped.
    assert run("convert", modules, tmp_path / "x.etdp").returncode == 1
