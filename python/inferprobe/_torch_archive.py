"""What a zip file of PyTorch's holds, told from its table of contents: nothing in it is run, and no
pickle is read.

The rule that people break: `.pt` says nothing. The same suffix is on weights, on whole modules that
only the class's own code can read, on TorchScript and on exported programs.
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass
from typing import Any

from inferprobe._error import Error

_INDUCTOR = "/data/aotinductor/"
_MOST_SOURCE = 64 << 20  # of generated code that is read


@dataclass
class Archive:
    """kind: "aotinductor" or "torchscript"."""

    kind: str
    models: list[str]  # of a package


def examine(path: str) -> Archive:
    """An error where it is nothing that can be run."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise Error("malformed", f"{path} is a damaged zip file: {error}") from None
    inside = {name.partition("/")[2] for name in names}
    models = sorted(
        {name.partition(_INDUCTOR)[2].split("/")[0] for name in names if _INDUCTOR in name}
    )
    if models:
        return Archive("aotinductor", models)
    if "constants.pkl" in inside and any(name.startswith("code/") for name in inside):
        return Archive("torchscript", [])
    if any(name.startswith("models/") and name.endswith(".json") for name in inside):
        raise Error(
            "unsupported",
            f"{path} is an exported program (torch.export.save): it is not compiled",
            "compile it with torch._inductor.aoti_compile_and_package, or write a function that "
            "returns torch.export.load(...).module(), and measure FILE.py:FUNCTION",
        )
    if "data.pkl" in inside:
        raise Error(
            "unsupported",
            f"{path} holds weights or a pickled module, and no program that runs by itself",
            "write a function that makes the module and loads them, and measure FILE.py:FUNCTION",
        )
    first = ", ".join(sorted(names)[:3]) or "nothing"
    raise Error(
        "malformed",
        f"{path} is a zip file without a model of PyTorch; it holds {first}",
        "known are AOTInductor packages (.pt2) and TorchScript (.pt)",
    )


@dataclass
class Package:
    """What the generated code of one compiled model says about it."""

    inputs: dict[int, tuple[str, list[int | None]]]  # type, and shape: None where it is open
    kernels_profiled: bool | None  # None: not known
    device: str


# torch's own names of types, as the code checks them: `aoti_torch_dtype_float32()`.
_INPUT = re.compile(r"static void check_input_(\d+)\(\s*AtenTensorHandle\*.*?\n\}", re.DOTALL)
_TYPE = re.compile(r"_expected_dtype = aoti_torch_dtype_(\w+)\(\)")
_FIXED = re.compile(r"if \((\d+) != \w+_size\[(\d+)\]\)")
_ANY = re.compile(r"\w+_size\[(\d+)\]")


def read_package(path: str, model: str) -> Package:
    """From the C++ that the package carries beside the library; without it, nothing is known."""
    sources = []
    device = "cpu"
    with zipfile.ZipFile(path) as file:
        left = _MOST_SOURCE
        for entry in file.infolist():
            if f"{_INDUCTOR}{model}/" not in entry.filename:
                continue
            if entry.filename.endswith(".cpp") and entry.file_size <= left:
                left -= entry.file_size
                sources.append(_read(file, entry, path).decode("utf-8", "replace"))
            elif entry.filename.endswith("wrapper_metadata.json") and entry.file_size <= 1 << 20:
                device = _device(_read(file, entry, path))
    inputs = {}
    for source in sources:
        for check in _INPUT.finditer(source):
            kind = _TYPE.search(check[0])
            # A scalar has no size that is looked at.
            rank = 1 + max((int(i) for i in _ANY.findall(check[0])), default=-1)
            shape: list[int | None] = [None] * rank
            for extent, index in _FIXED.findall(check[0]):
                shape[int(index)] = int(extent)
            if kind:
                inputs[int(check[1])] = (kind[1], shape)
    profiled = any("RecordFunctionHandle record_" in source for source in sources)
    return Package(inputs, profiled if sources else None, device)


def _read(file: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str) -> bytes:
    try:
        return file.read(entry)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
        raise Error("malformed", f"{path} is damaged: {entry.filename}: {error}") from None


def _device(text: bytes) -> str:
    try:
        facts: Any = json.loads(text)
        return str(facts.get("AOTI_DEVICE_KEY", "cpu"))
    except (ValueError, AttributeError):
        return "cpu"
