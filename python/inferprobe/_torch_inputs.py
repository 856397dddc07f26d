"""What a model of PyTorch is fed with: tensors in the arguments of a call.

    form = from_example(signature, (x, mask))      # or from_request(...), where there is no example
    form.expect(files, shapes)                     # --input and --shape
    form.specs()                                   # name, type, shape of each tensor
    arguments, keywords = form.fill(tensors)

The rule that people break: a module of PyTorch does not say what it takes. Without an example it is
the user who says it, and what nobody has said is an error, not a guess.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from inferprobe import _core
from inferprobe._error import Error

# As the native side names types.
TYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        *("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
    if hasattr(torch, name)
}
NAMES = {dtype: name for name, dtype in TYPES.items()}

HOW = (
    "give its shape (--shape {0}=1x3x224x224, float32) or its values (--input {0}=FILE.npy), or "
    "let the function return (model, example_inputs)"
)

TensorBytes = tuple[str, list[int], bytes]  # type, shape, and the elements


@dataclass
class Slot:
    """One tensor among the arguments."""

    name: str
    leaf: int
    type: str = "float32"
    shape: list[int] | None = None  # None: not known yet
    # Of a compiled program: None is an extent that it leaves open. It takes no other.
    fixed: list[int | None] | None = None


@dataclass
class Form:
    """The arguments of a call, with places for tensors."""

    slots: list[Slot]
    leaves: list[Any]
    tree: Any  # of (arguments, keywords)
    example: list[TensorBytes] = field(default_factory=list)
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    called: str = "forward"

    def expect(self, files: Sequence[str], shapes: Sequence[str]) -> None:
        """Takes types and shapes from what the user gives. What fits no input is left to whoever
        reads the files: it has the words for it."""
        taken: set[int] = set()
        for text in files:
            index, file = self._assign(text, taken)
            if index is None:
                continue
            taken.add(index)
            found = _core.npy_spec(file)
            if found is None:
                continue
            slot = self.slots[index]
            kind, shape = found
            if slot.fixed is None:
                # numpy has no bfloat16: its bits come as uint16.
                if not (slot.type == "bfloat16" and kind == "uint16"):
                    slot.type = kind
                slot.shape = list(shape)
            elif _fits(slot.fixed, shape):
                slot.shape = list(shape)
        for text in shapes:
            name, equals, value = text.partition("=")
            index = self._find(name) if equals else (0 if len(self.slots) == 1 else None)
            extents = _extents(value if equals else text)
            if index is None or extents is None:
                continue
            slot = self.slots[index]
            if slot.fixed is None or _fits(slot.fixed, extents):
                slot.shape = extents
        for index, slot in enumerate(self.slots):
            if slot.shape is None:
                raise _unknown(self.called, index, slot)

    def specs(self) -> list[tuple[str, str, list[int]]]:
        return [(slot.name, slot.type, slot.shape or []) for slot in self.slots]

    def fill(self, tensors: Sequence[TensorBytes]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        leaves = list(self.leaves)
        for slot, (kind, shape, data) in zip(self.slots, tensors, strict=True):
            leaves[slot.leaf] = tensor_of(kind, shape, data).to(self.device)
        arguments, keywords = pytree.tree_unflatten(leaves, self.tree)
        return tuple(arguments), dict(keywords)

    def _find(self, key: str) -> int | None:
        for index, slot in enumerate(self.slots):
            if key and slot.name == key:
                return index
        return int(key) if key.isdecimal() and int(key) < len(self.slots) else None

    def _assign(self, text: str, taken: set[int]) -> tuple[int | None, str]:
        key, equals, file = text.partition("=")
        index = self._find(key) if equals else None
        if index is not None:
            return index, file
        free = [i for i in range(len(self.slots)) if i not in taken]
        return (free[0] if free else None), text


def from_example(signature: inspect.Signature | None, example: Any, called: str) -> Form:
    """`example`: a tensor, a tuple of arguments, or a dict of them by name."""
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    if isinstance(example, Mapping):
        keywords = dict(example)
    elif isinstance(example, tuple | list):
        arguments = tuple(example)
    else:
        arguments = (example,)
    if signature is not None:
        try:
            signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise Error(
                "invalid_argument",
                f"the example inputs do not fit {called}{signature}: {error}",
                "give a tensor, a tuple of arguments, or a dict of them by name",
            ) from None
    names = [] if signature is None else _positional_names(signature)
    flat, tree = pytree.tree_flatten_with_path((arguments, keywords))
    slots = []
    contents = []
    device = torch.device("cpu")
    for index, (path, leaf) in enumerate(flat):
        if not isinstance(leaf, torch.Tensor):
            continue
        name = _name(path, names)
        if leaf.dtype not in NAMES or leaf.layout is not torch.strided:
            raise Error(
                "unsupported",
                f'example input "{name}" is a tensor of {leaf.dtype}, {leaf.layout}',
                "types: " + ", ".join(TYPES),
            )
        device = leaf.device
        contents.append(bytes_of(leaf))
        slots.append(Slot(name, index, NAMES[leaf.dtype], list(leaf.shape)))
    return Form(slots, [leaf for _, leaf in flat], tree, contents, device, called)


def from_request(
    signature: inspect.Signature | None, files: Sequence[str], shapes: Sequence[str], called: str
) -> Form:
    """What must be given, and what the user gives of the rest."""
    if signature is None:
        raise Error(
            "unsupported",
            f"what {called} takes is not known: it has no signature",
            "let the function return (model, example_inputs)",
        )
    keys = {text.partition("=")[0] for text in (*files, *shapes) if "=" in text}
    unnamed = sum("=" not in text for text in files)
    positional: list[str] = []
    by_name: list[str] = []
    optional: list[str] = []
    rest = ""
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = parameter.name
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.default is not parameter.empty:
            optional.append(parameter.name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            by_name.append(parameter.name)
        else:
            positional.append(parameter.name)
    more = unnamed - len(positional) - len(by_name)
    for name in optional:
        if name in keys or more > 0:
            more -= name not in keys
            by_name.append(name)
    arguments: list[Any] = [None] * len(positional)
    if rest and more > 0:
        positional += [f"{rest}{i}" for i in range(more)]
        arguments += [None] * more
    leaves, tree = pytree.tree_flatten(
        (tuple(arguments), dict.fromkeys(by_name)), is_leaf=lambda value: value is None
    )
    slots = [Slot(name, index) for index, name in enumerate([*positional, *by_name])]
    return Form(slots, leaves, tree, called=f"{called}{signature}")


def tensor_of(kind: str, shape: Sequence[int], data: bytes) -> torch.Tensor:
    if not data:
        return torch.empty(list(shape), dtype=TYPES[kind])
    # A copy, where torch's allocator puts it: aligned as any other tensor.
    return torch.frombuffer(bytearray(data), dtype=TYPES[kind]).reshape(list(shape)).clone()


def bytes_of(tensor: torch.Tensor) -> TensorBytes:
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    size = plain.numel() * plain.element_size()
    data = ctypes.string_at(plain.data_ptr(), size) if size else b""
    return NAMES[plain.dtype], list(plain.shape), data


def tensors_in(result: Any) -> list[tuple[str, torch.Tensor]]:
    """Those that can be compared: not sparse, quantized, nested, or without memory."""
    found = []
    for path, leaf in pytree.tree_flatten_with_path(result)[0]:
        if (
            isinstance(leaf, torch.Tensor)
            and leaf.layout is torch.strided
            and leaf.dtype in NAMES
            and not leaf.is_nested
            and not leaf.is_meta
        ):
            found.append((_text(path), leaf))
    return found


def _unknown(called: str, index: int, slot: Slot) -> Error:
    name = slot.name or str(index)
    what = f'input {index} "{slot.name}"' if slot.name else f"input {index}"
    if slot.fixed is not None:
        extents = ",".join("any" if extent is None else str(extent) for extent in slot.fixed)
        return Error(
            "invalid_argument",
            f"{what} is {slot.type}[{extents}]: the program leaves its shape open",
            f"give its shape (--shape {name}=...) or its values (--input {name}=FILE.npy)",
        )
    return Error(
        "invalid_argument",
        f"{what} of {called}: nobody has said what it is",
        HOW.format(name),
    )


def _fits(fixed: Sequence[int | None], shape: Sequence[int]) -> bool:
    return len(fixed) == len(shape) and all(
        one is None or one == other for one, other in zip(fixed, shape, strict=True)
    )


def _extents(text: str) -> list[int] | None:
    if not text:
        return []
    parts = text.replace(",", "x").split("x")
    return [int(part) for part in parts] if all(part.isdecimal() for part in parts) else None


def _positional_names(signature: inspect.Signature) -> list[str]:
    return [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def _name(path: Sequence[Any], names: Sequence[str]) -> str:
    """Of a tensor at `path` in (arguments, keywords): "x", "cache.0"."""
    if path[0].idx == 0:
        index = path[1].idx
        first = names[index] if index < len(names) else f"arg{index}"
    else:
        first = str(path[1].key)
    return ".".join([first, *([_text(path[2:])] if len(path) > 2 else [])])


def _text(path: Sequence[Any]) -> str:
    parts = []
    for key in path:
        for attribute in ("key", "idx", "name"):
            if hasattr(key, attribute):
                parts.append(str(getattr(key, attribute)))
                break
    return ".".join(parts)
