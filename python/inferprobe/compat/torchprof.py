"""torchprof's interface on inferprobe's measurement: a program that used it changes its import.

    from inferprobe.compat import torchprof

    with torchprof.Profile(model, use_cuda=False) as prof:
        model(x)
    print(prof.display(show_events=False))
    traces, events = prof.raw()

What is as it was: leaves alone unless `paths` names others, rows of containers blank, the columns
and their order, times in us, ms and s, the tree, `Trace`, and the event lists of `raw()`.

What is different, because it was wrong. "CPU total" is the time of the layer's calls: torchprof
added up all operators, those inside others too, and showed 2 to 3 times the time. "Self CPU total"
is the time in the operators that the layer itself called. A module that is reachable under two
paths has its figures at both. A parent and its child may both be chosen. Operators come from one
run of PyTorch's profiler for everything, not from one in each call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from inferprobe._module_views import losses_of
from inferprobe._profile import ModuleEvent, ModuleProfile, profile

if TYPE_CHECKING:
    import torch
    from torch.autograd.profiler_util import EventList

Path = tuple[str, ...]

_BRANCHES = ("│", "├── ", "└── ", " ")


class Trace(NamedTuple):
    """One module: its path from the class of the root, whether it has no children, itself."""

    path: Path
    leaf: bool
    module: Any


class Measure(NamedTuple):
    """A line's figures: times in us, memory in bytes. None: not measured."""

    self_cpu_total: float | None
    cpu_total: float | None
    self_cuda_total: float | None
    cuda_total: float | None
    self_cpu_memory: int | None
    cpu_memory: int | None
    self_cuda_memory: int | None
    cuda_memory: int | None
    occurrences: int | None


def walk_modules(module: torch.nn.Module, name: str = "", path: Path = ()) -> Iterator[Trace]:
    """Each module under each of its paths, parents first."""
    waiting = [((*path, name or type(module).__name__), module, 0)]
    around: list[int] = []  # identities of the modules that the next one is in
    while waiting:
        path, module, depth = waiting.pop()
        del around[depth:]
        children = getattr(module, "_modules", None)
        if not isinstance(children, dict):
            raise TypeError(f"a torch.nn.Module is needed, {path[-1]} is a {type(module).__name__}")
        # named_children leaves out a module that has come under another name.
        inside = [(key, child) for key, child in children.items() if child is not None]
        yield Trace(path, not inside, module)
        around.append(id(module))
        waiting.extend(
            ((*path, key), child, depth + 1)
            for key, child in reversed(inside)
            if id(child) not in around  # a module inside of itself has no last path
        )


