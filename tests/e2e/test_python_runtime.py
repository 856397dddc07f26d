"""Our OpenVINO delegate in ExecuTorch's own Python runtime: levels, the switch, an ETDump."""

from __future__ import annotations

import collections
import json
import pathlib
import subprocess
import sys

import pytest
from conftest import Run, load

# In a process of its own: a delegate is registered once, before executorch's runtime is imported.
# Arguments: PROGRAM ETDUMP, again and again.
PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import inferprobe
{setup}
inferprobe.register_openvino_delegate()
import torch
from executorch.extension.pybindings import portable_lib
said = []
for program, etdump in zip(sys.argv[1::2], sys.argv[2::2]):
    module = portable_lib._load_for_executorch(program, enable_etdump=True)
    meta = module.method_meta("forward")
    inputs = [torch.full(tuple(meta.input_tensor_meta(i).sizes()), 0.5)
              for i in range(meta.num_inputs())]
    for run in range(3):
        {each}
        outputs = module.forward(inputs)
    module.write_etdump_result_to_file(etdump)
    said.append([output.flatten().tolist() for output in outputs])
print(json.dumps(said))
"""


def python(*argv: object, setup: str = "", each: str = "pass") -> list[object]:
    """The outputs of each program."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(setup=setup, each=each), *map(str, argv)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    outputs: list[object] = json.loads(done.stdout.splitlines()[-1])
    return outputs


def events(path: pathlib.Path) -> collections.Counter[str]:
    from executorch.devtools import Inspector

    counts: collections.Counter[str] = collections.Counter()
    for block in Inspector(etdump_path=str(path)).event_blocks:
        for event in block.events:
            if event.is_delegated_op:
                counts[event.name] += len(event.perf_data.raw)
    return counts


def test_each_level_through_a_compile_spec(
    mixed_samples: pathlib.Path, tmp_path: pathlib.Path, run: Run
) -> None:
    levels = ("off", "delegate", "phases", "layers")
    arguments: list[object] = []
    for level in levels:
        arguments += [mixed_samples / f"openvino_small_{level}.pte", tmp_path / f"{level}.etdp"]
    outputs = python(*arguments)
    assert all(one == outputs[0] for one in outputs)
    for level in levels:
        etdump = tmp_path / f"{level}.etdp"
        counts = events(etdump)
        assert counts["openvino.delegate"] == (0 if level == "off" else 3), level
        for phase in ("input_binding", "output_binding", "infer_host"):
            assert counts[f"openvino.{phase}"] == (3 if level in ("phases", "layers") else 0), level
        assert counts["openvino.layer_report"] == (3 if level == "layers" else 0), level
        shown = run("show", etdump, "--format", "json")
        assert shown.returncode == 0, shown.stderr


def test_layers_through_the_switch_between_two_runs(
    mixed_samples: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The first program is loaded and run before the switch, the second after it."""
    plain = tmp_path / "plain.etdp"
    switched = tmp_path / "switched.etdp"
    program = mixed_samples / "openvino_large.pte"
    without, with_layers = python(
        program,
        plain,
        program,
        switched,
        each="etdump.endswith('switched.etdp') and run == 1 "
        "and inferprobe.set_profile_execution(True)",
    )
    assert without == with_layers
    assert not [name for name in events(plain) if name.startswith("openvino.")]
    counts = events(switched)
    assert counts["openvino.delegate"] == 2
    assert counts["openvino.apply_config"] == 1
    assert sum(count for name, count in counts.items() if "Convolution" in name) > 50


def test_the_switchs_files(mixed_samples: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    python(
        mixed_samples / "openvino_large.pte",
        tmp_path / "run.etdp",
        setup=f"inferprobe.set_profile_path_prefix({str(folder)!r})\n"
        "inferprobe.set_profile_format('trex')\ninferprobe.set_profile_execution(True)",
        each="run == 2 and inferprobe.set_profile_execution(False)",
    )
    names = sorted(path.name.split(".", 1)[1] for path in folder.iterdir())
    assert names == [
        "engine.json",
        "engine.metadata.json",
        "enqueue.json",
        "enqueue.metadata.json",
        "input.json",
        "input.metadata.json",
        "output.json",
        "output.metadata.json",
    ]
    (engine,) = folder.glob("*.engine.json")
    profile = load(engine)
    assert profile[0] == {"count": 2}
    assert len(profile) > 100


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("set_profile_format('xml')", '"xml" is not one of etdump, perfetto, trex'),
        ("set_profile_format(3)", "format is 3"),
        ("set_profile_path_prefix('/nowhere/at/all')", "No such file or directory"),
        ("set_profile_path_prefix('')", "no folder"),
        ("set_profile_execution('yes')", "enabled is 'yes'"),
    ],
)
def test_a_refused_value_changes_nothing(statement: str, said: str, tmp_path: pathlib.Path) -> None:
    source = f"""
import inferprobe, json
inferprobe.set_profile_path_prefix({str(tmp_path)!r})
before = inferprobe._core.get_profile_config()
try:
    inferprobe.{statement}
except inferprobe.Error as error:
    print(error)
assert inferprobe._core.get_profile_config() == before
inferprobe.set_profile_format("perfetto")
inferprobe.set_profile_execution(True)
print(json.dumps([inferprobe.get_profile_execution(), inferprobe.get_profile_format(),
                  inferprobe.get_profile_path_prefix()]))
assert inferprobe._core.get_profile_config()[3] == before[3] + 2
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout.splitlines()[0]
    assert json.loads(done.stdout.splitlines()[-1]) == [True, "perfetto", str(tmp_path)]


def test_what_a_delegate_refused_is_told_in_full(mixed_samples: pathlib.Path) -> None:
    """Of the thread that loaded."""
    program = str(mixed_samples / "openvino_small_verbose.pte")
    source = f"""
import threading, warnings
warnings.simplefilter("ignore")
import inferprobe
inferprobe.register_openvino_delegate()
from executorch.extension.pybindings import portable_lib
assert inferprobe.last_delegate_error() == ""
try:
    portable_lib._load_for_executorch({program!r}).forward([])
except RuntimeError:
    print(inferprobe.last_delegate_error())
thread = threading.Thread(target=lambda: print(repr(inferprobe.last_delegate_error())))
thread.start()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        'openvino_profile_level: "verbose" is not one of off, delegate, phases, layers',
        "''",
    ]


def test_too_late_is_said() -> None:
    source = """
import warnings
warnings.simplefilter("ignore")
from executorch.extension.pybindings import portable_lib
import inferprobe
try:
    inferprobe.register_openvino_delegate()
except inferprobe.Error as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert "before executorch.runtime is imported" in done.stdout, done.stderr
