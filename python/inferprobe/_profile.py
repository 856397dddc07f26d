"""`profile`: where the time of a PyTorch model goes, module by module, in the user's own program.

    with inferprobe.profile(model) as prof:
        model(x)
    print(prof)

The rule that people break: a profile is entered once. Two different ones may nest: they share one
recording, and each shows what ran inside of it, of its own modules.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from inferprobe import _core, _module_tree
from inferprobe._calls_in_flight import describe_calls_in_flight
from inferprobe._entered import Entered
from inferprobe._error import Error
from inferprobe._load import load
from inferprobe._module_comparison import ModuleComparison, bends_of, rows_of
from inferprobe._module_tree import Node
from inferprobe._module_views import notes_of, operators_to_pandas, to_html, to_pandas
from inferprobe._path import path_text, saving
from inferprobe._result import Result
from inferprobe._shared_recording import FORKED, shared
from inferprobe._torch_profiler import NOT_REQUESTED, Recorded, Status

if TYPE_CHECKING:
    import pandas as pd

_MOST_CALLS = 2**26
DIRECT_CALLS = (
    "calls of forward itself, m.forward(x)",
    "Python 3.11 makes them without asking: call the module, m(x)",
)
_DEVICES = ("auto", "cpu", "cuda", "xpu", "mtia", "hpu")
_LATER = Status(
    "unavailable",
    "torch's profiler serves another profile that is still running: operators come when it ends",
)


# What users of torch.profiler look for.
_OF_TORCH = {
    "export_chrome_trace": 'save("run.pftrace") writes a trace for ui.perfetto.dev',
    "events": "raw() has the operators of each call",
    "key_averages": "display(show_events=True), or to_pandas(operators=True)",
    "step": "there is no schedule: all runs inside the block count",
}


class ModuleEvent(NamedTuple):
    """An operator that a module called. Times are CLOCK_MONOTONIC."""

    name: str
    start_ns: int
    dur_ns: int
    self_ns: int  # without the operators and modules inside
    depth: int  # operators around it, up to the module
    thread_id: int
    # Allocated minus freed, with what is inside; None: not recorded.
    bytes: int | None
    device_bytes: int | None


class ModuleProfile:
    """What `profile` returns: a context manager, and afterwards what was measured."""

    def __init__(
        self,
        model: Any,
        *,
        device: str,
        memory: bool,
        detail: str,
        paths: Iterable[_module_tree.Path] | None,
        include: Iterable[str],
        exclude: Iterable[str],
        depth: int | None,
        capacity: int,
        enabled: bool,
    ) -> None:
        self._model = model
        self._enabled = bool(enabled)
        self._entered: Entered | None = None
        if not self._enabled:
            return
        _check(model, device, memory, detail, depth, capacity)
        self._device = device
        self._memory = memory
        self._operators = detail == "ops"
        self._choice = (
            None if paths is None else _list("paths", paths),
            _globs("include", include),
            _globs("exclude", exclude),
            depth,
        )
        self._capacity = capacity
        self._recorded: Recorded | None = None
        self._memory_was_on = memory
        self._made: _core.ModuleProfile | None = None
        self._result: Result | None = None
        self._choose()  # so that a wrong path is an error here

    def __enter__(self) -> ModuleProfile:
        if self._entered is not None:
            raise RuntimeError("inferprobe.profile is not reentrant: make a new one")
        entered = self._entered = Entered(weakref.ref(self))
        if not self._enabled:
            return self
        try:
            shared.enter(entered, self)
        except BaseException:
            self._entered = None  # as if it had not been tried
            raise
        self._finalizer = weakref.finalize(self, shared.abandon, entered)
        self._finalizer.atexit = False  # end_all() comes earlier
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        entered = self._entered
        if entered is None or entered.over:
            return
        if not self._enabled:
            entered.over = True
            return
        try:
            shared.leave(entered)
        finally:
            if entered.over:
                self._finalizer.detach()
        self._model = None

    @property
    def _state(self) -> str:
        if self._entered is None:
            return "was not entered"
        if not self._entered.over:
            return "is running"
        return "was forked" if self._entered.forked else "over"

    # What was measured.

    @property
    def result(self) -> Result:
        """Everything, as `inferprobe.load` of the saved result gives it."""
        made = self._finished()
        if self._result is None:
            self._result = Result(made.json(), self.display())
        return self._result

    @property
    def modules(self) -> Any:
        """The rows of the table, in the order of the tree."""
        return self.result.modules

    def display(self, show_events: bool = False) -> str:
        """The table; with `show_events` each module's operators under it."""
        return self._finished().text(show_events)

    def __str__(self) -> str:
        if not self._enabled:
            return "<profile is disabled>"
        return self.display() if self._state == "over" else f"<profile {self._state}>"

    def to_dict(self) -> dict[str, Any]:
        """The result JSON as plain Python objects."""
        return self.result.to_dict()

    def to_pandas(self, *, operators: bool = False) -> pd.DataFrame:
        """The rows as a data frame; with `operators` one row for each operator of each module.

        `frame.attrs["notes"]`: what was lost, and what was not covered.
        """
        rows = self.modules
        frame = operators_to_pandas(rows) if operators else to_pandas(rows)
        frame.attrs["notes"] = notes_of(self.result)
        return frame

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        if self._state != "over":
            return to_html([], str(self))
        return to_html(self.modules, self.display().partition("\n")[0], notes_of(self.result))

    def compare(self, new: ModuleProfile | Result | str | os.PathLike[str]) -> ModuleComparison:
        """This profile against a later one, or the saved result of one, by path."""
        other = new if isinstance(new, ModuleProfile | Result) else load(new)
        result = other.result if isinstance(other, ModuleProfile) else other
        notes = [*bends_of("base", self.result), *bends_of("new", result)]
        return ModuleComparison(rows_of(self.result), rows_of(result), notes)

    def raw(self) -> tuple[list[str], dict[str, list[list[ModuleEvent]]]]:
        """(paths, events): the modules' paths in the order of the tree, and by path of each call
        its operators by start. Those of modules inside are theirs."""
        made = self._finished()
        columns = made.events()
        events: list[list[list[ModuleEvent]]] = [
            [[] for _ in range(calls)] for calls in columns["calls"]
        ]
        names = columns["names"]
        _, memory_status, device_status = self._status()
        memory = not memory_status.why
        device = memory and not device_status.why
        for module, call, name, start, dur, self_ns, depth, thread, size, on_device in zip(
            columns["module"],
            columns["call"],
            columns["name"],
            columns["start_ns"],
            columns["dur_ns"],
            columns["self_ns"],
            columns["depth"],
            columns["thread_id"],
            columns["bytes"],
            columns["device_bytes"],
            strict=True,
        ):
            event = ModuleEvent(
                names[name],
                start,
                dur,
                self_ns,
                depth,
                thread,
                size if memory else None,
                on_device if device else None,
            )
            events[module][call].append(event)
        assert self._entered is not None
        paths = [node.path for node in self._entered.tree]
        return paths, dict(zip(paths, events, strict=True))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the result ("run.json") or a Perfetto trace of all calls ("run.pftrace")."""
        text = path_text("path", path)
        suffix = Path(text).suffix
        if suffix == ".json":
            self.result.save(text, force=force)
        elif suffix == ".pftrace":
            with saving():
                self._finished().save_trace(text, force)
        else:
            raise Error(
                "invalid_argument",
                f"{text}: what is to be written?",
                "name it .json (the result) or .pftrace (a Perfetto trace)",
            )

    def __getattr__(self, name: str) -> NoReturn:
        hint = _OF_TORCH.get(name, "")
        raise AttributeError(f"a profile has no {name!r}{': ' if hint else ''}{hint}")

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError("an inferprobe.profile cannot be pickled: save() it, or pickle to_dict()")

    # How it comes about.

    def _choose(self) -> list[Node]:
        return _module_tree.choose(_module_tree.walk(self._model), *self._choice)

    def _take(self, recorded: Recorded, memory: bool) -> None:
        """Operators have come. `memory`: whether allocations were asked for when they began."""
        self._recorded = recorded
        self._memory_was_on = memory
        self._made = self._result = None

    def _finished(self) -> _core.ModuleProfile:
        if not self._enabled:
            raise Error("invalid_argument", "the profile is disabled", "give enabled=True")
        state = self._state
        if state == "was forked":
            raise Error("unavailable", f"there are no results here: {FORKED}")
        if state != "over":
            raise Error(
                "invalid_argument",
                f"the profile {state}",
                "there are results after the with block",
            )
        if self._made is None:
            self._made = self._make()
        return self._made

    def _status(self) -> tuple[Status, Status, Status]:
        """Of operators, memory and device."""
        if not self._operators:
            return (
                Status("not_requested", 'detail="ops" records operators'),
                Status("not_requested", 'detail="ops" with memory=True records it'),
                Status("not_requested", 'detail="ops" records it'),
            )
        recorded = self._recorded
        if recorded is None:
            return _LATER, _LATER if self._memory else NOT_REQUESTED, _LATER
        memory = recorded.memory_status
        if not self._memory:
            memory = Status("not_requested", "memory=True records it")
        elif not self._memory_was_on and not recorded.operators_status.why:
            memory = Status(
                "unavailable",
                "torch's profiler was started without memory by the profile around this one",
            )
        return recorded.operators_status, memory, recorded.device_status

    def _make(self) -> _core.ModuleProfile:
        import torch

        entered = self._entered
        assert entered is not None and entered.native is not None and entered.window is not None
        operators, memory, device = self._status()
        called = set(entered.native.called(entered.window))
        not_covered = entered.describe_exchanged(called)
        not_covered += describe_calls_in_flight(entered.tree, called)
        not_covered += describe_uncalled(entered.tree, called)
        not_covered += self._describe_dropped(entered)
        if self._recorded is not None:
            not_covered += self._recorded.not_covered
        if sys.version_info < (3, 12):
            not_covered.append(DIRECT_CALLS)
        return _core.make_profile(
            recording=entered.native,
            window=entered.window,
            tree=entered.tree,
            torch_version=str(torch.__version__),
            threads=torch.get_num_threads(),
            operators=operators,
            memory=memory,
            device=device,
            not_covered=not_covered,
            recorded=None if operators.why else self._recorded,
        )

    def _describe_dropped(self, entered: Entered) -> list[tuple[str, str]]:
        """Whose capacity it was: profiles share rings, which the first one in made."""
        assert entered.window is not None
        dropped = entered.window.dropped
        if not dropped:
            return []
        why = f"a thread made more than capacity={entered.capacity}: give a larger one"
        if entered.capacity < self._capacity:
            why = (
                f"a thread made more than the capacity={entered.capacity} of the profile around "
                f"this one, which is for both: give that one a larger one"
            )
        return [(f"{dropped:,} calls of modules", why)]


def describe_uncalled(tree: list[Node], called: set[int]) -> list[tuple[str, str]]:
    """Why modules that are inside of what ran were not called themselves."""
    running = [node.number in called for node in tree]
    below = list(running)  # it or something in it was called
    for at in range(len(tree) - 1, 0, -1):
        if below[at]:
            below[tree[at].parent] = True
    around: list[int] = []  # the nearest module that was called
    uncalled: dict[int, list[str]] = {}
    for at, node in enumerate(tree):
        above = around[node.parent] if node.parent >= 0 else -1
        around.append(at if running[at] else above)
        silent = node.not_covered or node.in_flight or node.container
        if above >= 0 and not below[at] and node.chosen and not silent:
            uncalled.setdefault(above, []).append(node.path)
    said = []
    for parent, names in uncalled.items():
        what = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        place = tree[parent].path or tree[parent].class_name
        if tree[parent].compiled:
            why = f"{place} is compiled: 1 region, no inner modules"
        else:
            them = "it" if len(names) == 1 else "them"
            why = f"{place} ran without calling {them}: a fused fast path, or a condition"
        said.append((what, why))
    return said


def _check(model: Any, device: Any, memory: Any, detail: Any, depth: Any, capacity: Any) -> None:
    import torch

    if not isinstance(model, torch.nn.Module):
        raise Error(
            "invalid_argument", f"the model is a {type(model).__name__}", "give a torch.nn.Module"
        )
    if not isinstance(memory, bool):
        raise Error("invalid_argument", f"memory is {memory!r}", "give True or False")
    if device not in _DEVICES:
        raise Error("invalid_argument", f"device is {device!r}", f"give one of {_DEVICES}")
    if detail not in ("ops", "modules"):
        raise Error("invalid_argument", f"detail is {detail!r}", 'give "ops" or "modules"')
    if memory and detail == "modules":
        raise Error(
            "invalid_argument",
            'memory=True with detail="modules": allocations come from the operator profiler',
            'give detail="ops"',
        )
    for name, value, least, most in (
        ("depth", depth, 0, 10**6),
        ("capacity", capacity, 64, _MOST_CALLS),
    ):
        if name == "depth" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise Error(
                "invalid_argument",
                f"{name} is {value!r}",
                f"give a whole number from {least} to {most}",
            )


def _list(name: str, values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str | bytes):
        raise Error("invalid_argument", f"{name} is one text", "give a list of them")
    try:
        return list(values)
    except TypeError:
        raise Error(
            "invalid_argument", f"{name} is {values!r}"[:200], "give a list of texts"
        ) from None


def _globs(name: str, values: Iterable[Any]) -> list[str]:
    globs = _list(name, values)
    for glob in globs:
        if not isinstance(glob, str):
            raise Error("invalid_argument", f"{name} has {glob!r}"[:200], "give texts")
    return globs


def profile(
    model: Any,
    *,
    device: str = "auto",
    memory: bool = False,
    detail: str = "ops",
    paths: Iterable[_module_tree.Path] | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    depth: int | None = None,
    capacity: int = 2**18,
    enabled: bool = True,
) -> ModuleProfile:
    """Times the calls of a PyTorch model's modules while the `with` block runs.

    device: whose work is recorded beside the host's: "auto" (the device that torch sees, if any),
        "cpu" (none), "cuda", "xpu", "mtia", "hpu".
    memory: what each module allocated and freed, from the allocator's events. torch then sees
        operators of the entering thread alone.
    detail: "ops" (modules, and the operators in them), "modules" (calls alone, at almost no cost).
    paths: only these modules: "features.3", or ("AlexNet", "features", "3").
    include, exclude: globs on dotted paths. depth: how far below the model; 0 is the model alone.
    capacity: module calls that are kept of each thread; what is beyond is counted and said.
    enabled: False: nothing is done and nothing measured.

    The model is not changed: no hook, no wrapper, no attribute. Raises Error.
    """
    return ModuleProfile(
        model,
        device=device,
        memory=memory,
        detail=detail,
        paths=paths,
        include=include,
        exclude=exclude,
        depth=depth,
        capacity=capacity,
        enabled=enabled,
    )
