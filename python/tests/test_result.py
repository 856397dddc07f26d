"""Result and Metric, over JSON that the test writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inferprobe import Error, Metric, Result, Section

CONTENT: dict[str, Any] = {
    "schema_version": 1,
    "load_ms": 2.5,
    "latency_ms": {
        "kind": "host_wall",
        "profiling": "off",
        "p50": 0.195,
        "p999": {"status": "too_few_samples", "hint": "needs 1000, has 412"},
        "intervals": {"p50": [0.194, 0.196]},
        "samples": [[0.195, 0.196]],
    },
    "ops": [
        {
            "id": 1,
            "parent": None,
            "name": 'a "b"',
            "kind": "engine_reported",
            "calls": 412,
            "mean_ns": 188000,
            "share": 0,
            "module_path": {"status": "no_map", "hint": "give --etrecord"},
        }
    ],
    "modules": {"status": "not_requested", "hint": "only for PyTorch models"},
    "disturbances": [],
}


@pytest.fixture
def result() -> Result:
    return Result(json.dumps(CONTENT), "the tables")


def test_a_figure_has_value_kind_and_unit(result: Result) -> None:
    p50 = result.latency_ms.p50
    assert (p50.value, p50.kind, p50.unit, p50.why) == (0.195, "host_wall", "ms", None)
    assert float(p50) == 0.195
    assert str(p50) == "0.195 ms"


def test_a_missing_figure_has_no_value_but_a_reason(result: Result) -> None:
    p999 = result.latency_ms.p999
    assert p999.value is None
    assert (p999.why, p999.hint) == ("too_few_samples", "needs 1000, has 412")
    assert not p999
    assert str(p999) == "n/a (too few samples: needs 1000, has 412)"
    with pytest.raises(ValueError, match="too few samples"):
        float(p999)


def test_zero_is_a_figure(result: Result) -> None:
    share = result.ops[0].share
    assert share.value == 0
    assert share


def test_a_row_gives_its_kind_to_its_times_but_not_to_what_is_derived(result: Result) -> None:
    row = result.ops[0]
    assert row.mean_ns.kind == "engine_reported"
    assert row.share.kind == "derived"


def test_names_ordinals_and_counts_are_plain(result: Result) -> None:
    row = result.ops[0]
    assert row.name == 'a "b"'
    assert row.id == 1
    assert row.calls == 412


def test_a_whole_part_may_be_missing(result: Result) -> None:
    assert isinstance(result.modules, Metric)
    assert result.modules.why == "not_requested"
    assert result.disturbances == []


def test_a_section_prints_its_values_and_counts_its_samples() -> None:
    open_interval = [1234.5678, {"status": "too_few_samples", "hint": ""}]
    latency = CONTENT["latency_ms"] | {"intervals": {"p50": open_interval}}
    assert str(Result(json.dumps({"latency_ms": latency})).latency_ms).splitlines() == [
        "kind: host_wall",
        "profiling: off",
        "p50: 0.195 ms",
        "p999: n/a (too few samples: needs 1000, has 412)",
        "intervals: p50 [1,235, n/a (too few samples)] ms",
        "samples: 2 values",
    ]


def test_intervals_and_samples(result: Result) -> None:
    assert result.latency_ms.intervals.p50.value == [0.194, 0.196]
    assert result.latency_ms.samples[0] == [0.195, 0.196]


def test_parts_are_mappings_and_wrong_names_say_where(result: Result) -> None:
    assert isinstance(result.latency_ms, Section)
    assert "p50" in result.latency_ms
    assert "p50" in dir(result.latency_ms)
    with pytest.raises(AttributeError, match="'p51' in latency_ms"):
        _ = result.latency_ms.p51
    with pytest.raises(KeyError):
        _ = result["nosuch"]


def test_printing_shows_the_tables(result: Result) -> None:
    assert str(result) == "the tables"


def test_to_dict_is_the_json_and_a_copy(result: Result) -> None:
    content = result.to_dict()
    assert content == CONTENT
    content["load_ms"] = 0
    assert result.load_ms.value == 2.5


def test_save_writes_the_json_and_refuses_to_overwrite(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    result.save(path)
    assert json.loads(path.read_text()) == CONTENT
    path.write_text("mine")
    with pytest.raises(Error) as refused:
        result.save(path)
    assert refused.value.code == "already_exists"
    assert path.read_text() == "mine"
    result.save(path, force=True)
    assert json.loads(path.read_text()) == CONTENT
    with pytest.raises(Error) as missing:
        result.save(tmp_path / "no" / "r.json")
    assert missing.value.code == "not_found"
    assert list(tmp_path.iterdir()) == [path]


def test_metrics_compare_by_what_they_say() -> None:
    assert Metric(1.0, unit="ms") == Metric(1.0, unit="ms")
    assert Metric(1.0, unit="ms") != Metric(1.0, unit="ns")
    assert len({Metric(1.0), Metric(1.0)}) == 1
    assert "host_wall" in repr(Metric(1.0, kind="host_wall"))
