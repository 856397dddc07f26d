"""Delegates through the command: levels, our OpenVINO delegate and the stock one, sidecars."""

from __future__ import annotations

import collections
import json
import pathlib
import re
import subprocess
from typing import Any

import pytest
from conftest import BUILD, Run, load
from trace_processor import open_trace

RUNS = 8
LENGTH = ("--iterations", RUNS, "--warmup", 2)
LEVELS = ("off", "delegate", "phases", "layers")
PHASES = {
    "blocking": ["openvino.input_binding", "openvino.output_binding", "openvino.infer_host"],
    "async": [
        "openvino.input_binding",
        "openvino.output_binding",
        "openvino.enqueue_host",
        "openvino.synchronize",
    ],
}

Result = dict[str, Any]


def perf(run: Run, model: pathlib.Path, folder: pathlib.Path, *flags: Any) -> Result:
    output = folder / "result.json"
    done = run("perf", model, *LENGTH, *flags, "--output", output, "--force", "--quiet")
    assert done.returncode == 0, done.stderr
    result: Result = load(output)
    return result


def names(result: Result, prefix: str = "openvino.") -> list[str]:
    return [row["name"] for row in result["ops"] if row["name"].startswith(prefix)]


def layers(result: Result) -> list[Result]:
    return [layer for delegate in result["delegates"] for layer in delegate["layers"]]


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_has_exactly_its_events(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path, level: str
) -> None:
    result = perf(run, mixed_samples / "openvino_small.pte", tmp_path, "--level", level)
    whole = ["openvino.delegate"]
    expected = {
        "off": [],
        "delegate": whole,
        "phases": whole + PHASES["blocking"],
        "layers": [*whole, *PHASES["blocking"], "openvino.layer_report"],
    }
    assert names(result) == expected[level]
    assert result["settings"]["level"] == level


