"""How a sample program is made and written: what export.py and mixed.py share."""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Callable

import executorch.exir as exir
import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from torch import nn


def lower(
    methods: dict[str, tuple[nn.Module, tuple]],
    xnnpack: bool = False,
    config: exir.ExecutorchBackendConfig | None = None,
    dynamic: dict | None = None,
    partitioner: list | None = None,
) -> exir.ExecutorchProgramManager:
    exported = {
        name: torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
        for name, (module, inputs) in methods.items()
    }
    if xnnpack:
        partitioner = [XnnpackPartitioner()]
    edge = exir.to_edge_transform_and_lower(exported, partitioner=partitioner)
    return edge.to_executorch(config or exir.ExecutorchBackendConfig())


def as_array(value: object) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            return value.view(torch.int16).numpy().view(np.uint16)  # numpy has no bfloat16
        return value.detach().contiguous().numpy()
    return np.asarray(value)


class Writer:
    """Writes programs and arrays, and says what it wrote."""

    def __init__(self, folder: pathlib.Path, data: pathlib.Path) -> None:
        self.folder, self.data = folder, data
        folder.mkdir(parents=True, exist_ok=True)
        data.mkdir(parents=True, exist_ok=True)

    def file(self, path: pathlib.Path, content: bytes) -> None:
        path.write_bytes(content)
        print(f"{hashlib.sha256(content).hexdigest()[:16]}  {len(content):8}  {path.name}")

    def arrays(self, name: str, kind: str, values: tuple) -> None:
        for index, value in enumerate(values):
            np.save(self.data / f"{name}.{kind}{index}.npy", as_array(value))

    def case(self, name: str, module: nn.Module, inputs: tuple) -> None:
        self.arrays(name, "input", inputs)
        outputs = module(*inputs)
        self.arrays(name, "expected", outputs if isinstance(outputs, tuple) else (outputs,))

    def program(
        self, name: str, module: nn.Module, inputs: tuple, **how: object
    ) -> exir.ExecutorchProgramManager:
        manager = lower({"forward": (module, inputs)}, **how)
        self.file(self.folder / f"{name}.pte", manager.buffer)
        self.case(name, module, inputs)
        return manager


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    """The module with weights that keep the scale of what passes through them.

    With torch's own defaults the activations of a deep network die away, and every input gives the
    same output to within a tolerance.
    """
    torch.manual_seed(20261101)
    module = make().eval()
    for part in module.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
    return module
