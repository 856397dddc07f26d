"""Exports the programs with OpenVINO delegates, also beside XNNPACK's: `export.py --mixed`.

The rule that people break: OpenVINO's part of a program is tied to its version and to the kind of
CPU that it was compiled on, and is refused elsewhere. So nothing of this is committed: it is
exported on the machine that runs it, in about half a minute.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator

import torch
from executorch.backends.xnnpack.partition.config.gemm_configs import ConvolutionConfig
from executorch.backends.xnnpack.partition.config.generic_node_configs import (
    ClampConfig,
    HardtanhConfig,
)
from executorch.backends.xnnpack.partition.config.node_configs import BatchNormConfig
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import Partitioner
from programs import Writer, seeded
from torch import nn

LEVELS = ("off", "delegate", "phases", "layers")


class Pair(nn.Module):
    """What XNNPACK takes here (convolution, norm, clamp), then what is left to OpenVINO."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.clamp(self.norm(self.convolution(x)), -1, 1)
        return torch.softmax(y, 1) * 4 + torch.sigmoid(x)


class Mixed(nn.Module):
    """Twelve delegates in turn. The last operator is one that neither engine takes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.pairs = nn.Sequential(*[Pair(width) for _ in range(6)])

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return torch.atan(self.pairs(self.stem(image)))


class Deep(nn.Module):
    """Many layers that OpenVINO cannot fuse into one, each of some microseconds."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            [nn.Conv2d(width, width, 3, padding=1) for _ in range(blocks)]
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for convolution in self.convolutions:
            x = torch.softmax(convolution(x), 1) * 3
        return x


class Small(nn.Module):
    """One cheap layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.relu(self.layer(x)), -1)


class Twins(nn.Module):
    """The same delegate twice: between the two stands an operator that OpenVINO lacks."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.atan(torch.softmax(x, -1)), -1)


def _openvino(level: str = "", *, wait_apart: bool = False) -> Partitioner:
    # The backend's package imports its quantizer, which needs nncf, 1 GB; nothing here does.
    name = "executorch.backends.openvino.quantizer"
    for module_name in (name, f"{name}.quantizer"):
        stub = types.ModuleType(module_name)
        stub.OpenVINOQuantizer = None  # type: ignore[attr-defined]
        stub.__path__ = []
        sys.modules[module_name] = stub
    try:
        from executorch.backends.openvino.partitioner import OpenvinoPartitioner
    except ImportError as why:
        raise SystemExit(f"{why}: --mixed needs OpenVINO (pip install openvino==2026.4.1)") from why
    specs = [CompileSpec("device", b"CPU")]
    if level:
        specs.append(CompileSpec("openvino_profile_level", level.encode()))
    if wait_apart:
        specs.append(CompileSpec("openvino_async", b"1"))
    return OpenvinoPartitioner(specs)


@contextlib.contextmanager
def _compiled_once() -> Iterator[None]:
    """In it, the first delegate is compiled and the others are given what came of it.

    Compiling a graph twice gives different bytes: OpenVINO numbers the nodes of a process.
    """
    from executorch.backends.openvino import preprocess

    original = preprocess.openvino_compile
    compiled: list[object] = []

    def compile_first(*arguments: object, **options: object) -> object:
        if not compiled:
            compiled.append(original(*arguments, **options))
        return compiled[0]

    preprocess.openvino_compile = compile_first
    try:
        yield
    finally:
        preprocess.openvino_compile = original


def _program(
    out: Writer,
    name: str,
    module: nn.Module,
    inputs: tuple,
    partitioner: list,
    delegates: list[str],
) -> None:
    with contextlib.redirect_stdout(sys.stderr):  # the partitioner's remarks
        manager = out.program(name, module, inputs, partitioner=partitioner)
    got = [each.id for each in manager.executorch_program.execution_plan[0].delegates]
    if got != delegates:
        raise SystemExit(f"{name}: its delegates are {got}, not {delegates}")


def export(out: Writer) -> None:
    """Writes all of them into the writer's folder."""
    openvino, xnnpack = "OpenvinoBackend", "XnnpackBackend"
    first = XnnpackPartitioner(
        configs=[ConvolutionConfig, BatchNormConfig, HardtanhConfig, ClampConfig]
    )
    image = torch.rand(1, 3, 24, 24, generator=torch.Generator().manual_seed(1))
    _program(
        out, "mixed", seeded(lambda: Mixed(8)), (image,), [first, _openvino()],
        [xnnpack, openvino] * 6,
    )  # fmt: skip
    features = torch.rand(1, 16, 32, 32, generator=torch.Generator().manual_seed(2))
    net = seeded(lambda: Deep(16, 60))
    _program(out, "openvino_large", net, (features,), [_openvino()], [openvino])
    row = torch.rand(1, 16, generator=torch.Generator().manual_seed(3))
    small = seeded(Small)
    with _compiled_once():
        _program(out, "openvino_small", small, (row,), [_openvino()], [openvino])
        # The last one is no level: to load it is an error.
        for level in (*LEVELS, "verbose"):
            name = f"openvino_small_{level}"
            _program(out, name, small, (row,), [_openvino(level)], [openvino])
        wait_apart = [_openvino("phases", wait_apart=True)]
        _program(out, "openvino_small_async", small, (row,), wait_apart, [openvino])
    with _compiled_once():
        _program(out, "openvino_twins", Twins(), (row,), [_openvino()], [openvino] * 2)
