"""inferprobe.load: the same Result as that of the measurement."""

from __future__ import annotations

import json
from pathlib import Path

import inferprobe
import pytest


@pytest.fixture(scope="module")
def measured(samples: Path) -> inferprobe.Result:
    return inferprobe.run(samples / "vision_xnnpack.pte", iterations=5, warmup=0)


@pytest.fixture
def saved(measured: inferprobe.Result, tmp_path: Path) -> Path:
    path = tmp_path / "no suffix says what it is"
    measured.save(path)
    return path


def test_a_saved_result_comes_back(measured: inferprobe.Result, saved: Path) -> None:
    for name in (saved, str(saved)):
        loaded = inferprobe.load(name)
        assert isinstance(loaded, inferprobe.Result)
        assert loaded.to_dict() == measured.to_dict()
        assert str(loaded) == str(measured)
    assert loaded.latency_ms.p50 == measured.latency_ms.p50
    assert loaded.latency_ms.p99.why == "too_few_samples"


def test_traces_are_opened_too(samples: Path, tmp_path: Path) -> None:
    trace, dump = tmp_path / "a", tmp_path / "b"
    measured = inferprobe.run(
        samples / "vision_xnnpack.pte", iterations=5, warmup=0, trace=trace, etdump=dump
    )
    from_trace = inferprobe.load(trace)
    assert [row.total_ns for row in from_trace.ops] == [row.total_ns for row in measured.ops]
    assert from_trace.to_dict()["source"]["format"] == "perfetto"
    from_dump = inferprobe.load(dump)
    assert "ETDump" in str(from_dump)
    assert from_dump.latency_ms.p50.value is None
    assert from_dump.latency_ms.p50.why
    calls = [row for row in from_dump.ops if row.type == "delegate_call"]
    assert [row.total_ns for row in calls] == [
        row.total_ns for row in measured.ops if row.type == "delegate_call"
    ]


def test_what_nobody_knows_is_counted(measured: inferprobe.Result, saved: Path) -> None:
    content = measured.to_dict()
    content["later"] = 1
    saved.write_text(json.dumps(content))
    counts = {row.name: row.value for row in inferprobe.load(saved).statistics}
    assert counts["unknown_field"] == 1


def test_errors_say_where(measured: inferprobe.Result, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with pytest.raises(inferprobe.Error) as gone:
        inferprobe.load(path)
    assert gone.value.code == "not_found"
    assert str(path) in gone.value.message

    text = json.dumps(measured.to_dict())
    path.write_text(text[:1000])
    with pytest.raises(inferprobe.Error, match="byte 1000") as cut:
        inferprobe.load(path)
    assert cut.value.code == "malformed"
    assert "copied whole" in cut.value.hint

    path.write_text(text.replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(inferprobe.Error, match="a newer inferprobe") as newer:
        inferprobe.load(path)
    assert newer.value.code == "unsupported"
    assert newer.value.hint


def test_a_name_must_be_one() -> None:
    with pytest.raises(inferprobe.Error, match="null character"):
        inferprobe.load("a\0b")
    with pytest.raises(inferprobe.Error):
        inferprobe.load("")
