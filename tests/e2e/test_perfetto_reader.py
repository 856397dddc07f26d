"""What inferprobe reads from Perfetto traces, against Perfetto's own trace_processor.

The traces are those that inferprobe writes (trace_samples) and the foreign ones that
tests/fixtures/perfetto/make.py makes with Perfetto's own messages.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from trace_processor import open_trace

_ROOT = Path(__file__).resolve().parents[2]
_BUILD = Path(os.environ.get("INFERPROBE_BUILD", _ROOT / "build" / "test")).resolve()
_FIXTURES = _ROOT / "tests" / "fixtures" / "perfetto"

# Slices of one track: how many of each name, and how long together.
Tracks = dict[str, dict[str, tuple[int, int]]]

_SLICES = """
SELECT ifnull(thread.name, ifnull(track.name, ifnull(process.name, ''))) AS track,
       ifnull(thread.tid, 0) AS tid, s.name, s.dur
FROM slice s
JOIN track ON track.id = s.track_id
LEFT JOIN thread_track ON thread_track.id = s.track_id
LEFT JOIN thread USING (utid)
LEFT JOIN process_track ON process_track.id = s.track_id
LEFT JOIN process ON process.upid = process_track.upid
"""


def _sum(rows: list[tuple[str, str, int]]) -> Tracks:
    tracks: Tracks = defaultdict(dict)
    for track, name, dur in rows:
        count, total = tracks[track].get(name, (0, 0))
        tracks[track][name] = (count + 1, total + dur)
    return dict(tracks)


def _of_perfetto(path: Path, instants: set[str]) -> Tracks:
    rows = []
    with open_trace(path) as trace:
        for row in trace.query(_SLICES):
            track = row.track or f"thread {row.tid}"
            if row.dur >= 0 and row.name not in instants:  # -1: it never ended
                rows.append((track, row.name, row.dur))
    return _sum(rows)


def _events(command: str, path: Path) -> list[dict[str, Any]]:
    shown = subprocess.run(
        [command, "show", str(path), "--events", "--format", "json"],
        check=True,
        capture_output=True,
        timeout=60,
    )
    rows: list[dict[str, Any]] = json.loads(shown.stdout)
    return rows


def _of_inferprobe(command: str, path: Path) -> Tracks:
    return _sum([(row["track"], row["name"], row["dur_ns"]) for row in _events(command, path)])


@pytest.mark.parametrize(
    ("name", "slices", "instants"),
    [
        ("sdk", 54, {"vsync"}),
        ("legacy", 40, {"Mark"}),
        ("android", 10, set()),
        ("lossy", 2, set()),
    ],
)
def test_foreign_traces_are_read_as_perfetto_reads_them(
    command: str, name: str, slices: int, instants: set[str]
) -> None:
    path = _FIXTURES / f"{name}.pftrace"
    ours = _of_inferprobe(command, path)
    assert ours == _of_perfetto(path, instants)
    assert sum(count for track in ours.values() for count, _ in track.values()) == slices


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces")
    subprocess.run([str(_BUILD / "tests" / "trace_samples"), str(path)], check=True)
    return path


@pytest.mark.parametrize("name", ["inference", "piecewise", "trees3", "late_parents", "huge_times"])
def test_our_traces_are_read_as_perfetto_reads_them(command: str, folder: Path, name: str) -> None:
    truth = json.loads((folder / f"{name}.json").read_text())
    path = folder / truth["trace"]
    suffix = " (engine-reported, start times not measured)"
    perfetto = {
        track.removesuffix(suffix): rows for track, rows in _of_perfetto(path, {"notes"}).items()
    }
    ours = _of_inferprobe(command, path)
    for rows in ours.values():  # `show` names an operator without a name by its number
        if "id 7" in rows:
            rows[""] = rows.pop("id 7")
    assert ours == perfetto
    _expect_the_figures_of(truth["slices"], _result(command, path))


def _result(command: str, path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(_run(command, "show", path, "--format", "json"))
    return result


def _expect_the_figures_of(slices: list[dict[str, Any]], result: dict[str, Any]) -> None:
    """Runs, and the rows' times, are those of all slices: nothing was lost, in pieces or not."""
    runs = sum(row["category"] == "run" and "run" in row["args"] for row in slices)
    assert result.get("profiled_runs", 0) == runs
    lost = {row["name"] for row in result["statistics"] if row["value"] != 0}
    assert "incomplete_run" not in lost
    if runs == 0:
        return
    for category in ("operator_call", "kernel", "delegate_call"):
        recorded = [row["dur"] for row in slices if row["category"] == category]
        rows = [row for row in result["ops"] if row["type"] == category]
        assert sum(row["total_ns"] for row in rows) == sum(recorded) > 0
        assert sum(row["calls"] for row in rows) == len(recorded)


def test_overlapping_slices_come_back_to_their_track(command: str, folder: Path) -> None:
    events = _events(command, folder / "overlaps.pftrace")
    assert {row["name"]: row["track"] for row in events} == {
        "op a": "npu",
        "op b": "npu",
        "op c": "npu",
        "call": "worker",
    }


_ETDUMPS = [
    path
    for path in sorted((_ROOT / "tests" / "golden" / "show").glob("*.etdp"))
    if path.stem not in ("cut", "wrong_identifier", "no_tracer_blocks")
]


