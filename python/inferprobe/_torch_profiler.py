"""torch's own profiler, started once for a whole recording: operators, allocations, device work.

    started = _torch_profiler.start(memory=False, device="auto")
    ...
    recorded = started.stop()          # columns, and how torch's clock is to be read
    recorded.operators.start_ns        # array of Unix time: `pairs` say what that is in ours

The rule that people break: there is one such profiler in a process, and starting a second one ends
the first in silence. The user's own comes first: while it runs there are no operators of ours, and
if it is started later, it takes over and ours are gone. `status` says so.

Nothing here imports torch before `start` is called.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import warnings
from array import array
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inferprobe import _core

# `start_ns` of an event came with 2.4. What a later one lacks is found out where it is used.
OLDEST = (2, 4)
NEWEST = (2, 99)
TESTED = "2.13"
RANGE = "2.4 or later, below 3 (tested with 2.13)"

_MARKERS = 5  # at the start, and again at the end: the first ones are slow
_MARKER_NAME = "inferprobe.sync"
_MEMORY = "[memory]"
_USER_SCOPE = 7  # RecordScope::USER_SCOPE: the user's record_function, no operator
# What stands among a device's work, and is none: waiting, and copies of the user's own ranges.
_NO_WORK = frozenset({"cuda_sync", "overhead", "gpu_user_annotation", "privateuse1_driver"})
# torch keeps here whether a profiler of this process runs, and only asks whether it is true. A 1
# that is still there says that nobody has started or stopped one since.
_OURS = 1
_TAKEN_OVER = (
    "another profiler of torch was started meanwhile, which ends this one: do not start "
    "torch.profiler inside of inferprobe.profile"
)


class Status(NamedTuple):
    """What was recorded (`why` is ""), or why it was not: a status of the result, and a hint."""

    why: str = ""
    hint: str = ""


RECORDED = Status()
NOT_REQUESTED = Status("not_requested", "")


@dataclass
class Operators:
    """Operators of all threads that were seen, in the order of torch's list."""

    start_ns: array[int] = field(default_factory=lambda: array("q"))
    end_ns: array[int] = field(default_factory=lambda: array("q"))
    name: array[int] = field(default_factory=lambda: array("I"))  # index into `names`
    thread_id: array[int] = field(default_factory=lambda: array("q"))  # the system's


@dataclass
class Allocations:
    """Events of the allocators; negative bytes were freed."""

    time_ns: array[int] = field(default_factory=lambda: array("q"))
    bytes: array[int] = field(default_factory=lambda: array("q"))
    thread_id: array[int] = field(default_factory=lambda: array("q"))
    device: array[int] = field(default_factory=lambda: array("b"))  # 1: in a device's memory


@dataclass
class DeviceWork:
    """Kernels and copies, by the device's clock as torch converted it."""

    start_ns: array[int] = field(default_factory=lambda: array("q"))
    end_ns: array[int] = field(default_factory=lambda: array("q"))
    name: array[int] = field(default_factory=lambda: array("I"))
    stream: array[int] = field(default_factory=lambda: array("I"))
    # Which of the operators, or calls of the device's runtime, launched it, counted from 1; 0: not
    # known.
    operator: array[int] = field(default_factory=lambda: array("I"))


