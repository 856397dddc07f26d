"""TREX profiles: shown, converted from and to, and in linear time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from callgrind import instructions_of
from conftest import SOURCE, Run

FIXTURES = SOURCE / "tests" / "fixtures" / "trex"


def layers_of(path: Path) -> tuple[int, list[dict[str, Any]]]:
    """What trex takes from a profile: the objects of four or five members are layers."""
    content = json.loads(path.read_text())
    return content[0]["count"], [each for each in content if len(each) in (4, 5)]


def test_through_a_trace_and_a_result_it_stays_the_same(run: Run, tmp_path: Path) -> None:
    first = tmp_path / "first.trex.json"
    metadata = {
        "trex_metadata_version": 1,
        "engine": "TensorRT",
        "engine_id": "0123456789abcdef-0",
        "model": "a.pte",
    }
    source = tmp_path / "source.json"
    source.write_bytes((FIXTURES / "f26_trt_profile.json").read_bytes())
    (tmp_path / "source.metadata.json").write_text(
        json.dumps({**metadata, "layers": [["Convolution", "sm90"], ["Myelin", ""]]})
    )
    assert run("convert", source, first).returncode == 0
    trace = tmp_path / "a.pftrace"
    assert run("convert", source, trace).returncode == 0
    second = tmp_path / "second.json"
    assert run("convert", trace, second, "--to", "trex").returncode == 0
    assert second.read_bytes() == first.read_bytes()
    described = json.loads((tmp_path / "second.metadata.json").read_text())
    assert described == json.loads((tmp_path / "first.trex.metadata.json").read_text())
    assert {key: described[key] for key in metadata} == metadata
    assert described["layers"] == [["Convolution", "sm90"], ["Myelin", ""]]

    shown = [run("show", path).stdout for path in (source, trace)]
    table = [text[text.index("layers of TensorRT") : text.index("losses")] for text in shown]
    assert table[0] == table[1]
    result = tmp_path / "r.json"
    assert run("convert", source, result).returncode == 0
    rows = json.loads(result.read_text())["sums"]
    assert [(row["calls"], row["total_ns"], row["p50_ns"]) for row in rows] == [
        (3, 6_000_000, 1_900_000),
        (3, 4_000_000, 1_300_000),
    ]
    assert {row["kind"] for row in rows} == {"engine_reported"}
    again = run("show", result).stdout
    assert again[again.index("layers of TensorRT") : again.index("losses")] == table[0]


def test_the_layers_of_a_recording_become_a_profile(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    length = ["--iterations", "20", "--quiet"]
    files = ["--output", "r.json", "--trace", "t.pftrace", "--etdump", "e.etdp"]
    assert run("perf", samples / "vision_xnnpack.pte", *length, *files).returncode == 0
    delegates = json.loads((tmp_path / "r.json").read_text())["delegates"]
    expected = [
        (layer["name"], layer["total_ns"])
        for delegate in delegates
        for layer in delegate["layers"]
        if isinstance(layer["mean_ns"], float | int)
        or layer["mean_ns"]["status"] == "below_resolution"  # a sum has no resolution
    ]
    assert len(expected) > 20
    for source in ("t.pftrace", "e.etdp"):
        out = tmp_path / f"{source}.json"
        said = run("convert", source, out, "--to", "trex")
        assert said.returncode == 0, said.stderr
        count, layers = layers_of(out)
        assert count == 20
        assert [(each["name"], round(each["timeMs"] * 1e6)) for each in layers] == expected
        assert sum(each["percentage"] for each in layers) == pytest.approx(100)
    # An ETDump does not name its backends, a trace does.
    described = json.loads((tmp_path / "t.pftrace.metadata.json").read_text())
    assert described["kind"] == "engine_reported"
    assert described["engine"] == "XnnpackBackend"


def write_layers(path: Path, count: int) -> Path:
    layers = [{"name": f"layer {i}", "timeMs": i, "averageMs": i / 2} for i in range(count)]
    path.write_text(json.dumps([{"count": 2}, *layers]))
    return path


def test_fifty_thousand_layers_are_all_there(run: Run, tmp_path: Path) -> None:
    profile = write_layers(tmp_path / "many.json", 50_000)
    said = run("show", profile, "--format", "csv")
    assert said.returncode == 0
    assert len(said.stdout.splitlines()) == 1 + 50_000
    assert run("convert", profile, "again.json", "--to", "trex").returncode == 0
    count, layers = layers_of(tmp_path / "again.json")
    assert (count, len(layers)) == (2, 50_000)
    assert layers[49_999]["averageMs"] == 49_999 / 2


@pytest.mark.parametrize("arguments", [["show"], ["convert", "--to", "trex", "--force"]])
def test_twice_the_layers_take_twice_the_instructions(
    command: str, tmp_path: Path, arguments: list[str]
) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")

    def instructions(layers: int) -> int:
        profile = write_layers(tmp_path / f"{layers}.json", layers)
        out = [] if arguments == ["show"] else [str(tmp_path / "out.json")]
        return instructions_of(command, arguments[0], profile, *out, *arguments[1:])

    least = instructions(1)  # what the program needs for any file
    once, twice = instructions(2000) - least, instructions(4000) - least
    assert twice / once < 2.3


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("f26_trt_profile.json", "x.etdp", "holds no profiled run of a model"),
        ("f28_trt_graph_profiles.json", "x.pftrace", "the graph of an engine"),
        ("f09_control_and_utf8.json", "x.trex.json", "no format that is known"),
    ],
)
def test_what_cannot_be_is_refused_with_words(
    run: Run, tmp_path: Path, source: str, target: str, words: str
) -> None:
    said = run("convert", FIXTURES / source, target)
    assert said.returncode == 1
    assert words in said.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_recording_without_layers_has_no_profile(run: Run, samples: Path, tmp_path: Path) -> None:
    model = samples / "text_portable.pte"
    assert run("perf", model, "--iterations", "5", "--trace", "t.pftrace").returncode == 0
    said = run("convert", "t.pftrace", "x.json", "--to", "trex")
    assert said.returncode == 1
    assert "no layers with times that an engine reported" in said.stderr
    assert "--level layers" in said.stderr
    assert not (tmp_path / "x.json").exists()


def test_metadata_that_is_there_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.metadata.json").write_text("mine")
    said = run("convert", FIXTURES / "f26_trt_profile.json", "x.json", "--to", "trex")
    assert said.returncode != 0
    assert "x.metadata.json" in said.stderr
    assert not (tmp_path / "x.json").exists()
    said = run("convert", FIXTURES / "f26_trt_profile.json", "x.json", "--to", "trex", "--force")
    assert said.returncode == 0


def test_a_profile_that_is_cut_keeps_its_whole_layers(run: Run, tmp_path: Path) -> None:
    text = (FIXTURES / "f26_trt_profile.json").read_text()
    (tmp_path / "cut.json").write_text(text[: text.index("ForeignNode")])
    said = run("show", "cut.json")
    assert said.returncode == 0
    assert "conv1 + relu1" in said.stdout
    assert "truncated_file" in said.stdout