def _run(*command: str | Path) -> str:
    done = subprocess.run(list(command), check=True, capture_output=True, timeout=60, text=True)
    return done.stdout


@pytest.mark.parametrize("etdump", _ETDUMPS, ids=lambda path: path.stem)
def test_a_converted_etdump_is_read_by_perfetto_as_by_us(
    command: str, tmp_path: Path, etdump: Path
) -> None:
    trace = tmp_path / "t.pftrace"
    _run(command, "convert", etdump, trace)
    ours: dict[str, tuple[int, int]] = {}
    for row in _events(command, etdump):
        # `show` names what has no name by its number; ticks are no times.
        name = "" if re.fullmatch(r"id -?\d+", row["name"]) else row["name"]
        dur = row["dur_ns"] if isinstance(row["dur_ns"], int) else 0
        count, total = ours.get(name, (0, 0))
        ours[name] = (count + 1, total + dur)
    theirs: dict[str, tuple[int, int]] = {}
    runs = 0
    for track, rows in _of_perfetto(trace, {"notes"}).items():
        if track == "inferprobe runs":
            runs += rows["run"][0]
            continue
        for name, (count, total) in rows.items():
            known = theirs.get(name, (0, 0))
            theirs[name] = (known[0] + count, known[1] + total)
    assert theirs == ours
    result = json.loads(_run(command, "show", etdump, "--format", "json"))
    incomplete = [row["value"] for row in result["statistics"] if row["name"] == "incomplete_run"]
    assert runs >= result["profiled_runs"]
    assert runs <= result["profiled_runs"] + incomplete[0] + 1


def _shown(command: str, path: Path) -> tuple[str, dict[str, int]]:
    rows = _run(command, "show", path, "--format", "csv")
    result = json.loads(_run(command, "show", path, "--format", "json"))
    return rows, {row["name"]: row["value"] for row in result["statistics"] if row["value"]}


@pytest.mark.parametrize(
    "original", _ETDUMPS + sorted(_FIXTURES.glob("*.pftrace")), ids=lambda path: path.stem
)
def test_converted_again_rows_and_statistics_stay(
    command: str, tmp_path: Path, original: Path
) -> None:
    rows, statistics = _shown(command, original)
    said = []
    path = original
    for i in range(3):
        trace = tmp_path / f"{i}.pftrace"
        # "wrote a, of b", then the table of losses.
        said.append(_run(command, "convert", path, trace).splitlines()[1:])
        path = trace
        again = _shown(command, trace)
        assert again[0] == rows
        assert again[1] == statistics
    assert said[1] == said[0]
    assert said[2] == said[0]


@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("sdk", {"other_packets": 4, "not_in_format": 8}),
        ("counters", {"not_in_format": 69}),
        ("empty", {}),
        ("legacy", {"other_packets": 10}),
        ("android", {"other_packets": 10}),
        (
            "lossy",
            {"unbalanced_end": 1, "lost_state": 4, "unknown_clock": 1, "unfinished_slice": 1},
        ),
        (
            "hostile",
            {
                "time_out_of_range": 20,
                "truncated_file": 1,
                "damaged_packet": 3,
                "unfinished_slice": 40,
            },
        ),
    ],
)
def test_what_is_missing_is_said(command: str, name: str, losses: dict[str, int]) -> None:
    """The whole table of what was lost, as `show` has it."""
    shown = subprocess.run(
        [command, "show", str(_FIXTURES / f"{name}.pftrace"), "--format", "json"],
        check=True,
        capture_output=True,
        timeout=60,
    )
    rows = json.loads(shown.stdout)["statistics"]
    assert {row["name"]: row["value"] for row in rows if row["value"] != 0} == losses


def test_a_result_says_which_counters_it_is_without(command: str, tmp_path: Path) -> None:
    said = _run(command, "convert", _FIXTURES / "counters.pftrace", tmp_path / "c.json")
    assert re.search(r"^ +69 +not_in_format ", said, re.MULTILINE), said
    said = _run(command, "convert", _FIXTURES / "counters.pftrace", tmp_path / "c.pftrace")
    assert "not_in_format" not in said
    table = _run(command, "show", tmp_path / "c.pftrace").split("\n", 1)[1]
    original = _run(command, "show", _FIXTURES / "counters.pftrace").split("\n", 1)[1]
    assert table == original


def test_the_fixtures_are_what_their_script_makes() -> None:
    made = runpy.run_path(str(_FIXTURES / "make.py"))["ALL"]
    for name, make in made.items():
        assert (_FIXTURES / f"{name}.pftrace").read_bytes() == make(), name
    assert sum(path.stat().st_size for path in _FIXTURES.glob("*.pftrace")) < 20_000


def test_names_of_packets_are_perfettos() -> None:
    source = (_ROOT / "src/formats/perfetto/packet_fields.cc").read_text()
    ours = set(re.findall(r'\{(\d+), "(\w+)", (kVarint|kBytes)\}', source))
    lengths = {
        FieldDescriptor.TYPE_MESSAGE,
        FieldDescriptor.TYPE_BYTES,
        FieldDescriptor.TYPE_STRING,
    }
    assert ours == {
        (str(field.number), field.name, "kBytes" if field.type in lengths else "kVarint")
        for field in perfetto_trace_pb2.TracePacket.DESCRIPTOR.fields
    }
