"""Models for the tests of PyTorch's engine, as a user writes them: FILE.py:FUNCTION."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch_packages import KINDS


class Net(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        y = self.second(torch.relu(self.first(x)))
        return y if mask is None else y * mask

    def double(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


class Plain(torch.nn.Module):  # type: ignore[misc]
    """Without a choice: what TorchScript and AOTInductor take."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def plain() -> torch.nn.Module:
    print("what a factory prints", flush=True)
    print("also on stderr", file=sys.stderr, flush=True)
    return Net()


def with_example() -> Any:
    return Net(), torch.full((3, 8), 0.5)


def with_tuple() -> Any:
    return Net(), (torch.full((3, 8), 0.5), torch.ones(3, 1))


def by_name() -> Any:
    return Net(), {"x": torch.full((3, 8), 0.5), "mask": torch.zeros(3, 1)}


class AllTypes(torch.nn.Module):  # type: ignore[misc]
    def forward(self, tensors: list[torch.Tensor], scale: float) -> dict[str, Any]:
        return {"same": tensors, "scale": scale, "sparse": torch.eye(2).to_sparse()}


def all_types() -> Any:
    return AllTypes(), ([torch.ones(2, dtype=getattr(torch, kind)) for kind in KINDS], 2.0)


class InTraining(torch.nn.Module):  # type: ignore[misc]
    """Says which mode it is in."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training or not torch.is_inference_mode_enabled():
            raise RuntimeError("it is trained")
        return x


def trained() -> Any:
    return InTraining(), torch.ones(1)


class Fails(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError(f"not this time, with {x.dim()} dimension")


def fails() -> Any:
    return Fails(), torch.ones(1)


class Exits(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sys.exit(2 + x.dim())


def exits_in_forward() -> Any:
    return Exits(), torch.ones(1)


def exits() -> Any:
    sys.exit(3)


def raises() -> Any:
    raise ValueError("no weights here")


def number() -> Any:
    return 3


def misfit() -> Any:
    return Net(), (torch.ones(1), torch.ones(1), torch.ones(1))


module = Plain()
constant = 3
