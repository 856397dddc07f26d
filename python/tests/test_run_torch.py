"""inferprobe.run of PyTorch's models: the worker is this very Python."""

from __future__ import annotations

import sys
from pathlib import Path

import inferprobe
import numpy as np
import pytest

NET = """
import sys
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1

def make():
    assert sys.executable == {python!r}
    return Net()
"""


@pytest.fixture
def net(tmp_path: Path) -> str:
    path = tmp_path / "net.py"
    path.write_text(NET.format(python=sys.executable))
    return f"{path}:make"


def test_run_measures_a_module(net: str) -> None:
    result = inferprobe.run(net, shapes={"x": (2, 3)}, iterations=5, warmup=1)
    assert result.engine.name == "torch"
    assert result.model.inputs[0].shape == [2, 3]
    assert [row["class"] for row in result.to_dict()["modules"]] == ["Net"]
    given = inferprobe.run(net, inputs=[np.ones(4, np.float32)], iterations=5, warmup=1)
    assert given.model.inputs[0].shape == [4]


def test_what_is_missing_is_said(net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(inferprobe.Error, match="nobody has said what it is"):
        inferprobe.run(net, iterations=5)
    with pytest.raises(inferprobe.Error, match="shapes is"):
        inferprobe.run(net, shapes=[(1, 2)], iterations=5)  # type: ignore[arg-type]
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(inferprobe.Error, match="/nowhere/python"):
        inferprobe.run(net, iterations=5)
