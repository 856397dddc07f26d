"""The engine of PyTorch: what `inferprobe perf` runs where MODEL is FILE.py:FUNCTION, an
AOTInductor package (.pt2) or TorchScript (.pt). The native side (python/engine.cc) measures; this
loads, and says what is there.

The rule that people break: a call is `model(*inputs)` as a Python program makes it, in evaluation
mode and under torch.inference_mode(), and nothing of ours is in it.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from inferprobe import (
    _core,
    _module_tree,
    _profile,
    _torch_archive,
    _torch_inputs,
    _torch_profiler,
)
from inferprobe._error import Error
from inferprobe._torch_inputs import Form, Slot, TensorBytes
from inferprobe._torch_profiler import NOT_REQUESTED, Status
from inferprobe._worker import exception_text

_MODE = "in evaluation mode (model.eval()), under torch.inference_mode()"


class TorchPlugin:
    """What the native side asks of the engine."""

    def describe(self) -> tuple[str, list[str]]:
        """Version, and notes."""
        return torch.__version__, [
            "modules (FILE.py:FUNCTION) and operators are seen; of AOTInductor packages and "
            "TorchScript operators alone",
            f"{torch.get_num_threads()} threads by default",
            f"{sys.executable}, Python {sys.version.split()[0]}",
        ]

    def load(self, path: str, method: str, threads: int, level: str) -> LoadedModel:
        if level not in ("off", "delegate"):
            raise Error(
                "unsupported",
                f"level {level} is of delegates, and PyTorch has none",
                "at level delegate, the default, modules and operators are seen; at off, nothing",
            )
        if threads > 0:
            torch.set_num_threads(threads)
        file, factory = _split(path)
        loaded: LoadedModel
        if factory:
            loaded = _load_factory(file, factory, method)
        else:
            archive = _torch_archive.examine(file)
            if archive.kind == "aotinductor":
                loaded = _load_package(file, archive, method)
            else:
                loaded = _load_script(file, method)
        loaded.path = path
        loaded.file = file
        loaded.look_at(level)
        return loaded


class LoadedModel:
    """A model and its inputs. Attributes are what the native side reads."""

    def __init__(
        self,
        target: Callable[..., Any],
        *,
        format: str,  # noqa: A002
        method: str,
        form: Form | None = None,
        signature: inspect.Signature | None = None,
        module: torch.nn.Module | None = None,
        methods: Sequence[str] = (),
    ) -> None:
        self.path = self.file = ""
        self.function = target
        self.arguments: tuple[Any, ...] = ()
        self.keywords: dict[str, Any] | None = None
        self.synchronize: Callable[[], None] | None = None
        self.format = format
        self.method = method
        self.methods = list(methods) or [method]
        self.module = module
        self.notes: list[str] = []
        self.hidden: list[tuple[str, str]] = []  # (what, why): there is no tree of modules
        self.tree: list[_module_tree.Node] = []
        self.operators = self.device = NOT_REQUESTED
        self.not_covered: list[tuple[str, str]] = []
        self._observes = self._called = self._news = False
        self._started: _torch_profiler.Started | None = None
        self.outputs: list[tuple[str, str, list[int]]] = []
        self._inference: Any = None
        self._form = form
        self._signature = signature

    def engine_facts(self) -> tuple[str, list[str], int]:
        backends = [f"cpu ({torch.backends.cpu.get_cpu_capability()})"]
        for name in ("mkldnn", "mkl", "openmp"):
            if getattr(torch.backends, name).is_available():
                backends.append(name)
        if torch.cuda.is_available():
            backends.append("cuda")
        return torch.__version__, backends, torch.get_num_threads()

    def expect_inputs(self, files: Sequence[str], shapes: Sequence[str]) -> None:
        if self._form is None:
            called = self.method
            self._form = _torch_inputs.from_request(self._signature, files, shapes, called)
            if self.module is not None:
                self._form.device = next(
                    (tensor.device for tensor in self.module.parameters()), torch.device("cpu")
                )
        self._form.expect(files, shapes)

    def inputs(self) -> list[tuple[str, str, list[int]]]:
        return [] if self._form is None else self._form.specs()

    def example(self) -> list[TensorBytes]:
        return [] if self._form is None else self._form.example

    def set_inputs(self, tensors: Sequence[TensorBytes]) -> None:
        assert self._form is not None
        self.arguments, keywords = self._form.fill(tensors)
        self.keywords = keywords or None
        devices = {leaf.device.type for leaf in pytree.tree_leaves((self.arguments, keywords))
                   if isinstance(leaf, torch.Tensor)}  # fmt: skip
        if "cuda" in devices:
            self.synchronize = torch.cuda.synchronize
        if self._inference is None:
            # Of this thread, which runs the model, as long as the object lives.
            self._inference = torch.inference_mode()
            self._inference.__enter__()

    def tensors(self, result: Any) -> list[TensorBytes]:
        found = _torch_inputs.tensors_in(result)
        contents = [_torch_inputs.bytes_of(tensor) for _, tensor in found]
        self.outputs = [
            (name, kind, shape) for (name, _), (kind, shape, _) in zip(found, contents, strict=True)
        ]
        return contents

    def look_at(self, level: str) -> None:
        """What observed runs shall see."""
        if level == "off":
            self.operators = self.device = Status("not_requested", "--level off looks at nothing")
            self.not_covered = [("modules", "--level off looks at nothing")]
            return
        self._observes = True
        self.operators = self.device = _torch_profiler.RECORDED
        if self.module is not None and not self.hidden:
            self.tree = _module_tree.walk(self.module)
            for node in self.tree:
                _module_tree.find_forward(node, torch.jit.ScriptModule)
        self.not_covered = list(self.hidden)

    def before_observed(self) -> None:
        if not self._observes:
            return
        # Its number is its place in the tree. Between observed runs nothing is watched: runs that
        # are not observed are those of the model alone.
        for place, node in enumerate(self.tree):
            if node.function is not None:
                name = f"{node.path} {node.class_name}".lstrip()
                number, why = _core.watch_module(node.module, node.function, node.own, place, name)
                node.number = number
                node.not_covered = why
        self._started = _torch_profiler.start(memory=False)

    def end_observed(self) -> _torch_profiler.Recorded | None:
        if self._started is None:
            return None
        recorded = self._started.stop()
        self._started = None
        for node in self.tree:
            if node.number >= 0:
                _core.unwatch_module(node.module, node.function, node.own)
        self._note(recorded)
        return None if recorded.operators_status.why else recorded

    def _note(self, recorded: _torch_profiler.Recorded) -> None:
        """A run without operators is said, also when others have them."""
        for name, status in (
            ("operators", recorded.operators_status),
            ("device", recorded.device_status),
        ):
            if status.why and getattr(self, name) != status:
                setattr(self, name, status)
                self._news = True
        for what in recorded.not_covered:
            if what not in self.not_covered:
                self.not_covered.append(what)
                self._news = True

    def placed(self, agreed: bool) -> None:
        """Whether the operators that came last found their place in our time."""
        if not agreed:
            self.operators = Status("unavailable", "torch's clock and ours did not agree")
            self._news = True

    def says_more(self, called: list[int]) -> bool:
        """Whether what is known of the modules has changed. `called`: numbers, in this run."""
        if not self._called:
            self._called = True
            self._news = True
            self.not_covered += _profile.describe_uncalled(self.tree, set(called))
            if self.tree and sys.version_info < (3, 12):
                self.not_covered.append(_profile.DIRECT_CALLS)
        news, self._news = self._news, False
        return news


def _split(path: str) -> tuple[str, str]:
    """As measure/model_name.h."""
    at = path.rfind(".py:")
    if at < 0 or Path(path).exists():
        return path, ""
    return path[: at + 3], path[at + 4 :]


def _load_factory(file: str, name: str, method: str) -> LoadedModel:
    made = _make(file, name)
    example: tuple[Any] | None = None
    if isinstance(made, tuple) and len(made) == 2:
        made, example = made[0], (made[1],)
    if not callable(made):
        raise Error(
            "invalid_argument",
            f"{name} gave {type(made).__name__}, which cannot be called",
            "return program.module()" if type(made).__name__ == "ExportedProgram"
            else "return a torch.nn.Module, or (module, example_inputs)",
        )  # fmt: skip
    module = made if isinstance(made, torch.nn.Module) else None
    notes = []
    if module is not None:
        try:
            module.eval()
            notes.append(_MODE)
        except NotImplementedError:  # of a module that was exported
            notes.append("it has no eval() and runs as it was made, under torch.inference_mode()")
    target = _method(made, method, name)
    signature = _signature(made.forward if method == "forward" and module is not None else target)
    form = None
    if example is not None:
        form = _torch_inputs.from_example(signature, example[0], method)
    loaded = LoadedModel(
        target, format="pytorch", method=method, form=form, signature=signature, module=module
    )
    loaded.notes = notes
    if module is None:
        loaded.hidden = [("modules", f"{name} gave {type(made).__name__}, no torch.nn.Module")]
    return loaded


def _make(file: str, name: str) -> Any:
    """What the user's function returns, or the object of that name."""
    thing: Any = _import(file)
    for part in name.split("."):
        if not hasattr(thing, part):
            there = [n for n, v in vars(thing).items() if callable(v) and not n.startswith("_")]
            raise Error(
                "not_found",
                f'{file} has no "{name}"',
                "it has " + (", ".join(there[:20]) or "no function"),
            )
        thing = getattr(thing, part)
    if isinstance(thing, torch.nn.Module):
        return thing
    if not callable(thing):
        raise Error(
            "invalid_argument",
            f"{name} in {file} is {type(thing).__name__}, no function",
            "name a function that returns a torch.nn.Module, or (module, example_inputs)",
        )
    try:
        return thing()
    except (Exception, SystemExit) as error:
        raise Error("engine", f"{name}() raised {exception_text(error)}") from None


