"""Exports the sample programs, and with --fixtures the small programs that the tests load.

    python samples/export.py                  # samples/*.pte, *.bpte and samples/data/*.npy
    python samples/export.py --fixtures       # tests/fixtures/executorch/*
    python samples/export.py --mixed --into build/mixed   # with OpenVINO: for this machine alone
    python samples/export.py --only vision_xnnpack --into /tmp/x

Needs torch and executorch; running the programs needs neither. The rule that people break: every
weight and input comes from a fixed seed, so that exporting again gives the same bytes. Change a
model here and you change the committed file.
"""

from __future__ import annotations

import argparse
import math
import pathlib

import executorch.exir as exir
import torch
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import (
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.exir.passes import MemoryPlanningPass
from programs import Writer, lower, seeded
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent


class Separable(nn.Module):
    """A depthwise and a pointwise convolution, with a shortcut where the shapes allow it."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(before, before, 3, stride, 1, groups=before)
        self.pointwise = nn.Conv2d(before, after, 1)
        self.shortcut = before == after and stride == 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.pointwise(torch.relu(self.depthwise(x))))
        return x + y if self.shortcut else y


class Vision(nn.Module):
    """A small convolutional network that names ten classes."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.stage1 = nn.Sequential(*[Separable(width, width, 1) for _ in range(blocks)])
        self.down = Separable(width, 2 * width, 2)
        self.stage2 = nn.Sequential(*[Separable(2 * width, 2 * width, 1) for _ in range(blocks)])
        self.norm = nn.LayerNorm(2 * width)
        self.head = nn.Linear(2 * width, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(image))
        x = self.stage2(self.down(self.stage1(x)))
        return torch.softmax(self.head(self.norm(x.mean((2, 3)))), -1)


class Block(nn.Module):
    """A pre-norm transformer block, written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        y = self.norm1(x)

        def split(z: torch.Tensor) -> torch.Tensor:
            return z.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        query, key, value = split(self.query(y)), split(self.key(y)), split(self.value(y))
        scores = query @ key.transpose(2, 3) * (1 / math.sqrt(width // self.heads))
        mixed = (torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        return x + self.down(torch.relu(self.up(self.norm2(x))))


class Text(nn.Module):
    """A transformer from token ids to logits over its vocabulary."""

    def __init__(self, vocabulary: int, width: int, heads: int, blocks: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.randn(1, length, width) * 0.1)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.logits = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.logits(self.norm(self.blocks(self.embed(tokens) + self.position)))


class Features(nn.Module):
    """Transformer blocks alone: many short parallel regions once XNNPACK runs them."""

    def __init__(self, width: int, heads: int, blocks: int) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.head = nn.Linear(width, width // 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.head(self.blocks(x)))


class External(nn.Module):
    """Two linear layers, whose weights go to data files."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class Scaled(nn.Module):
    """One of two methods of a program."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor + 1


class Scalars(nn.Module):
    """An int64 tensor and numbers in; a tensor and an int out."""

    def forward(
        self, ids: torch.Tensor, count: int, scale: float, flag: bool
    ) -> tuple[torch.Tensor, int, torch.Tensor]:
        return ids * count + (1 if flag else 0), count, (ids * scale).sum()


class Cache(nn.Module):
    """A key-value cache: state that survives from run to run."""

    def __init__(self, width: int = 8, length: int = 4) -> None:
        super().__init__()
        self.key = nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(1, length, width))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(1, position, self.key(x))
        return torch.softmax(x @ self.keys.transpose(1, 2), -1) @ self.keys


class Attention(nn.Module):
    """One step of attention over a key-value cache that the caller owns and that it updates."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(
        self, x: torch.Tensor, position: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> torch.Tensor:
        keys.index_copy_(1, position, self.key(x))
        values.index_copy_(1, position, self.value(x))
        return torch.softmax(self.query(x) @ keys.transpose(1, 2), -1) @ values


class Types(nn.Module):
    """Every scalar type that a program's tensors commonly have, passed through."""

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.cat([t, t]) for t in tensors)


class Dynamic(nn.Module):
    """A batch of any size up to eight."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.layer(x))


class Optional(nn.Module):
    """An argument that was None when exported."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        return x + 1 if mask is None else x + mask


def sample_vision_portable(out: Writer) -> None:
    net = seeded(lambda: Vision(8, 2))
    out.program("vision_portable", net, (torch.rand(1, 3, 24, 24),))


def sample_vision_xnnpack(out: Writer) -> None:
    net = seeded(lambda: Vision(32, 4))
    image = torch.rand(1, 3, 64, 64)
    manager = out.program("vision_xnnpack", net, (image,), xnnpack=True)
    cases = [
        MethodTestCase(inputs=(x,), expected_outputs=net(x))
        for x in (image, torch.rand(1, 3, 64, 64))
    ]
    bundle = BundledProgram(manager, [MethodTestSuite("forward", cases)])
    out.file(
        out.folder / "vision_xnnpack.bpte",
        bytes(serialize_from_bundled_program_to_flatbuffer(bundle)),
    )


