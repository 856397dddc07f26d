"""The adapter to torch's own profiler: what it gives, and that the user's own is never broken."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.autograd.profiler as autograd_profiler
from inferprobe import _torch_profiler as adapter

MODEL = torch.nn.Linear(8, 16)
X = torch.randn(4, 8)


@pytest.fixture(autouse=True)
def _fresh_warnings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(adapter, "_warned", set())
    yield
    assert not torch._C._autograd._profiler_enabled()
    assert not autograd_profiler._is_profiler_enabled


def names(recorded: adapter.Recorded) -> list[str]:
    return [recorded.names[number] for number in recorded.operators.name]


def test_operators_of_this_thread_with_their_times() -> None:
    started = adapter.start(memory=False)
    MODEL(X)
    recorded = started.stop()
    assert recorded.operators_status == adapter.RECORDED
    assert {"aten::linear", "aten::addmm"} <= set(names(recorded))
    operators = recorded.operators
    assert set(operators.thread_id) == {threading.get_native_id()}
    assert all(0 < a <= b for a, b in zip(operators.start_ns, operators.end_ns, strict=True))
    assert not [name for name in recorded.names if "sync" in name]


def test_markers_say_the_time_of_both_clocks() -> None:
    started = adapter.start(memory=False)
    recorded = started.stop()
    pairs = recorded.pairs
    assert len(pairs) == 2 * 5 * 3
    befores, afters, torchs = pairs[0::3], pairs[1::3], pairs[2::3]
    assert all(a <= b for a, b in zip(befores, afters, strict=True))
    assert sorted(torchs) == list(torchs)
    # One line fits all: the offsets that each allows have one in common, but for the rates' ppm.
    low = max(o - a for a, o in zip(afters, torchs, strict=True))
    high = min(o - b for b, o in zip(befores, torchs, strict=True))
    assert low - high < 1_000_000


def test_all_threads_without_memory() -> None:
    started = adapter.start(memory=False)
    thread = threading.Thread(target=MODEL, args=(X,))
    thread.start()
    thread.join()
    MODEL(X)
    recorded = started.stop()
    assert recorded.all_threads
    assert len(set(recorded.operators.thread_id)) == 2
    assert recorded.not_covered == []
    assert recorded.memory_status.why == "not_requested"


def test_memory_is_of_this_thread_alone_and_said_so() -> None:
    started = adapter.start(memory=True)
    thread = threading.Thread(target=MODEL, args=(X,))
    thread.start()
    thread.join()
    out = MODEL(X)
    recorded = started.stop()
    assert set(recorded.operators.thread_id) == {threading.get_native_id()}
    assert recorded.memory_status == adapter.RECORDED
    assert out.numel() * 4 in recorded.allocations.bytes
    assert set(recorded.allocations.device) == {0}
    assert recorded.thread_id == threading.get_native_id()
    assert "operators and memory of threads" in recorded.not_covered[0][0]


def test_the_users_ranges_are_no_operators() -> None:
    started = adapter.start(memory=False)
    with torch.profiler.record_function("mine"):
        MODEL(X)
    assert "mine" not in names(started.stop())


def test_the_users_profiler_was_first() -> None:
    with torch.profiler.profile() as user:
        with pytest.warns(RuntimeWarning, match="this one was first"):
            started = adapter.start(memory=False)
        assert not started.running
        MODEL(X)
        recorded = started.stop()
    assert recorded.operators_status.why == "unavailable"
    assert "aten::linear" in {event.name for event in user.events()}


def test_the_users_profiler_on_another_thread_was_first() -> None:
    running, over = threading.Event(), threading.Event()
    events: list[str] = []

    def user() -> None:
        with torch.profiler.profile() as profiler:
            MODEL(X)
            running.set()
            over.wait()
        events.extend(event.name for event in profiler.events())

    thread = threading.Thread(target=user)
    thread.start()
    running.wait()
    try:
        with pytest.warns(RuntimeWarning, match="this one was first"):
            assert not adapter.start(memory=False).running
    finally:
        over.set()
        thread.join()
    assert "aten::linear" in events


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("outlives", [False, True])
def test_the_users_profiler_takes_over(memory: bool, outlives: bool) -> None:
    started = adapter.start(memory=memory)
    user = torch.profiler.profile()
    user.__enter__()
    MODEL(X)
    if not outlives:
        user.__exit__(None, None, None)
    with pytest.warns(RuntimeWarning, match="started meanwhile"):
        recorded = started.stop()
    if outlives:
        user.__exit__(None, None, None)
    assert recorded.operators_status.why == "unavailable"
    assert len(recorded.operators.name) == 0
    assert "aten::linear" in {event.name for event in user.events()}
    again = adapter.start(memory=memory)
    MODEL(X)
    assert "aten::linear" in names(again.stop())


def test_left_on_another_thread() -> None:
    started = adapter.start(memory=True)
    left: list[adapter.Recorded] = []
    thread = threading.Thread(target=lambda: left.append(started.stop()))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        thread.start()
        thread.join()
    assert "another thread" in str(said[0].message)
    assert left[0].operators_status.why == "unavailable"
    again = adapter.start(memory=True)  # ends the first, which only this thread can
    MODEL(X)
    assert "aten::linear" in names(again.stop())


def test_all_threads_may_be_left_on_another_thread() -> None:
    started = adapter.start(memory=False)
    MODEL(X)
    left: list[adapter.Recorded] = []
    thread = threading.Thread(target=lambda: left.append(started.stop()))
    thread.start()
    thread.join()
    assert "aten::linear" in names(left[0])


def test_a_second_one_of_ours_is_refused() -> None:
    started = adapter.start(memory=False)
    with pytest.warns(RuntimeWarning, match="runs in this process already"):
        assert not adapter.start(memory=False).running
    assert started.stop().operators_status == adapter.RECORDED


@pytest.mark.parametrize("version", ["2.3.1", "1.13.0+cpu", "3.0.0", "unknown"])
def test_a_torch_outside_of_the_range(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.warns(RuntimeWarning, match="operators need torch"):
        recorded = adapter.start(memory=True).stop()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapter.start(memory=True).stop()  # said once
    assert recorded.operators_status.why == "unsupported"
    assert adapter.RANGE in recorded.operators_status.hint


def test_a_torch_that_cannot_see_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch._C._profiler._ExperimentalConfig

    def old(**keywords: Any) -> Any:
        if "profile_all_threads" in keywords:
            raise TypeError("incompatible constructor arguments")
        return real(**keywords)

    monkeypatch.setattr(torch._C._profiler, "_ExperimentalConfig", old)
    with pytest.warns(RuntimeWarning, match="other threads"):
        started = adapter.start(memory=False)
    MODEL(X)
    recorded = started.stop()
    assert "aten::linear" in names(recorded)
    assert recorded.not_covered and not recorded.all_threads


@pytest.mark.parametrize("gone", ["_RecordFunctionFast", "_ExperimentalConfig"])
def test_a_torch_that_lacks_what_is_needed(gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C._profiler, gone)
    with pytest.warns(RuntimeWarning, match="cannot be started"):
        recorded = adapter.start(memory=False).stop()
    assert recorded.operators_status.why == "unavailable"


def test_no_device_here() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a device")
    assert adapter.start(memory=False).stop().device_status.why == "unavailable"
    assert adapter.start(memory=False, device="cpu").stop().device_status.why == "not_requested"
    with pytest.warns(RuntimeWarning, match="no cuda device"):
        started = adapter.start(memory=False, device="cuda")
    recorded = started.stop()
    assert recorded.device_status.why == "unavailable"
    assert recorded.operators_status == adapter.RECORDED


class Event:
    """A double of torch's _KinetoEvent."""

    def __init__(self, name: str, start: int, length: int, **facts: Any) -> None:
        self._facts = {
            "name": name,
            "start_ns": start,
            "duration_ns": length,
            "device_type": torch._C._autograd.DeviceType.CPU,
            "device_index": -1,
            "device_resource_id": 7,
            "nbytes": 0,
            "correlation_id": 0,
            "linked_correlation_id": 0,
            "scope": 0,
            "is_async": False,
            "activity_type": "cpu_op",
            "is_user_annotation": False,
        } | facts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._facts:
            raise AttributeError(name)
        return lambda: self._facts[name]


