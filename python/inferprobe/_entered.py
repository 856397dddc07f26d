"""What an entered profile holds of the process: watched modules, a place in the shared recording.

The rule that people break: it knows its profile by a weak reference alone. A profile that is gone
before its block ends must be found out about, and all of this given back.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import TYPE_CHECKING

from inferprobe import _core, _module_tree
from inferprobe._module_tree import Node

if TYPE_CHECKING:
    from inferprobe._profile import ModuleProfile


class Entered:
    """From entering a profile to leaving it, by its block or otherwise."""

    def __init__(self, profile: weakref.ref[ModuleProfile]) -> None:
        self.profile = profile
        self.over = False
        self.forked = False  # this is the child of a process that goes on with it
        self.native: _core.ModuleRecording | None = None
        self.window: _core.Window | None = None
        self.capacity = 0  # of the recording, which another profile may have started
        self.operators = False  # it is one of those that torch's profiler runs for
        self.tree: list[Node] = []
        self.in_flight: dict[int, CodeType] = {}  # calls that had begun before

    def watch(self) -> None:
        import torch

        for node in self.tree:
            if not node.chosen:
                continue
            _module_tree.find_forward(node, torch.jit.ScriptModule)
            if node.function is None:
                continue
            node.number, node.not_covered = _core.watch_module(node.module, node.function, node.own)

    def unwatch(self) -> None:
        try:
            self._look_again()
        finally:
            for node in self.tree:
                if node.number >= 0 and node.module is not None:
                    _core.unwatch_module(node.module, node.function, node.own)
                node.module = node.function = None

    def _look_again(self) -> None:
        """Whether what was watched is still what runs."""
        import torch

        inside: dict[int, set[int]] = {}  # by the parent's place: what it has now
        for node in self.tree:
            if node.number < 0 or node.module is None:
                continue
            now = _module_tree.forward_of(node.module, torch.jit.ScriptModule)
            if now.function is not node.function or now.own != node.own:
                node.exchanged = "its forward was exchanged while it was watched"
                continue
            if node.parent < 0:
                continue
            if node.parent not in inside:
                modules = self.tree[node.parent].module._modules.values()
                inside[node.parent] = {id(module) for module in modules}
            if id(node.module) not in inside[node.parent]:
                node.exchanged = "it was taken out of the model while it was watched"

    def describe_exchanged(self, called: set[int]) -> list[tuple[str, str]]:
        """Of modules with calls; those without say themselves why."""
        said = []
        for node in self.tree:
            if not node.exchanged:
                continue
            why = f"{node.exchanged}: calls of what came in its place are missing"
            if node.number in called:
                said.append((node.path or node.class_name, why))
            else:
                node.not_covered = why
        return said