@dataclass
class Recorded:
    """What one recording gave. Where `operators_status.why` is not "", the columns are empty."""

    operators_status: Status = RECORDED
    memory_status: Status = NOT_REQUESTED
    device_status: Status = NOT_REQUESTED
    all_threads: bool = False
    thread_id: int = -1  # unless all_threads: the system's, of the one that was seen
    # (what, why): what these columns do not have.
    not_covered: list[tuple[str, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    operators: Operators = field(default_factory=Operators)
    allocations: Allocations = field(default_factory=Allocations)
    device_work: DeviceWork = field(default_factory=DeviceWork)
    # Triples: torch's clock said the third between the first and the second of ours.
    pairs: array[int] = field(default_factory=lambda: array("q"))


def unavailable(hint: str, why: str = "unavailable") -> Recorded:
    status = Status(why, hint)
    return Recorded(operators_status=status, memory_status=status, device_status=status)


def _lost(hint: str) -> Recorded:
    _warn(hint)
    return unavailable(hint)


class Started:
    """A running profiler, or the reason why there is none (then `stop` gives just that)."""

    def __init__(self, profiler: Any, recorded: Recorded) -> None:
        self._profiler = profiler
        self._recorded = recorded
        self._thread = threading.get_ident()
        # By name, which is no user's: what our clock said before and after.
        self._marks: dict[str, tuple[int, int]] = {}
        self._marker = f"{_MARKER_NAME} {secrets.token_hex(8)}"

    @property
    def running(self) -> bool:
        return self._profiler is not None

    def stop(self) -> Recorded:
        """Ends it. To be called once; on the thread that started it, unless `all_threads`."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return self._recorded
        try:
            return self._end(profiler)
        except Exception as error:  # torch's internals raise what they like
            return _lost(f"torch's profiler failed at its end: {_first_line(error)}")

    def _end(self, profiler: Any) -> Recorded:
        import torch.autograd.profiler as autograd_profiler

        global _running, _abandoned
        _running = None
        if getattr(autograd_profiler, "_is_profiler_enabled", _OURS) is not _OURS:
            return _lost(_TAKEN_OVER)  # stopping ours would now stop the user's
        if not self._recorded.all_threads and threading.get_ident() != self._thread:
            _abandoned = (self._thread, profiler)
            return _lost(
                "the profile was left on another thread than it was entered on: torch's profiler "
                "with memory ends on its own thread alone"
            )
        self._mark()
        profiler.__exit__(None, None, None)
        results = profiler.kineto_results
        read(results.events() if results is not None else [], self._marks, self._recorded)
        return self._recorded if self._recorded.pairs else _lost(_TAKEN_OVER)

    def _mark(self) -> None:
        """Enters markers, whose time both clocks say."""
        from torch._C._profiler import _RecordFunctionFast

        for _ in range(_MARKERS):
            name = f"{self._marker} {len(self._marks)}"
            marker = _RecordFunctionFast(name)
            before = _core.now_ns()
            marker.__enter__()
            after = _core.now_ns()
            marker.__exit__(None, None, None)
            self._marks[name] = (before, after)


_running: Started | None = None
# One that was left on another thread, or forked: (thread, profiler). It is ended there at the next
# chance; None is any thread.
_abandoned: tuple[int | None, Any] | None = None
_kineto_was_started = False
_warned: set[str] = set()


def start(*, memory: bool, device: str = "auto") -> Started:
    """Starts torch's profiler for operators of all threads; with `memory` also for allocations, and
    then torch sees the calling thread alone.

    device: "auto" (the one there is), "cpu" (none), or "cuda", "xpu", "mtia", "hpu".

    Never raises: where it cannot be had, one warning, and statuses that say why.
    """
    try:
        return _start(memory, device)
    except Exception as error:  # torch's internals raise what they like
        return _refuse(f"torch's profiler cannot be started: {_first_line(error)}")


def forget() -> None:
    """In a child that was forked off while one ran: it is the parent's, and its copy is ended
    before the next one starts here."""
    global _running, _abandoned
    running, _running = _running, None
    if running is None or running._profiler is None:
        return
    thread = None if running._recorded.all_threads else running._thread
    _abandoned = (thread, running._profiler)
    running._profiler = None
    import torch.autograd.profiler as autograd_profiler

    # It was ours, or is somebody's who started it since and knows.
    if getattr(autograd_profiler, "_is_profiler_enabled", False) is _OURS:
        autograd_profiler._is_profiler_enabled = False


def _start(memory: bool, device: str) -> Started:
    global _running, _abandoned
    import torch
    import torch.autograd.profiler as autograd_profiler

    version = torch_version(torch.__version__)
    if not OLDEST <= version <= NEWEST:
        return _refuse(f"torch {torch.__version__}: operators need torch {RANGE}", "unsupported")
    if _abandoned is not None and _abandoned[0] in (None, threading.get_ident()):
        _abandoned[1].__exit__(None, None, None)
        _abandoned = None
    if _running is not None:
        return _refuse("a recording of inferprobe runs in this process already")
    if (
        getattr(autograd_profiler, "_is_profiler_enabled", False)
        or torch._C._autograd._profiler_enabled()
    ):
        return _refuse(
            "another profiler of torch is running: there is one in a process, and this one was "
            "first"
        )

    if _is_scheduled(autograd_profiler):
        return _refuse(
            "another profiler of torch is running, or waits for its steps: operators come once "
            "its with block is left (start() and stop() alone never say that it is over)"
        )

    recorded = Recorded(memory_status=RECORDED if memory else NOT_REQUESTED)
    use_device = _device(torch, device, recorded)
    config = _config(memory, recorded)
    profiler = autograd_profiler.profile(
        use_cpu=True,
        use_kineto=True,
        use_device=use_device,
        profile_memory=memory,
        **({} if config is None else {"experimental_config": config}),
    )
    started = Started(profiler, recorded)
    try:
        _enter(profiler)
        started._mark()
        _running = started
        if hasattr(autograd_profiler, "_is_profiler_enabled"):
            autograd_profiler._is_profiler_enabled = _OURS
    except BaseException:  # Ctrl-C, too, comes anywhere
        _running = None
        with contextlib.suppress(Exception):  # it may not have got as far
            profiler.__exit__(None, None, None)
        if hasattr(autograd_profiler, "_is_profiler_enabled"):
            autograd_profiler._is_profiler_enabled = False
        raise
    return started


def _is_scheduled(autograd_profiler: Any) -> bool:
    """Whether the user's torch.profiler has steps. While it waits or warms up torch calls it not
    running, but it is prepared, and a profiler that comes and goes then takes the process down."""
    tracker = getattr(autograd_profiler, "KinetoStepTracker", None)
    return "ProfilerStep" in getattr(tracker, "_step_dict", ())


def _config(memory: bool, recorded: Recorded) -> Any:
    """torch's settings of the threads that are seen: all of them, where that is possible."""
    from torch._C._profiler import _ExperimentalConfig

    why = "torch's profiler records allocations of the thread alone that started it (memory=True)"
    if not memory:
        try:
            config = _ExperimentalConfig(profile_all_threads=True)
        except TypeError:
            why = "this torch's profiler sees the thread alone that started it"
            _warn(f"operators of other threads are not seen: {why}")
        else:
            recorded.all_threads = True
            return config
    what = "operators and memory" if memory else "operators"
    recorded.not_covered.append((f"{what} of threads beside the one that entered", why))
    recorded.thread_id = threading.get_native_id()
    return None


def _device(torch: Any, wanted: str, recorded: Recorded) -> str | None:
    """Which device torch's profiler shall watch."""
    if wanted == "cpu":
        return None
    for name in ("cuda", "xpu", "mtia", "hpu") if wanted == "auto" else (wanted,):
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            recorded.device_status = RECORDED
            return name
    if wanted == "auto":
        recorded.device_status = Status("unavailable", "torch sees no device on this machine")
    else:
        hint = f"torch sees no {wanted} device on this machine"
        _warn(hint)
        recorded.device_status = Status("unavailable", hint)
    return None


def _enter(profiler: Any) -> None:
    """Kineto writes two lines to stderr at its first start, unless it is asked to be quiet."""
    global _kineto_was_started
    quiet = not _kineto_was_started and "KINETO_LOG_LEVEL" not in os.environ
    _kineto_was_started = True
    if quiet:
        os.environ["KINETO_LOG_LEVEL"] = "9"
    try:
        profiler.__enter__()
    except BaseException:
        import torch.autograd.profiler as autograd_profiler

        if hasattr(autograd_profiler, "_is_profiler_enabled"):
            autograd_profiler._is_profiler_enabled = False  # torch sets it before it starts
        raise
    finally:
        if quiet:
            os.environ.pop("KINETO_LOG_LEVEL", None)


def read(events: Any, marks: dict[str, tuple[int, int]], into: Recorded) -> None:
    """torch's list as columns: one pass, and nothing of an event is kept.

    marks: by name, what our clock said before and after.
    """
    numbers: dict[str, int] = {}
    # Operators and calls of the device's runtime are counted apart: a number is of both kinds.
    by_correlation: dict[int, int] = {}
    by_launch: dict[int, int] = {}
    seen_marks: dict[str, int] = {}
    launched: list[tuple[int, int]] = []  # of device_work: the operator's number, the launch's
    operators, allocations, work = into.operators, into.allocations, into.device_work
    for event in events:
        name = event.name()
        start = event.start_ns()
        on_cpu = event.device_type().value == 0
        if name == _MEMORY:
            allocations.time_ns.append(start)
            allocations.bytes.append(event.nbytes())
            allocations.thread_id.append(event.device_resource_id())
            allocations.device.append(0 if on_cpu else 1)
            continue
        if name in marks:
            seen_marks[name] = start
            continue
        number = numbers.setdefault(name, len(numbers))
        end = start + event.duration_ns()
        if on_cpu:
            if event.scope() == _USER_SCOPE or event.is_async() or _instant(event):
                continue
            operators.start_ns.append(start)
            operators.end_ns.append(end)
            operators.name.append(number)
            operators.thread_id.append(event.device_resource_id())
            numbered = by_correlation if _is_operator(event) else by_launch
            numbered[event.correlation_id()] = len(operators.name)
        elif _is_work(event):
            launched.append((event.linked_correlation_id(), event.correlation_id()))
            work.start_ns.append(start)
            work.end_ns.append(end)
            work.name.append(number)
            work.stream.append(_stream(event.device_index(), event.device_resource_id()))
            work.operator.append(0)
    # What no operator launched (Triton's kernels, a graph's) is of the call that did; 0 is no link.
    for place, (linked, launch) in enumerate(launched):
        operator = by_correlation.get(linked, 0) if linked else 0
        work.operator[place] = operator or (by_launch.get(launch, 0) if launch else 0)
    into.names = list(numbers)
    for name, (before, after) in marks.items():
        if name in seen_marks:
            into.pairs.extend((before, after, seen_marks[name]))


def _instant(event: Any) -> bool:
    """A point in time, such as "[OutOfMemory]": no operator."""
    if hasattr(event, "activity_type"):  # not in older ones
        return bool(event.activity_type() == "cpu_instant_event")
    return bool(event.name().startswith("["))


def _is_operator(event: Any) -> bool:
    """Of what ran on a CPU; the rest are calls of a device's runtime and driver."""
    if hasattr(event, "activity_type"):
        return bool(event.activity_type() == "cpu_op")
    # With such a link it is a launch; some without one are, too.
    return event.linked_correlation_id() == 0 and not event.name().startswith(("cu", "hip", "ur"))


def _is_work(event: Any) -> bool:
    if hasattr(event, "activity_type"):
        return event.activity_type() not in _NO_WORK
    return not event.is_user_annotation()


def _stream(device: int, stream: int) -> int:
    """One number for a stream of one of several devices; the first device's are as they are."""
    return (max(device, 0) << 20 | stream & 0xFFFFF) & 0xFFFFFFFF


def torch_version(text: str) -> tuple[int, int]:
    """(2, 13) of "2.13.0+cpu"; (0, 0) of what is no version."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _refuse(hint: str, why: str = "unavailable") -> Started:
    _warn(hint)
    return Started(None, unavailable(hint, why))


def _warn(text: str) -> None:
    """Once for each text in a process."""
    if text in _warned:
        return
    _warned.add(text)
    warnings.warn(f"inferprobe: {text}", RuntimeWarning, stacklevel=2)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
