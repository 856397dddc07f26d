"""What ExecuTorch's own Inspector reads from the ETDumps that formats/etdump writes."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_BUILD = Path(os.environ.get("INFERPROBE_BUILD", _ROOT / "build" / "test")).resolve()

SAMPLES = ["inference", "piecewise", "hostile_names"]

# (block, instruction, event's name, delegate's own identifier) -> ns, in the order of the runs
Events = dict[tuple[str, int, str, str | int | None], list[int]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("etdumps")
    subprocess.run([str(_BUILD / "tests" / "trace_samples"), str(path)], check=True)
    return path


def _inspect(path: Path) -> Any:
    # Imported late: it takes seconds.
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    return Inspector(
        etdump_path=str(path),
        source_time_scale=TimeScale.NS,
        target_time_scale=TimeScale.NS,
    )


def _seen(inspector: Any) -> Events:
    events: Events = {}
    for block in inspector.event_blocks:
        for event in block.events:
            key = (block.name, event._instruction_id, event.name, event.delegate_debug_identifier)
            assert key not in events
            events[key] = [round(time) for time in event.perf_data.raw]
    return events


def _recorded(truth: dict[str, Any]) -> Events:
    events: Events = defaultdict(list)
    for block in truth["blocks"]:
        for event in block["events"]:
            delegate = event.get("delegate")
            # Inspector names a delegate's operator by its identifier.
            name = event["name"] if delegate is None else str(delegate)
            key = (block["name"], event["instruction"], name, delegate)
            events[key].append(event["ns"])
    return dict(events)


@pytest.mark.parametrize("name", SAMPLES)
def test_inspector_sees_every_event_of_every_run(folder: Path, name: str) -> None:
    truth = json.loads((folder / f"{name}.json").read_text())
    assert _seen(_inspect(folder / f"{name}.etdp")) == _recorded(truth)


def test_runs_of_one_program_are_one_block(folder: Path) -> None:
    inspector = _inspect(folder / "inference.etdp")
    assert [block.name for block in inspector.event_blocks] == ["Default", "Execute"]
    execute = inspector.event_blocks[1]
    assert [event.name for event in execute.events][-1] == "Method::execute"
    assert {len(event.perf_data.raw) for event in execute.events} == {120}
    by_name = {event.name or event.delegate_debug_identifier: event for event in execute.events}
    assert by_name["Transpose (ND, X32) #1"].is_delegated_op
    assert not by_name["DELEGATE_CALL"].is_delegated_op
    assert (
        by_name["Convolution (NHWC, F32) IGEMM #1"].raw_delegate_debug_metadatas
        == [b"\x00\x01\xff tile"] * 120
    )


def test_tables_print(folder: Path) -> None:
    frame = _inspect(folder / "inference.etdp").to_dataframe()
    assert len(frame) == 12