def test_layers_are_the_engines_own_and_add_no_row_below_them(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    model = mixed_samples / "openvino_large.pte"
    assert layers(perf(run, model, tmp_path, "--level", "phases")) == []
    found = layers(perf(run, model, tmp_path, "--level", "layers"))
    assert len(found) > 100
    assert {row["kind"] for row in found} == {"engine_reported"}


def test_async_has_an_enqueue_and_a_wait_instead_of_one_blocking_call(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    flags = ("--level", "phases", "--delegate", "openvino=async")
    result = perf(run, mixed_samples / "openvino_small.pte", tmp_path, *flags)
    assert names(result) == ["openvino.delegate", *PHASES["async"]]


@pytest.mark.parametrize("program", ["openvino_small", "openvino_twins", "mixed"])
def test_outputs_are_the_stock_delegates_at_every_level_and_in_every_way(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path, program: str
) -> None:
    model = mixed_samples / f"{program}.pte"
    ways = [("--delegate", "openvino=stock"), ("--delegate", "openvino=async")]
    ways += [("--level", level) for level in LEVELS]
    hashes = set()
    for way in ways:
        outputs = perf(run, model, tmp_path, *way)["outputs"]
        assert outputs["profiled_equal"] is True, way
        hashes.add(tuple(outputs["sha256"]))
    assert len(hashes) == 1


def test_the_stock_delegate_is_watched_from_outside(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    model = mixed_samples / "openvino_small.pte"
    result = perf(run, model, tmp_path, "--delegate", "openvino=stock", "--level", "layers")
    assert names(result, "openvino") == ["openvinobackend.delegate"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_compile_spec_holds_where_no_option_is_given(
    mixed_samples: pathlib.Path, level: str
) -> None:
    """As ExecuTorch's own runner would load it: with no option at all."""
    program = mixed_samples / f"openvino_small_{level}.pte"
    done = subprocess.run(
        [str(BUILD / "tests" / "run_program"), str(program), "2"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    counts = collections.Counter(json.loads(done.stdout)["events"])
    assert counts["openvino.delegate"] == (0 if level == "off" else 2)
    assert counts["openvino.infer_host"] == (2 if level in ("phases", "layers") else 0)
    assert counts["openvino.layer_report"] == (2 if level == "layers" else 0)


def test_async_holds_as_a_compile_spec(mixed_samples: pathlib.Path) -> None:
    done = subprocess.run(
        [
            str(BUILD / "tests" / "run_program"),
            str(mixed_samples / "openvino_small_async.pte"),
            "2",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    counts = collections.Counter(json.loads(done.stdout)["events"])
    assert [name for name in counts if counts[name] == 2] == ["openvino.delegate", *PHASES["async"]]


@pytest.mark.parametrize(
    ("flags", "way"),
    [
        ((), "async"),
        (("--delegate", "openvino=ours"), "blocking"),
        (("--delegate", "openvino=async"), "async"),
    ],
)
def test_a_program_that_waits_apart_does_so_unless_another_way_is_chosen(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path, flags: list[str], way: str
) -> None:
    model = mixed_samples / "openvino_small_async.pte"
    result = perf(run, model, tmp_path, "--level", "phases", *flags)
    assert names(result) == ["openvino.delegate", *PHASES[way]]


def test_an_option_overrides_the_compile_spec(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    model = mixed_samples / "openvino_small_layers.pte"
    assert names(perf(run, model, tmp_path, "--level", "off")) == []
    verbose = mixed_samples / "openvino_small_verbose.pte"
    assert names(perf(run, verbose, tmp_path, "--level", "delegate")) == ["openvino.delegate"]


def test_a_bad_level_in_a_program_is_told_in_full(
    mixed_samples: pathlib.Path,
) -> None:
    done = subprocess.run(
        [str(BUILD / "tests" / "run_program"), str(mixed_samples / "openvino_small_verbose.pte")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert (
        'openvino_profile_level: "verbose" is not one of off, delegate, phases, layers'
        in done.stderr
    )


def openvino_events(folder: pathlib.Path) -> collections.Counter[tuple[str, int]]:
    """(name, instruction) -> events, as ExecuTorch's Inspector finds them."""
    from executorch.devtools import Inspector

    counts: collections.Counter[tuple[str, int]] = collections.Counter()
    for block in Inspector(etdump_path=str(folder / "run.etdp")).event_blocks:
        if block.name != "Execute":
            continue
        for event in block.events:
            if event.is_delegated_op:
                counts[event.name, event._instruction_id] += len(event.perf_data.raw)
    return counts


def test_two_delegates_in_one_etdump_do_not_disturb_each_other(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Inspector sees of both what it sees of each where the other was off."""
    model = mixed_samples / "mixed.pte"
    seen = {}
    for which, flags in {
        "both": ("--level", "phases"),
        "xnnpack": ("--level", "phases", "--level", "openvino=off"),
        "openvino": ("--level", "phases", "--level", "xnnpackbackend=off"),
    }.items():
        folder = tmp_path / which
        folder.mkdir()
        perf(run, model, folder, *flags, "--etdump", folder / "run.etdp")
        seen[which] = openvino_events(folder)
    assert sum(seen["openvino"].values()) == RUNS * 6 * 4
    assert all(name.startswith("openvino.") for name, _ in seen["openvino"])
    assert not any(name.startswith("openvino.") for name, _ in seen["xnnpack"])
    assert sum(count for (name, _), count in seen["xnnpack"].items() if ".delegate" in name)
    assert seen["both"] == seen["xnnpack"] + seen["openvino"]


def test_the_trace_has_layers_on_tracks_of_their_own(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    trace = tmp_path / "run.pftrace"
    model = mixed_samples / "openvino_large.pte"
    perf(run, model, tmp_path, "--level", "layers", "--trace", trace)
    with open_trace(trace) as opened:
        tracks = opened.query(
            """select distinct track.name as name from slice join track on slice.track_id = track.id
            where slice.category = 'delegate_op'"""
        )
        found = [track.name for track in tracks]
        assert found
        assert all("engine-reported" in name for name in found), found
        (loads,) = opened.query(
            "select count(*) as n from slice where name = 'openvino.delegate_load'"
        )
        assert loads.n == 1  # of the profiled instance: the other one is not profiled


def test_layers_of_a_running_mean_are_all_in_a_trex_profile_with_their_error(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    trace, profile = tmp_path / "run.pftrace", tmp_path / "out.trex.json"
    model, output = mixed_samples / "openvino_large.pte", tmp_path / "result.json"
    flags = ("--iterations", 2, "--level", "layers", "--quiet")
    done = run("perf", model, *flags, "--trace", trace, "--output", output)
    assert done.returncode == 0, done.stderr
    result = load(output)
    # Of few runs some means are within their error, how many is the machine's to say: those are
    # there, too (src/formats/trex/layers_of_test.cc).
    missing = [each for each in layers(result) if not isinstance(each["mean_ns"], float | int)]
    assert {each["mean_ns"]["status"] for each in missing} <= {"below_resolution"}
    converted = run("convert", trace, profile)
    assert converted.returncode == 0, converted.stderr
    assert len(load(profile)) == 1 + len(layers(result))
    metadata = load(tmp_path / "out.trex.metadata.json")
    assert metadata["of"] == "running_mean"
    assert metadata["error_ns"] >= result["delegates"][0]["layer_error_ns"]
    assert metadata["notes"] == ["reading layers adds overhead and can change scheduling"]
    shown = run("show", profile).stdout
    assert "each mean below may be off by" in shown
    assert "reading layers adds overhead" in shown


def test_layers_that_went_to_files_are_said_to_be_there(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "sidecars"
    folder.mkdir()
    flags = ("--level", "layers", "--profile-format", "trex", "--profile-path-prefix", folder)
    said = run("perf", mixed_samples / "openvino_small.pte", *LENGTH, *flags)
    assert said.returncode == 0, said.stderr
    assert "its layers went to files" in said.stdout
    off = run("perf", mixed_samples / "mixed.pte", *LENGTH, "--level", "off")
    assert "reports no operators" not in off.stdout


SIDECAR = re.compile(r"openvino_small\.forward\.[0-9a-f]{16}-0\.(.*)")


@pytest.mark.parametrize(
    ("profile_format", "level", "files"),
    [
        ("perfetto", "layers", ["trace.pftrace"]),
        ("perfetto", "delegate", ["trace.pftrace"]),
        (
            "trex",
            "layers",
            ["layers.json", "layers.metadata.json", "trace.json", "trace.metadata.json"],
        ),
        ("trex", "phases", ["trace.json", "trace.metadata.json"]),
    ],
)
def test_sidecars(
    run: Run,
    mixed_samples: pathlib.Path,
    tmp_path: pathlib.Path,
    profile_format: str,
    level: str,
    files: list[str],
) -> None:
    folder = tmp_path / "sidecars"
    folder.mkdir()
    model = mixed_samples / "openvino_small.pte"
    flags = ("--level", level, "--profile-format", profile_format, "--profile-path-prefix", folder)
    perf(run, model, tmp_path, *flags)
    found = sorted(path.name for path in folder.iterdir())
    assert [SIDECAR.fullmatch(name).group(1) for name in found] == files  # type: ignore[union-attr]
    for path in folder.iterdir():
        if ".metadata." in path.name:
            continue
        shown = run("show", path)
        assert shown.returncode == 0, shown.stderr
    # A second time they exist: refused, before anything is measured; with --force replaced.
    again = run("perf", model, *LENGTH, *flags)
    assert again.returncode != 0
    assert "exists" in again.stderr
    assert run("perf", model, *LENGTH, *flags, "--force").returncode == 0


def test_a_timeline_has_every_layer_in_its_call(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The first layer is drawn where the call begins, and belongs to it."""
    model = mixed_samples / "openvino_large.pte"
    counts = []
    for profile_format, convert in (("trex", False), ("perfetto", True)):
        folder = tmp_path / profile_format
        folder.mkdir()
        flags = ("--profile-format", profile_format, "--profile-path-prefix", folder)
        perf(run, model, tmp_path, "--level", "layers", *flags)
        layers_file = next(folder.glob("*.layers.json"), folder / "converted.json")
        if convert:
            (trace,) = folder.glob("*.trace.pftrace")
            shown = run("show", trace)
            assert "reported outside any delegate call" not in shown.stdout
            done = run("convert", trace, layers_file, "--to", "trex")
            assert done.returncode == 0, done.stderr
        counts.append(len(load(layers_file)))
    assert counts[0] == counts[1] > 100


def test_equal_engines_have_files_of_their_own(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "sidecars"
    folder.mkdir()
    flags = ("--level", "layers", "--profile-format", "trex", "--profile-path-prefix", folder)
    perf(run, mixed_samples / "openvino_twins.pte", tmp_path, *flags)
    found = sorted(path.name for path in folder.glob("*.layers.json"))
    assert len(found) == 2
    assert found[0].replace("-0.", "-1.") == found[1]
    for path in folder.glob("*.layers.json"):
        profile = json.loads(path.read_text())
        assert profile[0]["count"] > 0


def test_each_process_has_files_of_its_own(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "sidecars"
    folder.mkdir()
    flags = ("--level", "phases", "--profile-format", "perfetto", "--profile-path-prefix", folder)
    perf(run, mixed_samples / "openvino_small.pte", tmp_path, *flags, "--processes", 2)
    found = sorted(path.name.split(".")[0] for path in folder.iterdir())
    assert found == ["openvino_small-process0", "openvino_small-process1"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--level", "verbose"], '"verbose" is not one of off, delegate, phases, layers'),
        (["--level", "openvino=all"], '"all" is not one of off, delegate, phases, layers'),
        (["--profile-format", "xml"], "xml not in {etdump,perfetto,trex}"),
        (["--profile-format", "trex"], "needs a folder"),
        (["--profile-format", "trex", "--profile-path-prefix", ""], "is empty"),
        (["--profile-format", "trex", "--profile-path-prefix", "/nowhere"], "No such file"),
        (["--profile-path-prefix", "."], "writes no files"),
        (
            ["--level", "off", "--profile-format", "trex", "--profile-path-prefix", "."],
            "at level off nothing is recorded",
        ),
        (["--delegate", "openvino=mine"], "openvino=mine not in"),
        (
            ["--delegate", "openvino=stock", "--delegate", "openvino=async"],
            "two delegates are chosen: openvino=stock and openvino=async",
        ),
        (["--level", "layers", "--level", "off"], "two levels for all delegates: layers and off"),
        (
            ["--level", "xnnpackbackend=layers", "--level", "xnnpackbackend=off"],
            "two levels of xnnpackbackend: layers and off",
        ),
        (["--level", "=layers"], 'level "=layers" names no delegate'),
        (["--level", "openvino=phases"], "the method has no such delegate"),
    ],
)
def test_wrong_usage(run: Run, samples: pathlib.Path, flags: list[str], said: str) -> None:
    done = run("perf", samples / "vision_xnnpack.pte", *flags)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("way", "opened"),
    [(None, False), ("openvino=ours", True), ("openvino=stock", True)],
)
def test_only_a_program_that_needs_openvino_opens_it(
    run: Run,
    samples: pathlib.Path,
    mixed_samples: pathlib.Path,
    tmp_path: pathlib.Path,
    way: str | None,
    opened: bool,
) -> None:
    model = samples / "vision_xnnpack.pte" if way is None else mixed_samples / "openvino_small.pte"
    env = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "loader")}
    flags = () if way is None else ("--delegate", way)
    done = run("perf", model, *LENGTH, "--quiet", *flags, env=env)
    assert done.returncode == 0, done.stderr
    loaded = "".join(path.read_text() for path in tmp_path.glob("loader.*"))
    assert "libexecutorch.so" in loaded
    assert ("libopenvino_c.so" in loaded) is opened
    assert ("libtbb.so" in loaded) is opened


def test_without_openvino_the_error_says_what_to_do(
    run: Run, mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    env = {"OPENVINO_LIB_PATH": str(tmp_path / "libopenvino_c.so")}
    done = run("perf", mixed_samples / "openvino_small.pte", *LENGTH, env=env)
    assert done.returncode == 1
    assert "OPENVINO_LIB_PATH" in done.stderr
    assert "pip install openvino==" in done.stderr


def loader_cache() -> dict[str, pathlib.Path]:
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
    lines = re.findall(r"^\s+(\S+) \(libc6,x86-64.*\) => (\S+)$", listed.stdout, re.MULTILINE)
    return {name: pathlib.Path(path) for name, path in lines}


def needed(library: pathlib.Path, cache: dict[str, pathlib.Path], seen: set[str]) -> None:
    """Names of everything that the loader would bring, transitively: as it searches, by hand.

    Not by ldd, which runs the loader of this machine in this environment, and names a library that
    it does not find without a failure.
    """
    listed = subprocess.run(
        ["readelf", "-d", "-W", str(library)], capture_output=True, text=True, check=True
    )
    folders = [
        pathlib.Path(folder.replace("$ORIGIN", str(library.resolve().parent)))
        for paths in re.findall(r"\(RU?N?PATH\).*\[(.*)\]", listed.stdout)
        for folder in paths.split(":")
    ]
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", listed.stdout):
        if name in seen:
            continue
        seen.add(name)
        found = [folder / name for folder in folders if (folder / name).exists()]
        assert found or name in cache, f"{library} needs {name}, which is nowhere"
        needed(found[0] if found else cache[name], cache, seen)


def test_the_native_part_links_neither_libtorch_nor_libc10() -> None:
    for name in (
        "inferprobe",
        "libinferprobe_delegate.so",
        "libinferprobe_delegate_openvino.so",
        "libinferprobe_engine_executorch.so",
        "libinferprobe_session.so",
    ):
        libraries: set[str] = set()
        needed(BUILD / name, loader_cache(), libraries)
        assert "libc.so.6" in libraries
        assert not [x for x in libraries if re.search(r"libtorch|libc10", x)], name