class Profile:
    """Layer by layer profiling of a PyTorch model, as torchprof.Profile."""

    def __init__(
        self,
        model: torch.nn.Module,
        enabled: bool = True,
        use_cuda: bool = False,
        profile_memory: bool = False,
        paths: Sequence[Path] | None = None,
    ) -> None:
        self._model = model
        self.enabled = enabled
        self.use_cuda = use_cuda
        self.profile_memory = profile_memory
        self.paths = None if paths is None else [tuple(path) for path in paths]
        self.entered = False
        self.exited = False
        self.traces: tuple[Trace, ...] = ()
        self._events: defaultdict[Path, list[EventList]] = defaultdict(list)
        self._events_of: object = None  # the result that they were taken from
        self._profile: ModuleProfile | None = None
        self._chosen = False  # whether any module is measured

    def __enter__(self) -> Profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("torchprof profiler is not reentrant")
        self.traces = tuple(walk_modules(self._model))
        chosen = [trace.path for trace in self.traces if self._is_chosen(trace)]
        self._chosen = bool(chosen)
        self._profile = profile(
            self._model,
            enabled=self._chosen,
            device="cuda" if self.use_cuda else "cpu",
            memory=self.profile_memory,
            paths=chosen,
        )
        self._profile.__enter__()
        self.entered = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._profile is None:
            return
        self._profile.__exit__(kind, error, trace)
        self.exited = True

    def __str__(self) -> str:
        return self.display()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._model(*args, **kwargs)

    @property
    def trace_profile_events(self) -> defaultdict[Path, list[EventList]]:
        """By path PyTorch's events of each call. Inside of another profile there are none before
        that one ends: both are served by one run of PyTorch's profiler."""
        if self.exited and self._chosen:
            self._collect()
        return self._events

    def raw(self) -> tuple[tuple[Trace, ...], defaultdict[Path, list[EventList]]] | None:
        """The modules, and by path PyTorch's events of each call; None before the end."""
        return (self.traces, self.trace_profile_events) if self.exited else None

    def display(self, show_events: bool = False) -> str:
        """The table; `show_events`: the operators of each layer instead of its sums."""
        if not self.exited:
            return "<unfinished torchprof.profile>"
        lines = [
            (depth, name, measure and _texts(measure))
            for depth, name, measure in self._lines(show_events)
        ]
        return _table(lines, self._columns()) + self._losses()

    def _is_chosen(self, trace: Trace) -> bool:
        return trace.leaf if self.paths is None else trace.path in self.paths

    def _collect(self) -> None:
        """PyTorch's events of each call, of what the module called itself."""
        assert self._profile is not None
        result = self._profile.result  # another one when operators have come
        if result is self._events_of:
            return
        self._events_of = result
        self._events.clear()
        if not result.module_summary.operators:
            return
        _, calls_of = self._profile.raw()
        for trace in self.traces:
            if not self._is_chosen(trace):
                continue
            path = self._first_path(trace)
            for call in calls_of.get(path, ()):
                self._events[trace.path].append(_event_list(call, self.profile_memory))

    def _losses(self) -> str:
        """What the table lacks, a line each; usually nothing."""
        if not self._chosen:
            return ""
        assert self._profile is not None
        result = self._profile.result
        lines = losses_of(result)
        operators = result.module_summary.operators
        if not operators:
            lines.append(f"operators: {operators}")
        return "".join(f"{line}\n" for line in lines)

    def _first_path(self, trace: Trace) -> str:
        """The dotted path under which its module is measured."""
        for other in self.traces:
            if other.module is trace.module:
                return ".".join(other.path[1:])
        return ""

    def _lines(self, show_events: bool) -> list[tuple[int, str, Measure | None]]:
        """Depth, name and figures of each line, in the order of the tree."""
        assert self._profile is not None
        rows = self._profile.modules if self._chosen else []
        by_path = {path: row for row in rows for path in (row.path, *row.get("also", ()))}
        lines: list[tuple[int, str, Measure | None]] = []
        for trace in self.traces:
            depth = len(trace.path) - 1
            row = by_path.get(".".join(trace.path[1:])) if self._is_chosen(trace) else None
            lines.append((depth, trace.path[-1], None if show_events else _of_module(row)))
            if show_events and row is not None and row.calls:
                lines += [(depth + 1, one.name, _of_operator(one)) for one in row.operators]
        return lines

    def _columns(self) -> list[str]:
        kept = ["self_cpu_total", "cpu_total"]
        if self.use_cuda:
            kept += ["self_cuda_total", "cuda_total"]
        if self.profile_memory:
            kept += ["self_cpu_memory", "cpu_memory"]
            if self.use_cuda:
                kept += ["self_cuda_memory", "cuda_memory"]
        return [*kept, "occurrences"]


_TITLES = {
    "self_cpu_total": "Self CPU total",
    "cpu_total": "CPU total",
    "self_cuda_total": "Self CUDA total",
    "cuda_total": "CUDA total",
    "self_cpu_memory": "Self CPU Mem",
    "cpu_memory": "CPU Mem",
    "self_cuda_memory": "Self CUDA Mem",
    "cuda_memory": "CUDA Mem",
    "occurrences": "Number of Calls",
}