def _import(file: str) -> ModuleType:
    path = Path(file).resolve()
    name = path.stem
    if not name.isidentifier() or name in sys.modules:
        name = "inferprobe_model"
    sys.path.insert(0, str(path.parent))  # as `python FILE` has it
    sys.argv = [str(path)]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise Error("engine", f"importing {file} raised {exception_text(error)}") from None
    return module


def _method(made: Any, method: str, name: str) -> Callable[..., Any]:
    if method == "forward":
        return made  # type: ignore[no-any-return]
    target = getattr(made, method, None)
    if not callable(target):
        raise Error("not_found", f'what {name} gave has no method "{method}"')
    return target  # type: ignore[no-any-return]


def _signature(target: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):
        return None


def _load_script(file: str, method: str) -> LoadedModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TorchScript is deprecated
        try:
            module = torch.jit.load(file, map_location="cpu")
        except Exception as error:
            raise Error(
                "malformed", f"{file} cannot be loaded as TorchScript: {_first(error)}"
            ) from None
    module.eval()
    methods = [name for name in module._c._method_names() if not name.startswith("__")]
    if method not in methods:
        raise Error("not_found", f'{file} has no method "{method}"', "it has " + ", ".join(methods))
    target = module if method == "forward" else getattr(module, method)
    parameters = [
        inspect.Parameter(
            argument.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None if argument.has_default_value() else inspect.Parameter.empty,
        )
        for argument in getattr(module, method).schema.arguments[1:]
    ]
    loaded = LoadedModel(
        target,
        format="torchscript",
        method=method,
        signature=inspect.Signature(parameters),
        methods=methods,
    )
    loaded.notes = [_MODE]
    loaded.hidden = [
        ("modules", "TorchScript runs without Python: calls of its modules cannot be watched")
    ]
    return loaded