CUDA = torch._C._autograd.DeviceType.CUDA


KERNEL = {"device_type": CUDA, "device_index": 0, "activity_type": "kernel"}
LAUNCH = {"activity_type": "cuda_runtime"}


def read(*events: Event) -> adapter.Recorded:
    recorded = adapter.Recorded()
    adapter.read([*events, Event("a mark", 90, 1)], {"a mark": (10, 20)}, recorded)
    return recorded


def test_device_work_finds_its_operator() -> None:
    recorded = read(
        Event("aten::mm", 100, 50, correlation_id=5),
        Event("cudaLaunchKernel", 110, 5, correlation_id=9, linked_correlation_id=5, **LAUNCH),
        Event("sgemm", 300, 40, correlation_id=9, linked_correlation_id=5, device_resource_id=3,
              **KERNEL),
        Event("k", 360, 1, **KERNEL | {"device_index": 1, "device_resource_id": 2}),
        Event("mine", 300, 41, device_type=CUDA, activity_type="gpu_user_annotation"),
        Event("sync", 300, 41, device_type=CUDA, activity_type="cuda_sync"),
        Event("[memory]", 120, 0, device_type=CUDA, nbytes=-512),
    )  # fmt: skip
    work = recorded.device_work
    assert [recorded.names[n] for n in work.name] == ["sgemm", "k"]
    assert list(work.operator) == [1, 0]
    assert list(work.stream) == [3, 1 << 20 | 2]
    assert list(work.start_ns) == [300, 360] and list(work.end_ns) == [340, 361]
    assert names(recorded) == ["aten::mm", "cudaLaunchKernel"]
    assert list(recorded.allocations.bytes) == [-512] and list(recorded.allocations.device) == [1]
    assert list(recorded.pairs) == [10, 20, 90]


