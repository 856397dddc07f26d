"""Calls of modules that a profile's begin or end falls into: they are in no row, and it is said.

The rule that people break: no frame is kept, and its variables are not looked at. Either would keep
the caller's tensors alive. So a call is known by its function alone, not by its module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FunctionType

from inferprobe._module_tree import Node

HAD_BEGUN = "a call of this class's forward had begun before the profile: it is in no row"
HAD_NOT_ENDED = "a call of this class's forward had not ended when the profile did: it is in no row"


def calls_in_flight(nodes: Iterable[Node]) -> dict[int, CodeType]:
    """What each thread is calling now of the functions that these modules run, by frame."""
    codes = {n.function.__code__ for n in nodes if isinstance(n.function, FunctionType)}
    found: dict[int, CodeType] = {}
    for top in sys._current_frames().values():
        frame = top
        while frame is not None:
            if frame.f_code in codes:
                found[id(frame)] = frame.f_code
            frame = frame.f_back  # type: ignore[assignment]
    return found


def mark_calls_in_flight(
    nodes: Iterable[Node], before: dict[int, CodeType], after: dict[int, CodeType]
) -> None:
    """Leaves in each node whose function was called so why its rows may lack a call."""
    ended_late = {code for frame, code in after.items() if frame not in before}
    begun_early = set(before.values())
    for node in nodes:
        if node.number < 0:
            continue
        code = getattr(node.function, "__code__", None)
        if code in begun_early:
            node.in_flight = HAD_BEGUN
        elif code in ended_late:
            node.in_flight = HAD_NOT_ENDED


def describe_calls_in_flight(nodes: list[Node], called: set[int]) -> list[tuple[str, str]]:
    """What was not covered for that. A module that alone may have been it says so in its row."""
    by_class: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        if node.in_flight:
            by_class.setdefault((node.class_name, node.in_flight), []).append(node)
    said = []
    for (class_name, why), candidates in by_class.items():
        if len(candidates) == 1 and candidates[0].number not in called:
            candidates[0].not_covered = why
        else:
            said.append((f"class {class_name}", why))
    return said
