"""A model's modules as the tree that a profile shows: walked, chosen from, and what runs in each.

The rule that people break: a module is its identity. One that is reachable by two names is one node
with two paths, and is measured once.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeAlias

from inferprobe._error import Error

Path: TypeAlias = str | Sequence[str]


@dataclass
class Node:
    """One module. `number` is that of its calls in the rings, -1: they are not watched."""

    path: str
    class_name: str
    parent: int
    depth: int
    parameters: int
    module: Any
    also: list[str] = field(default_factory=list)
    chosen: bool = True
    not_covered: str = ""
    number: int = -1
    function: Any = None
    own: bool = False
    compiled: bool = False  # it, or what it is in, runs as compiled code
    container: bool = False  # it has no forward: nobody calls it
    in_flight: str = ""  # what the profile's begin or end did to a call of its function
    exchanged: str = ""  # what was put in its place while it was watched


def walk(model: Any) -> list[Node]:
    """All modules, parents before their children, in the order of `named_modules`."""
    nodes: list[Node] = []
    place: dict[int, int] = {}
    taken: set[str] = set()
    waiting: list[tuple[str, Any, int]] = [("", model, -1)]
    while waiting:
        path, module, parent = waiting.pop()
        if parent >= 0:
            path = _unique(path, taken)
        known = place.get(id(module))
        if known is not None:
            nodes[known].also.append(path)
            continue
        at = place[id(module)] = len(nodes)
        above = nodes[parent] if parent >= 0 else None
        node = Node(
            path=path,
            class_name=type(module).__name__,
            parent=parent,
            depth=above.depth + 1 if above else 0,
            parameters=_parameters(module),
            module=module,
            compiled=_is_compiled(module) or (above is not None and above.compiled),
        )
        nodes.append(node)
        prefix = f"{path}." if path else ""
        children = [(prefix + name, m, at) for name, m in _children(module, path)]
        waiting.extend(reversed(children))
    return nodes


def _unique(path: str, taken: set[str]) -> str:
    """`path`, numbered if there is one: a child named "a.b" stands beside the "b" of "a"."""
    unique, number = path, 1
    while unique in taken or not unique:
        number += 1
        unique = f"{path}#{number}"
    taken.add(unique)
    return unique


def _children(module: Any, path: str) -> list[tuple[str, Any]]:
    """Names and modules. A name need not be text that a file can hold."""
    children: Any = getattr(module, "_modules", None)
    if not hasattr(children, "items"):  # a scripted module's is no dict
        what = f"{path or 'the model'} is a {type(module).__name__}"
        raise Error(
            "invalid_argument",
            f"{what} without a dictionary of modules",
            "call super().__init__() in its __init__ before anything else"
            if children is None
            else "give modules of torch.nn",
        )
    return [
        (str(name).encode("utf-8", "backslashreplace").decode(), child)
        for name, child in children.items()
        if child is not None
    ]


def _parameters(module: Any) -> int:
    """Of the module itself. Those of a lazy module are not known before its first call."""
    count = 0
    parameters = getattr(module, "_parameters", None)
    for parameter in parameters.values() if isinstance(parameters, dict) else ():
        try:
            count += int(parameter.numel()) if parameter is not None else 0
        except (RuntimeError, ValueError, TypeError, AttributeError):
            continue  # of a lazy module; or something that is no tensor
    return count


def _is_compiled(module: Any) -> bool:
    kind = type(module)
    return (
        kind.__name__ == "OptimizedModule" and kind.__module__.startswith("torch._dynamo")
    ) or getattr(module, "_compiled_call_impl", None) is not None


def choose(
    nodes: list[Node],
    paths: Iterable[Path] | None,
    include: Iterable[str],
    exclude: Iterable[str],
    depth: int | None,
) -> list[Node]:
    """Those that are wanted, and what they are in."""
    wanted = None
    if paths is not None:
        place = {id(node.module): at for at, node in enumerate(nodes)}
        by_path = {name: at for at, node in enumerate(nodes) for name in (*node.also, node.path)}
        wanted = {_find(nodes, place, by_path, path) for path in paths}
    includes, excludes = list(include), list(exclude)
    for at, node in enumerate(nodes):
        names = [node.path, *node.also]
        node.chosen = (
            (wanted is None or at in wanted)
            and (not includes or _matches(names, includes))
            and not _matches(names, excludes)
            and (depth is None or node.depth <= depth)
        )
    needed = [node.chosen for node in nodes]
    for at in range(len(nodes) - 1, 0, -1):
        if needed[at]:
            needed[nodes[at].parent] = True
    if not any(needed):
        raise Error(
            "invalid_argument", "no module is chosen", "widen paths, include, exclude or depth"
        )
    places: dict[int, int] = {}
    kept: list[Node] = []
    for at, node in enumerate(nodes):
        if not needed[at]:
            continue
        places[at] = len(kept)
        node.parent = places[node.parent] if node.parent >= 0 else -1
        kept.append(node)
    return kept


def _matches(names: list[str], globs: list[str]) -> bool:
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def _find(nodes: list[Node], place: dict[int, int], by_path: dict[str, int], path: Path) -> int:
    """The module at "features.3" or ("AlexNet", "features", "3"); the root is "" or its class.

    place: of a module's identity. by_path: of the paths that were walked. What is below a module
    that has two names is found by its modules."""
    root = nodes[0].class_name
    if isinstance(path, str):
        dotted = path
    elif not isinstance(path, list | tuple):
        raise Error(
            "invalid_argument",
            f"a path is {path!r}"[:200],
            f'give "features.3" or ({root!r}, "features", "3")',
        )
    else:
        parts = [str(part) for part in path]
        if not parts or parts[0] != root:
            raise Error(
                "invalid_argument",
                f"no module is at {tuple(parts)!r}",
                f"a tuple begins with the model's class: ({root!r}, ...)",
            )
        dotted = ".".join(parts[1:])
    if dotted in by_path:
        return by_path[dotted]
    module = nodes[0].module
    for part in dotted.split(".") if dotted else ():
        module = module._modules.get(part) if module is not None else None
    if module is not None:
        return place[id(module)]
    known = [name for node in nodes for name in (node.path, *node.also) if name]
    near = difflib.get_close_matches(dotted, known, 3, 0.4) or known[:3]
    hint = f"near it: {', '.join(near)}" if near else "the model has no modules inside"
    raise Error("invalid_argument", f"no module is at {dotted!r}", hint)


def find_forward(node: Node, script_module: type) -> None:
    """Sets what runs when the module is called, or why its calls cannot be seen."""
    forward = forward_of(node.module, script_module)
    node.function, node.own, node.not_covered = forward.function, forward.own, forward.why_not
    node.container = forward.container


class Forward(NamedTuple):
    function: Any = None  # a Python function, or None
    own: bool = False  # the instance has it itself, and it is not given the module
    why_not: str = ""
    container: bool = False


def forward_of(module: Any, script_module: type) -> Forward:
    if isinstance(module, script_module):
        return Forward(
            why_not="scripted: its calls stay inside TorchScript; its operators are of the module "
            "around it"
        )
    own = vars(module).get("forward")
    is_own = own is not None and not isinstance(own, types.MethodType)
    if isinstance(own, types.MethodType):
        if own.__self__ is not module:
            return Forward(why_not="its own forward is a method of another object")
        forward: Any = own.__func__
    elif own is not None:
        forward = own
    else:
        forward = next(
            (vars(c)["forward"] for c in type(module).__mro__ if "forward" in vars(c)), None
        )
    # What torch gives to classes without one: ModuleList, ParameterList, ModuleDict.
    if getattr(forward, "__name__", "") == "_forward_unimplemented":
        return Forward(container=True)
    if not isinstance(forward, types.FunctionType):
        kind = "missing" if forward is None else f"a {type(forward).__name__}, no Python function"
        return Forward(own=is_own, why_not=f"its forward is {kind}")
    return Forward(forward, is_own)