def owner(recorded: adapter.Recorded) -> str:
    (number,) = recorded.device_work.operator
    return names(recorded)[number - 1] if number else "nobody"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        # The runtime's own numbers are others than the operators'.
        ([Event("aten::mm", 100, 50, correlation_id=5),
          Event("cudaMalloc", 160, 5, correlation_id=5, **LAUNCH)], "aten::mm"),
        ([Event("cudaMalloc", 100, 5, correlation_id=5, **LAUNCH),
          Event("aten::mm", 110, 50, correlation_id=5)], "aten::mm"),
        # An operator that has the launch's number by chance did not launch it.
        ([Event("aten::mm", 100, 50, correlation_id=9)], "nobody"),
        ([], "nobody"),
    ],
)  # fmt: skip
def test_the_numbers_of_launches_are_no_operators(before: list[Event], expected: str) -> None:
    kernel = Event("sgemm", 300, 40, correlation_id=9, linked_correlation_id=5, **KERNEL)
    assert owner(read(*before, kernel)) == expected


@pytest.mark.parametrize("kind", ["cuda_runtime", "cuda_driver", "privateuse1_runtime"])
def test_a_kernel_that_no_operator_launched_is_of_the_call_that_did(kind: str) -> None:
    recorded = read(
        Event("aten::mm", 100, 5, correlation_id=0),  # numbers of 0 are none
        Event("aten::add", 100, 5, correlation_id=9),
        Event("cuLaunchKernel", 110, 5, correlation_id=9, activity_type=kind),
        Event("triton_kernel", 300, 40, correlation_id=9, **KERNEL),
    )
    assert owner(recorded) == "cuLaunchKernel"


def test_what_is_no_operator_is_left_out() -> None:
    recorded = read(
        Event("aten::mm", 100, 50),
        Event("[OutOfMemory]", 110, 0, activity_type="cpu_instant_event"),
        Event("rpc", 110, 500, is_async=True),
        Event("mine", 110, 500, scope=7),
    )
    assert names(recorded) == ["aten::mm"]


