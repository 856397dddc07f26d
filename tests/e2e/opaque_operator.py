"""A custom operator of PyTorch with an engine behind it: the double of tests/opaque_engine.

Imported where the package is compiled, and where it runs; there `load` connects the engine.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

_engine: Any = None
_library: Any = None


def load(path: str) -> None:
    global _engine, _library
    _library = ctypes.CDLL(path)
    _library.OpaqueEngineLoad.restype = ctypes.c_void_p
    _library.OpaqueEngineRun.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    _library.OpaqueEngineUnload.argtypes = [ctypes.c_void_p]
    _engine = _library.OpaqueEngineLoad()
    assert _engine is not None


def unload() -> None:
    _library.OpaqueEngineUnload(_engine)


@torch.library.custom_op("inferprobe_test::engine", mutates_args=())  # type: ignore[untyped-decorator]
def engine(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    if _engine is not None:
        _library.OpaqueEngineRun(_engine, y.data_ptr())
    return y


@engine.register_fake  # type: ignore[untyped-decorator]
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class WithEngine(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.ops.inferprobe_test.engine(self.linear(x)))
