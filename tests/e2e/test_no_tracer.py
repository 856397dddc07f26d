"""The preset no-tracer, as a user of a production build sees it: layers without a tracer."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest
from conftest import SOURCE, load

BUILD = pathlib.Path(os.environ.get("INFERPROBE_NO_TRACER_BUILD", SOURCE / "build" / "no-tracer"))


def perf(model: pathlib.Path, folder: pathlib.Path, *flags: Any) -> dict[str, Any]:
    command = BUILD / "inferprobe"
    if not command.exists():
        pytest.skip(f"{command} is not built: tools/build.sh no-tracer")
    output = folder / "result.json"
    length = ["--iterations", "8", "--warmup", "2", "--quiet", "--output", str(output)]
    done = subprocess.run(
        [str(command), "perf", str(model), *length, *map(str, flags)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = load(output)
    return result


def test_layers_go_to_the_recorder(mixed_samples: pathlib.Path, tmp_path: pathlib.Path) -> None:
    result = perf(mixed_samples / "openvino_large.pte", tmp_path, "--level", "layers")
    rows = [row["name"] for row in result["ops"]]
    assert "openvino.infer_host" in rows
    assert not [row for row in result["ops"] if row["type"] == "delegate_call"]
    assert result["outputs"]["profiled_equal"] is True


def test_layers_go_to_files(mixed_samples: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    flags = ("--level", "layers", "--profile-format", "trex", "--profile-path-prefix", folder)
    perf(mixed_samples / "openvino_large.pte", tmp_path, *flags)
    (layers,) = folder.glob("*.layers.json")
    assert len(json.loads(layers.read_text())) > 100