def test_a_users_range_with_the_name_of_a_marker_harms_nothing() -> None:
    started = adapter.start(memory=False)
    for name in ("inferprobe.sync", "inferprobe.sync 0", "inferprobe.sync mine"):
        with torch.profiler.record_function(name):
            MODEL(X)
        with torch._C._profiler._RecordFunctionFast(name):
            MODEL(X)
    recorded = started.stop()
    assert len(recorded.pairs) == 2 * 5 * 3
    assert "inferprobe.sync 0" in names(recorded)
    assert names(recorded).count("aten::linear") == 6


def test_events_of_an_older_torch() -> None:
    event = Event("sgemm", 300, 40, device_type=CUDA, is_user_annotation=True)
    del event._facts["activity_type"]
    recorded = read(event)
    assert len(recorded.device_work.name) == 0


def test_launches_of_an_older_torch() -> None:
    events = [
        Event("aten::mm", 100, 50, correlation_id=5),
        Event("cuLaunchKernel", 110, 5, correlation_id=5),
        Event("sgemm", 300, 40, correlation_id=9, linked_correlation_id=5, device_type=CUDA),
    ]
    for event in events:
        del event._facts["activity_type"]
    assert owner(read(*events)) == "aten::mm"


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    clean = {k: v for k, v in os.environ.items() if k != "KINETO_LOG_LEVEL"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=clean | environment,
    )


SCHEDULED = """
import sys, warnings, torch, inferprobe
from torch.profiler import profile, schedule
warnings.simplefilter("ignore")
model, x = torch.nn.Linear(8, 16), torch.randn(4, 8)
with profile(schedule=schedule(wait=int(sys.argv[1]), warmup=1, active=1, repeat=1)) as users:
    for _ in range(int(sys.argv[1]) + 2):
        with inferprobe.profile(model) as ours:
            model(x)
        facts = ours.to_dict()["module_summary"]
        print(facts["operators"], len(ours.modules), ours.modules[0].calls)
        users.step()
    print(len([e for e in users.events() if e.name == "aten::linear"]))
with inferprobe.profile(model) as ours:
    model(x)
print(bool(ours.modules[0].operators))
"""


@pytest.mark.parametrize("wait", [0, 1])
def test_a_scheduled_profiler_of_the_users_is_left_alone_in_all_its_phases(wait: int) -> None:
    *ours, users, after = run(SCHEDULED, str(wait)).stdout.splitlines()
    assert len(ours) == wait + 2
    assert all("waits for its steps" in line or "is running:" in line for line in ours), ours
    assert all(line.endswith("1 1") for line in ours), ours
    assert (users, after) == ("1", "True")


SHOWS_LEVEL = """
import os
from inferprobe import _torch_profiler as adapter
adapter.start(memory=False).stop()
print(os.environ.get("KINETO_LOG_LEVEL"))
"""


def test_kineto_is_quiet_and_the_environment_as_before() -> None:
    quiet = run(SHOWS_LEVEL)
    assert quiet.stderr == "" and quiet.stdout == "None\n"
    loud = run(SHOWS_LEVEL, KINETO_LOG_LEVEL="0")
    assert "USDT" in loud.stderr and loud.stdout == "0\n"


def test_importing_inferprobe_imports_no_torch() -> None:
    code = "import sys, inferprobe, inferprobe._torch_profiler; print('torch' in sys.modules)"
    assert run(code).stdout == "False\n"


@pytest.mark.parametrize("where", ["_mark", "_enter"])
def test_an_interrupt_at_the_start_leaves_no_profiler(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> None:
        if where == "_enter":
            enter(*arguments)
        raise KeyboardInterrupt

    enter = adapter._enter
    monkeypatch.setattr(adapter.Started if where == "_mark" else adapter, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        adapter.start(memory=False)
    assert not torch._C._autograd._profiler_enabled()  # and not torch's flag, as after each test
    assert adapter._running is None
