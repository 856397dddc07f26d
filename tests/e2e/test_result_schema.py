"""The result JSON against its schema, and what a reader gets back.

Needs the test program `result_samples` of a build with tests (see conftest.py).
"""

import copy
import json
import runpy
import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from conftest import BUILD, SOURCE

SCHEMA = json.loads((SOURCE / "docs/formats/result.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

NAMES = [
    "typical",
    "everything_missing",
    "one_sample",
    "hostile_names",
    "crash",
    "extremes",
    "many_rows",
    "recorded_blocks",
    "recorded_slices",
    "ticks",
    "rounded",
    "delegates",
    "regions",
    "regions_of_own_code",
    "modules",
    "modules_on_device",
    "many_modules",
    "hostile_modules",
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = BUILD / "tests" / "result_samples"
    if not program.exists():
        pytest.skip(f"{program} is not built: make test builds it")
    folder = tmp_path_factory.mktemp("results")
    subprocess.run([program, folder], check=True)
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def problems(result: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(result)]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_reference_has_its_definition() -> None:
    text = json.dumps(SCHEMA)
    for name in SCHEMA["$defs"]:
        assert f'"#/$defs/{name}"' in text, f"{name} is used nowhere"


def test_all_samples_are_written(results: dict[str, Any]) -> None:
    assert sorted(results) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_result_is_valid(results: dict[str, Any], name: str) -> None:
    assert problems(results[name]) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("latency_ms", "p50"), None),
        (("latency_ms", "p50"), "0.2"),
        (("latency_ms", "p50"), {"status": "unknown_status", "hint": ""}),
        (("latency_ms", "p50"), {"status": "unavailable"}),
        (("latency_ms", "p42"), 1.0),
        (("latency_ms", "intervals", "p50"), [1.0]),
        (("schema_version",), 2),
        (("ops", 0, "kind"), "cpu"),
        (("ops", 0, "total_ns"), 1.5),
        (("regions",), None),
    ],
)
def test_the_schema_refuses_what_is_wrong(
    results: dict[str, Any], path: tuple[Any, ...], value: Any
) -> None:
    result = copy.deepcopy(results["typical"])
    node = result
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    assert problems(result)


def test_the_schema_refuses_a_lost_section(results: dict[str, Any]) -> None:
    for key in SCHEMA["required"]:
        result = {k: v for k, v in results["typical"].items() if k != key}
        assert problems(result), key


def test_later_sections_have_their_shape(results: dict[str, Any]) -> None:
    """Parts that this version does not write: their shape is fixed all the same."""
    result = dict(results["typical"])
    missing = {"status": "unsupported", "hint": "ENOENT: no hardware counters here"}
    result["counters"] = {
        "cycles": missing,
        "instructions": 12,
        "llc_misses": {"estimated": 7.5, "scale": 1.5},
    }
    result["gpu_execution"] = {"status": "refused", "error": "3 events were lost", "hint": "..."}
    assert problems(result) == []
    result["gpu_execution"] = {
        "source": "runtime-cgc-etw", "metric": "inference-body", "unit": "ms", "mean_ms": 1.5,
        "median_ms": 1.4, "p95_ms": {"status": "too_few_samples", "hint": "needs 20, has 3"},
        "samples_ms": [1.4, 1.5, 1.6], "expected_runs": 3, "valid_runs": 3, "recorded_count": 0,
        "replay_miss_count": 1, "replay_hit_count": 2, "missing_runs": 0,
        "outside_window_submissions": 0, "lost_events": 0, "aggregation": "one measured window",
        "trace_directory": "d", "unavailable_providers": [],
    }  # fmt: skip
    assert problems(result) == []
    del result["gpu_execution"]["lost_events"]
    assert problems(result)


def test_modules_add_up_for_a_reader_too(results: dict[str, Any]) -> None:
    for name in ("modules", "modules_on_device"):
        rows = {row["id"]: row for row in results[name]["modules"]}
        inside = dict.fromkeys(rows, 0)
        called = [row for row in rows.values() if row["calls"] > 0]
        for row in rows.values():
            if "parent_id" in row:
                assert row["parent"] == rows[row["parent_id"]]["path"]
        for row in called:
            if "parent_id" in row:
                inside[row["parent_id"]] += row["total_cpu_ns"]
        for row in called:
            parts = (row["self_cpu_ns"], row["operators_cpu_ns"], row["children_cpu_ns"])
            assert sum(parts) == row["total_cpu_ns"]
            assert row["children_cpu_ns"] == inside[row["id"]]
        roots = [row for row in rows.values() if "parent_id" not in row]
        whole = sum(row["total_cpu_ns"] for row in roots)
        assert whole == results[name]["module_summary"]["total_cpu_ns"]


def test_what_was_not_recorded_is_said_once(results: dict[str, Any]) -> None:
    assert results["modules"]["module_summary"]["device"]["status"] == "unavailable"
    assert all("self_device_ns" not in row for row in results["modules"]["modules"])
    assert results["modules_on_device"]["module_summary"]["memory"]["status"] == "not_requested"
    assert all("freed_bytes" not in row for row in results["modules_on_device"]["modules"])
    assert "module_summary" not in results["typical"]
    spare = results["modules"]["modules"][8]
    assert spare["total_cpu_ns"] == {"status": "not_measured", "hint": "not called"}
    assert "freed_bytes" not in spare


def test_numbers_come_back_as_they_were(results: dict[str, Any]) -> None:
    samples = results["extremes"]["latency_ms"]["samples"][0]
    assert samples == [0.1, 0.2, 0.30000000000000004, 1e-9, 123456789.123456789, 5e-324]
    assert results["extremes"]["ops"][0]["total_ns"] == 2**63 - 1
    assert results["extremes"]["load_ms"] == 9.999999999999999e29


def test_percentiles_are_numpys(results: dict[str, Any]) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is the oracle here")
    latency = results["typical"]["latency_ms"]
    samples = [sample for process in latency["samples"] for sample in process]
    assert latency["count"] == len(samples)
    for key, p in (("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99)):
        assert latency[key] == pytest.approx(numpy.percentile(samples, p), rel=1e-12)
        low, high = latency["intervals"][key]
        assert low <= latency[key] <= high
    assert latency["p999"] == {
        "status": "too_few_samples",
        "hint": f"needs 1000, has {len(samples)}",
    }


def test_field_tables_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, SOURCE / "tools/generate_fields.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_field_table_knows_every_key_of_a_result(results: dict[str, Any]) -> None:
    # The package itself needs its extension; the table does not.
    table = runpy.run_path(str(SOURCE / "python/inferprobe/_fields.py"))
    known = {field.path for field in table["FIELDS"]}

    def visit(node: Any, path: str) -> None:
        if isinstance(node, list):
            for item in node:
                visit(item, path + "[]")
        elif isinstance(node, dict) and set(node) != {"status", "hint"}:
            for key, value in node.items():
                below = f"{path}.{key}" if path else key
                assert below in known
                visit(value, below)

    for result in results.values():
        visit(result, "")
