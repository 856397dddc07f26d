"""The programs with OpenVINO delegates, as exported here, on ExecuTorch's own runtime."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import SAMPLES

# In a process of its own: ExecuTorch and torch stay for the life of one.
RUN = """
import json, pathlib, sys
import numpy as np
import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime

runtime, folder = Runtime.get(), pathlib.Path(sys.argv[1])
digests = {}
for path in map(pathlib.Path, sys.argv[2:]):
    content = path.read_bytes()
    method = runtime.load_program(content).load_method("forward")
    files = sorted((path.parent / "data").glob(path.stem + ".input*.npy"))
    outputs = method.execute([torch.from_numpy(np.load(file)) for file in files])
    for index, output in enumerate(outputs):
        np.save(folder / f"{path.stem}.{index}.npy", output.numpy())
    program = deserialize_pte_binary(content)
    program = getattr(program, "program", program)
    data = program.backend_delegate_data
    digests[path.stem] = [
        (delegate.id, hash(bytes(data[delegate.processed.index].data)))
        for delegate in program.execution_plan[0].delegates
    ]
(folder / "digests.json").write_text(json.dumps(digests))
"""
NAMES = ["mixed", "openvino_large", "openvino_small", "openvino_small_layers", "openvino_twins"]
# OpenVINO computes in bfloat16 where the CPU can: 8 bits of a number.
TOLERANCE = 2**-7


@pytest.fixture(scope="module")
def outputs(mixed_samples: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("outputs")
    programs = [mixed_samples / f"{name}.pte" for name in NAMES] + [SAMPLES / "kv_cache.pte"]
    import openvino

    libraries = pathlib.Path(openvino.__file__).parent / "libs"
    (library,) = libraries.glob("libopenvino_c.so.*")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder), *map(str, programs)],
        env={**os.environ, "OPENVINO_LIB_PATH": str(library)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", [*NAMES, "kv_cache"])
def test_they_compute_what_torch_does(
    outputs: pathlib.Path, mixed_samples: pathlib.Path, name: str
) -> None:
    data = (SAMPLES if name == "kv_cache" else mixed_samples) / "data"
    files = sorted(data.glob(f"{name}.expected*.npy"))
    assert files
    for index, file in enumerate(files):
        expected = np.load(file)
        got = np.load(outputs / f"{name}.{index}.npy")
        np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


def test_the_engines_take_turns_and_equal_delegates_are_equal(outputs: pathlib.Path) -> None:
    digests = json.loads((outputs / "digests.json").read_text())
    assert [each[0] for each in digests["mixed"]] == ["XnnpackBackend", "OpenvinoBackend"] * 6
    first, second = digests["openvino_twins"]
    assert first == second
    assert digests["openvino_small"] == digests["openvino_small_layers"], "only the level differs"
