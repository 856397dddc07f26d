"""An engine that nobody can reach, inside of a compiled package: the settings of the whole process
are switched after loading, and its sidecars are found. Real AOTInductor; the engine is a double."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_packages
from conftest import BUILD, SOURCE

LIBRARY = BUILD / "tests" / "plugins" / "libinferprobe_opaque_engine.so"

pytestmark = pytest.mark.skipif(
    torch_packages.missing(), reason="no torch: tools/setup.sh test installs it"
)

PROGRAM = """
import json, sys
sys.path.insert(0, {tests!r})
import inferprobe, torch
said = {{}}
with_engine = {with_engine}
if with_engine:
    import opaque_operator
    opaque_operator.load({library!r})
model = torch._inductor.aoti_load_package({package!r})
x = torch.ones(2, 8)
plain = model(x)
for step, reach in (
    ("folder", inferprobe.set_profile_path_prefix({folder!r})),
    ("format", inferprobe.set_profile_format({format!r})),
    ("on", inferprobe.set_profile_execution(True)),
):
    said[step] = [bool(reach), str(reach)]
same = bool(torch.equal(model(x), plain)) and bool(torch.equal(model(x), plain))
inferprobe.set_profile_execution(False)
model(x)
if with_engine:
    opaque_operator.unload()
said["after"] = str(inferprobe.get_profile_reach())
said["same"] = same
said["wrong"] = inferprobe.last_delegate_error()
print(json.dumps(said))
"""


def use(package: Path, folder: Path, *, with_engine: bool, kind: str = "trex") -> dict[str, Any]:
    program = PROGRAM.format(
        tests=str(SOURCE / "tests" / "e2e"),
        library=str(LIBRARY),
        package=str(package),
        folder=str(folder),
        with_engine=with_engine,
        format=kind,
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.parametrize(("kind", "suffix"), [("trex", "json"), ("perfetto", "pftrace")])
def test_settings_after_loading_reach_the_engine(tmp_path: Path, kind: str, suffix: str) -> None:
    packages = torch_packages.folder(SOURCE / "build" / "torch")
    said = use(packages / "opaque.pt2", tmp_path, with_engine=True, kind=kind)
    assert said["on"] == [True, "Double 1 follows the setting"]
    assert said["same"] is True
    assert said["wrong"] == ""
    assert said["after"].startswith("no engine in this process")
    files = {path.name for path in tmp_path.iterdir()}
    for part in ("engine", "input", "output", "enqueue"):
        assert f"0123456789abcdef-0.{part}.{suffix}" in files
    if kind == "trex":  # two of the four calls were made while it was on
        layers = json.loads((tmp_path / "0123456789abcdef-0.engine.json").read_text())
        assert layers[0] == {"count": 2}


def test_a_package_without_engines_says_so(tmp_path: Path) -> None:
    packages = torch_packages.folder(SOURCE / "build" / "torch")
    said = use(packages / "plain.pt2", tmp_path, with_engine=False)
    for step in ("folder", "format", "on"):
        assert said[step] == [
            False,
            "no engine in this process follows the setting; one that is loaded later may",
        ]
    assert list(tmp_path.iterdir()) == []
