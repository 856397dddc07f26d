"""Small PyTorch models with known answers, and the rows of a profile by path."""

from __future__ import annotations

import time
from typing import Any

import inferprobe
import torch
from torch import nn

MS = 1_000_000


class Sleeps(nn.Module):
    """Sleeps `before` ms, calls its children, sleeps `after` ms."""

    def __init__(self, before: float, after: float = 0, *children: nn.Module) -> None:
        super().__init__()
        self.before = before
        self.after = after
        self.inner = nn.ModuleList(children)

    def forward(self, x: Any) -> Any:
        time.sleep(self.before / 1000)
        for child in self.inner:
            x = child(x)
        time.sleep(self.after / 1000)
        return x


class Recursive(nn.Module):
    """Calls itself so often as its argument says, and a child at the bottom."""

    def __init__(self) -> None:
        super().__init__()
        self.leaf = nn.ReLU()

    def forward(self, x: Any, depth: int) -> Any:
        return self(x, depth - 1) if depth else self.leaf(x)


class Raises(nn.Module):
    """Its child works, and then it raises."""

    def __init__(self) -> None:
        super().__init__()
        self.child = nn.ReLU()

    def forward(self, x: Any) -> Any:
        self.child(x)
        raise ValueError("as it must be")


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def rows(profile: inferprobe.ModuleProfile) -> dict[str, dict[str, Any]]:
    """By path; figures that are missing are their status object."""
    return {row["path"]: row for row in profile.to_dict()["modules"]}


def calls(profile: inferprobe.ModuleProfile) -> dict[str, int]:
    """Of the modules that were called."""
    return {path: row["calls"] for path, row in rows(profile).items() if row["calls"]}


def statistic(profile: inferprobe.ModuleProfile, name: str) -> int:
    found: int = next(s["value"] for s in profile.to_dict()["statistics"] if s["name"] == name)
    return found


def operators(row: dict[str, Any]) -> set[str]:
    return {operator["name"] for operator in row.get("operators", ())}


def assert_adds_up(profile: inferprobe.ModuleProfile) -> None:
    """self + operators + children = total for each row, to the nanosecond."""
    for row in rows(profile).values():
        if row["calls"] == 0:
            continue
        parts = [row["self_cpu_ns"], row["children_cpu_ns"]]
        if isinstance(row["operators_cpu_ns"], int):
            parts.append(row["operators_cpu_ns"])
        assert min(parts) >= 0
        assert sum(parts) == row["total_cpu_ns"], row


X = torch.ones(3, 4)
