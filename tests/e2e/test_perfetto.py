"""What Perfetto itself reads from the traces that formats/perfetto writes.

`trace_samples` writes profiles of known content, with the truth beside them as JSON. Nothing here
knows how the writer works.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from perfetto.trace_processor import TraceProcessor
from trace_processor import open_trace

_ROOT = Path(__file__).resolve().parents[2]
_BUILD = Path(os.environ.get("INFERPROBE_BUILD", _ROOT / "build" / "test")).resolve()

SAMPLES = [
    "inference",
    "piecewise",
    "trees1",
    "trees2",
    "trees3",
    "trees4",
    "trees5",
    "overlaps",
    "twins",
    "late_parents",
    "hostile_names",
    "modules",
    "huge_times",
]

# Slice, the name of what it is on, and its process. A thread's track has no name of its own.
_SLICES = """
SELECT s.id, s.name, s.category, s.ts, s.dur, s.depth, ifnull(p.name, '') AS parent,
       ifnull(s.parent_id, -1) AS parent_id, s.arg_set_id,
       ifnull(thread.name, track.name) AS track,
       ifnull(thread_process.pid, process.pid) AS pid
FROM slice s
JOIN track ON track.id = s.track_id
LEFT JOIN slice p ON p.id = s.parent_id
LEFT JOIN thread_track ON thread_track.id = s.track_id
LEFT JOIN thread USING (utid)
LEFT JOIN process thread_process ON thread_process.upid = thread.upid
LEFT JOIN process_track ON process_track.id = s.track_id
LEFT JOIN process ON process.upid = process_track.upid
"""

_COUNTERS = """
SELECT t.name, t.unit, c.ts, c.value FROM counter c JOIN counter_track t ON t.id = c.track_id
"""


# What of the arguments is for our own reader, which has no other way to learn it, is left out
# below: how many slices a run has, the run or the parent of a slice that stands elsewhere.


@dataclass
class Seen:
    """All that the trace_processor says about one sample."""

    path: Path
    truth: dict[str, Any]
    slices: list[dict[str, Any]] = field(default_factory=list)
    counters: list[dict[str, Any]] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    uuid: str = ""


def _args(trace: TraceProcessor) -> dict[int, dict[str, Any]]:
    args: dict[int, dict[str, Any]] = {}
    for row in trace.query("SELECT arg_set_id, key, int_value, string_value FROM args"):
        if row.key.startswith("debug."):
            value = row.string_value if row.int_value is None else row.int_value
            args.setdefault(row.arg_set_id, {})[row.key.removeprefix("debug.")] = value
    return args


def _read(path: Path, truth: dict[str, Any]) -> Seen:
    seen = Seen(path, truth)
    with open_trace(path) as trace:
        args = _args(trace)
        for row in trace.query(_SLICES):
            entry = {
                key: getattr(row, key)
                for key in ("name", "category", "ts", "dur", "depth", "parent", "track", "pid")
            }
            entry["args"] = {
                key: value
                for key, value in args.get(row.arg_set_id, {}).items()
                if key not in ("slices", "parent") and (key != "run" or row.category == "run")
            }
            if entry["track"] == "inferprobe":
                seen.notes = entry["args"]
            elif entry["track"] != "inferprobe runs":
                seen.slices.append(entry)
        for row in trace.query(_COUNTERS):
            seen.counters.append(
                {key: getattr(row, key) for key in ("name", "unit", "ts", "value")}
            )
        for row in trace.query(
            "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"
        ):
            seen.errors[row.name] = row.value
        for row in trace.query("SELECT str_value FROM metadata WHERE name = 'trace_uuid'"):
            seen.uuid = row.str_value
    return seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces")
    subprocess.run([str(_BUILD / "tests" / "trace_samples"), str(path)], check=True)
    return path


@pytest.fixture(scope="module", params=SAMPLES)
def seen(request: pytest.FixtureRequest, folder: Path) -> Seen:
    truth = json.loads((folder / f"{request.param}.json").read_text())
    return _read(folder / truth["trace"], truth)


def _as_text(entries: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(entry, sort_keys=True, ensure_ascii=False) for entry in entries)


def _expected(entries: list[dict[str, Any]]) -> list[str]:
    # The JSON has NUL as it was; no trace can hold it, and the writer spells it.
    return [text.replace("\\u0000", "\\\\x00") for text in _as_text(entries)]


def test_slices_are_exactly_those_recorded(seen: Seen) -> None:
    assert sorted(_expected(seen.truth["slices"])) == _as_text(seen.slices)


def test_counters_are_exactly_those_recorded(seen: Seen) -> None:
    recorded = [{**entry, "value": float(entry["value"])} for entry in seen.truth["counters"]]
    assert _as_text(recorded) == _as_text(seen.counters)


def test_the_reader_reports_no_error(seen: Seen) -> None:
    assert seen.errors == {}


def test_notes_and_run_id(seen: Seen) -> None:
    run_id = seen.truth["run_id"]
    assert seen.uuid.replace("-", "") == run_id
    if seen.truth["finished"]:
        assert seen.notes == {"run_id": run_id, "said": 'a "note"\n'}
    else:
        assert seen.notes == {}


def test_modules_operators_and_threads_are_on_one_timeline(folder: Path) -> None:
    with open_trace(folder / "modules.pftrace") as trace:
        rows = trace.query("""
            SELECT thread.name AS thread, module.name AS module, op.name AS op,
                   op.ts - module.ts AS after, op.dur AS dur
            FROM slice op
            JOIN slice module ON module.id = op.parent_id AND module.category = 'module_call'
            JOIN thread_track ON thread_track.id = op.track_id
            JOIN thread USING (utid)
            WHERE op.category = 'operator' ORDER BY op.ts
        """)
        found = [(row.thread, row.module, row.op, row.after, row.dur) for row in rows]
        device = trace.query("""
            SELECT slice.ts AS ts, slice.dur AS dur, track.name AS track
            FROM slice JOIN track ON track.id = slice.track_id
            WHERE slice.category = 'device_work' ORDER BY slice.ts
        """)
        kernels = [(row.dur, row.track) for row in device]
    each = [("conv", "aten::conv2d", 0, 500), ("Net", "aten::relu", 700, 100)]
    assert found == [(thread, *row) for thread in ("main", "other") for row in each]
    assert kernels == [(800, "stream 7 (device)")] * 2


def _unknown(message: Message, where: str, found: Counter[str]) -> None:
    for unknown in UnknownFieldSet(message):
        found[f"{where}.{unknown.field_number}"] += 1
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        for each in value if hasattr(value, "__len__") else [value]:
            _unknown(each, f"{where}.{descriptor.name}", found)


def test_no_field_is_unknown_to_perfetto(folder: Path) -> None:
    found: Counter[str] = Counter()
    for name in SAMPLES:
        truth = json.loads((folder / f"{name}.json").read_text())
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString((folder / truth["trace"]).read_bytes())
        assert len(trace.packet) > 0
        _unknown(trace, "trace", found)
    assert found == Counter()


def test_the_check_for_unknown_fields_finds_one() -> None:
    trace = perfetto_trace_pb2.Trace()
    # packet { track_event { field 2047: 1 } }
    trace.ParseFromString(b"\x0a\x05\x5a\x03\xf8\x7f\x01")
    found: Counter[str] = Counter()
    _unknown(trace, "trace", found)
    assert found == Counter({"trace.packet.track_event.2047": 1})


def test_a_trace_cut_anywhere_still_loads(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "inference.pftrace").read_bytes()
    cut = tmp_path / "cut.pftrace"
    cut.write_bytes(whole[: len(whole) // 2 + 3])
    with open_trace(cut) as trace:
        names = {row.name for row in trace.query("SELECT DISTINCT name FROM slice")}
        count = next(iter(trace.query("SELECT count(*) AS n FROM slice"))).n
    truth = json.loads((folder / "inference.json").read_text())["slices"]
    assert names == {entry["name"] for entry in truth}
    assert 0.4 * len(truth) < count < 0.6 * len(truth)
