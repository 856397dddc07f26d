"""Files of PyTorch for the tests, made on this machine once for each version of torch: compiling
takes half a minute."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib import metadata
from pathlib import Path

_FILES = (
    *("plain.pt2", "profiled.pt2", "dynamic.pt2", "opaque.pt2"),
    *("script.pt", "weights.pt", "exported.pt2"),
)


# Types of tensors that a model may take.
KINDS = (
    *("uint8", "int8", "int16", "int32", "int64", "bool"),
    *("float16", "bfloat16", "float32", "float64"),
)


def missing() -> bool:
    return importlib.util.find_spec("torch") is None


def folder(parent: Path) -> Path:
    """The folder with all of them."""
    target = parent / metadata.version("torch")
    if all((target / name).exists() for name in _FILES):
        return target
    target.mkdir(parents=True, exist_ok=True)
    # In a process of its own: what compiling leaves behind is none of the tests'.
    subprocess.run([sys.executable, __file__, str(target)], check=True, capture_output=True)
    return target


def _make(target: Path) -> None:
    import opaque_operator
    import torch
    import torch_models

    model = torch_models.Plain().eval()
    x = torch.ones(2, 8)
    torch.jit.script(model).save(str(target / "script.pt"))
    torch.save(model.state_dict(), target / "weights.pt")
    program = torch.export.export(model, (x,))
    torch.export.save(program, target / "exported.pt2")
    batch = {0: torch.export.Dim("batch", min=2, max=64)}
    dynamic = torch.export.export(model, (x,), dynamic_shapes=(batch,))
    opaque = torch.export.export(opaque_operator.WithEngine().eval(), (x,))
    profiled = {"cpp.enable_kernel_profile": True}
    for name, what, options in (
        ("plain.pt2", program, {}),
        ("profiled.pt2", program, profiled),
        ("dynamic.pt2", dynamic, {}),
        ("opaque.pt2", opaque, {}),
    ):
        package = str(target / name)
        torch._inductor.aoti_compile_and_package(
            what, package_path=package, inductor_configs=options
        )


if __name__ == "__main__":
    _make(Path(sys.argv[1]))