def _event_list(call: Sequence[ModuleEvent], memory: bool) -> EventList:
    """One call's operators as PyTorch's own events; times from the first one's start."""
    from torch.autograd.profiler_util import EventList, FunctionEvent

    begin = min((one.start_ns for one in call), default=0)
    events = EventList(
        [
            FunctionEvent(
                id=number,
                name=one.name,
                thread=one.thread_id,
                start_us=(one.start_ns - begin) / 1000,
                end_us=(one.start_ns + one.dur_ns - begin) / 1000,
                cpu_memory_usage=one.bytes or 0,
                device_memory_usage=one.device_bytes or 0,
            )
            for number, one in enumerate(call)
        ],
        profile_memory=memory,
    )
    events._build_tree()
    return events


def _us(figure: Any) -> float | None:
    return figure.value / 1000 if figure is not None and figure.why is None else None


def _bytes(figure: Any) -> int | None:
    return figure.value if figure is not None and figure.why is None else None


def _of_module(row: Any) -> Measure | None:
    if row is None:
        return None
    called = bool(row.calls)
    return Measure(
        self_cpu_total=_us(row.operators_cpu_ns) if called else 0.0,
        cpu_total=_us(row.total_cpu_ns) if called else 0.0,
        self_cuda_total=_us(row.get("self_device_ns")),
        cuda_total=_us(row.get("total_device_ns")),
        self_cpu_memory=_bytes(row.get("self_cpu_bytes")),
        cpu_memory=_bytes(row.get("total_cpu_bytes")),
        self_cuda_memory=_bytes(row.get("self_device_bytes")),
        cuda_memory=_bytes(row.get("total_device_bytes")),
        occurrences=row.calls,
    )


def _of_operator(one: Any) -> Measure:
    return Measure(
        self_cpu_total=_us(one.self_ns),
        cpu_total=_us(one.total_ns),
        self_cuda_total=_us(one.get("self_device_ns")),
        cuda_total=_us(one.get("total_device_ns")),
        self_cpu_memory=_bytes(one.get("self_cpu_bytes")),
        cpu_memory=_bytes(one.get("total_cpu_bytes")),
        self_cuda_memory=_bytes(one.get("self_device_bytes")),
        cuda_memory=_bytes(one.get("total_device_bytes")),
        occurrences=one.calls,
    )


def _time_text(us: float | None) -> str:
    if us is None:
        return ""
    for length, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= length:
            return f"{us / length:.3f}{unit}"
    return f"{us:.3f}us"


def _memory_text(size: int | None) -> str:
    if size is None:
        return ""
    for length, unit in ((2**30, "Gb"), (2**20, "Mb"), (2**10, "Kb")):
        if abs(size) >= length:
            return f"{size / length:.2f} {unit}"
    return f"{size} b"


def _texts(measure: Measure) -> dict[str, str]:
    return {
        key: str(value)
        if key == "occurrences"
        else (_memory_text(value) if key.endswith("memory") else _time_text(value))
        for key, value in measure._asdict().items()
    }


def _branches(depths: list[int]) -> list[str]:
    """What stands before each line of the tree: which of the lines around it go on below."""
    texts = []
    goes_on: list[bool] = []  # by level, seen from below
    for depth in reversed(depths):
        goes_on += [False] * (depth + 1 - len(goes_on))
        around = "".join(_BRANCHES[0 if goes_on[level] else 3] for level in range(1, depth))
        own = _BRANCHES[1 if goes_on[depth] else 2] if depth else ""
        texts.append(around + own)
        goes_on[depth:] = [True]
    return texts[::-1]


def _table(lines: list[tuple[int, str, dict[str, str] | None]], columns: list[str]) -> str:
    branches = _branches([depth for depth, _, _ in lines])
    rows = [["Module", *(_TITLES[column] for column in columns)]]
    for branch, (_, name, texts) in zip(branches, lines, strict=True):
        figures = [texts[column] if texts else "" for column in columns]
        rows.append([branch + name, *figures])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    printed = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    printed.insert(1, "-|-".join("-" * width for width in widths))
    return "\n".join(printed) + "\n"