def sample_text_portable(out: Writer) -> None:
    net = seeded(lambda: Text(64, 32, 2, 2, 16))
    out.program("text_portable", net, (torch.randint(0, 64, (1, 16)),))


def sample_text_xnnpack(out: Writer) -> None:
    net = seeded(lambda: Text(128, 64, 4, 2, 32))
    out.program("text_xnnpack", net, (torch.randint(0, 128, (1, 32)),), xnnpack=True)


def sample_regions50_xnnpack(out: Writer) -> None:
    net = seeded(lambda: Features(96, 4, 2))
    out.program("regions50_xnnpack", net, (torch.randn(1, 80, 96),), xnnpack=True)


def sample_kv_cache(out: Writer) -> None:
    # The inputs are no part of the planned memory: the program works on the caller's own arrays.
    config = exir.ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False)
    )
    net = seeded(lambda: Attention(32))
    caches = (torch.zeros(1, 16, 32), torch.zeros(1, 16, 32))
    inputs = (torch.randn(1, 1, 32), torch.tensor([0]), *caches)
    out.file(out.folder / "kv_cache.pte", lower({"forward": (net, inputs)}, config=config).buffer)
    out.arrays("kv_cache", "input", inputs)
    # What the program puts out: the caches as they are after the step, then the result.
    result = net(*inputs)
    out.arrays("kv_cache", "expected", (*caches, result))


def fixture_external(out: Writer) -> None:
    net = seeded(External)
    config = exir.ExecutorchBackendConfig(
        external_constants=lambda node: (
            "external_first" if "first" in node.name else "external_rest"
        )
    )
    manager = out.program("external", net, (torch.randn(2, 8),), config=config)
    manager.write_tensor_data_to_file(str(out.folder))


def fixture_two_methods(out: Writer) -> None:
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    methods = {"forward": (Scaled(2.0), (x,)), "encode": (Scaled(-3.0), (x,))}
    out.file(out.folder / "two_methods.pte", lower(methods).buffer)
    for name, (module, inputs) in methods.items():
        out.case(f"two_methods.{name}", module, inputs)


def fixture_scalars(out: Writer) -> None:
    out.program("scalars", Scalars(), (torch.arange(6).reshape(2, 3), 3, 0.5, True))


def fixture_cache(out: Writer) -> None:
    inputs = (torch.randn(1, 1, 8, generator=torch.Generator().manual_seed(1)), torch.tensor([0]))
    for name, xnnpack in (("cache_portable", False), ("cache_xnnpack", True)):
        out.program(name, seeded(Cache), inputs, xnnpack=xnnpack)


def fixture_types(out: Writer) -> None:
    kinds = [
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
        torch.float32, torch.float64, torch.bool, torch.bfloat16,
    ]  # fmt: skip
    out.program("types", Types(), tuple((torch.arange(6) % 3).reshape(2, 3).to(k) for k in kinds))


def fixture_dynamic(out: Writer) -> None:
    batch = torch.export.Dim("batch", min=1, max=8)
    net = seeded(Dynamic)
    for name, xnnpack in (("dynamic", False), ("dynamic_xnnpack", True)):
        out.program(name, net, (torch.randn(5, 4),), dynamic={"x": {0: batch}}, xnnpack=xnnpack)


def fixture_optional(out: Writer) -> None:
    x = torch.ones(3)
    out.file(out.folder / "optional.pte", lower({"forward": (Optional(), (x, None))}).buffer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fixtures", action="store_true", help="the tests' programs instead")
    parser.add_argument(
        "--mixed", action="store_true", help="those with OpenVINO, which only this machine can run"
    )
    parser.add_argument("--only", help="the one program of this name")
    parser.add_argument("--into", "--out", type=pathlib.Path, help="another folder")
    options = parser.parse_args()

    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    if options.mixed:
        if options.into is None:
            parser.error("--mixed needs --into FOLDER: what it writes is not committed")
        import mixed  # needs openvino

        mixed.export(Writer(options.into, options.into / "data"))
        return
    prefix = "fixture_" if options.fixtures else "sample_"
    standard = HERE.parent / "tests/fixtures/executorch" if options.fixtures else HERE
    folder = options.into or standard
    out = Writer(folder, folder / "data")
    for name, make in list(globals().items()):
        if name.startswith(prefix) and options.only in (None, name.removeprefix(prefix)):
            torch.manual_seed(20261102)
            make(out)


if __name__ == "__main__":
    main()