def _load_package(file: str, archive: _torch_archive.Archive, method: str) -> LoadedModel:
    models = archive.models
    name = method if method in models else models[0]
    if method not in models and (method != "forward" or len(models) > 1):
        raise Error(
            "not_found", f'{file} has no model "{method}"', "--method, of " + ", ".join(models)
        )
    package = _torch_archive.read_package(file, name)
    if package.device.startswith("cuda") and not torch.cuda.is_available():
        raise Error("unsupported", f"{file} was compiled for {package.device}, which is not here")
    # What the program does not check by itself: another shape would be read beyond its end.
    os.environ.setdefault("AOTI_RUNTIME_CHECK_INPUTS", "1")
    try:
        from torch._inductor.package import load_package

        model = load_package(file, name)
        in_spec = model.loader.get_call_spec()[0]
        tree = pytree.treespec_loads(in_spec)
    except Exception as error:
        raise Error("malformed", f"{file} cannot be loaded: {_first(error)}") from None
    loaded = LoadedModel(
        model,
        format="aotinductor",
        method=name,
        form=_package_form(tree, package),
        methods=models,
    )
    loaded.hidden = [("modules", "AOTInductor compiled them: no module is left at run time")]
    loaded.notes = ["not seen: modules (they are compiled), and the program's OpenMP regions"]
    if not package.kernels_profiled:
        loaded.notes.append(
            "not seen: fused kernels, as it was compiled without their profiling; compile it with "
            'inductor_configs={"cpp.enable_kernel_profile": True}'
        )
    return loaded


def _package_form(tree: Any, package: _torch_archive.Package) -> Form:
    leaves = list(range(tree.num_leaves))
    _, keywords = pytree.tree_unflatten(leaves, tree)
    names = {value: key for key, value in keywords.items() if isinstance(value, int)}
    slots = []
    for index in leaves:
        kind, fixed = package.inputs.get(index, ("float32", None))
        slot = Slot(names.get(index, ""), index, kind, fixed=fixed)
        if fixed is not None and None not in fixed:
            slot.shape = [extent for extent in fixed if extent is not None]
        slots.append(slot)
    device = torch.device("cuda" if package.device.startswith("cuda") else "cpu")
    return Form(slots, leaves, tree, device=device, called="the program")


def _first(error: BaseException) -> str:
    """torch's errors go on with its own call stack."""
    text = re.split(r"\n(?:Exception raised from|C\+\+ CapturedTraceback)", str(error))[0]
    return f"{type(error).__name__}: {' '.join(text.split())[:500]}"
