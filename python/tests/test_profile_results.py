"""What inferprobe.profile takes, and what it gives: choice of modules, memory, devices, files."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import inferprobe
import pytest
import torch
from inferprobe import _torch_profiler as adapter
from profile_models import X, assert_adds_up, calls, operators, rows, small, statistic
from torch import nn


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        self.classifier = nn.Sequential(nn.Linear(4, 2))

    def forward(self, x: Any) -> Any:
        return self.classifier(self.features(x))


# The choice.


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({}, ["", "features", "features.0", "features.1", "features.2", "classifier"]),
        ({"paths": ["features.2"]}, ["features.2"]),
        ({"paths": [("Deep", "features"), ("Deep",)]}, ["", "features"]),
        ({"paths": ["features", "features.1", "features"]}, ["features", "features.1"]),
        ({"include": ["features.*"]}, ["features.0", "features.1", "features.2"]),
        ({"include": ["*.0"]}, ["features.0", "classifier.0"]),
        ({"include": ["features*"], "exclude": ["*.1"]}, ["features", "features.0", "features.2"]),
        ({"depth": 0}, [""]),
        ({"depth": 1}, ["", "features", "classifier"]),
    ],
)
def test_chosen_modules(choice: dict[str, Any], expected: list[str]) -> None:
    model = Deep()
    with inferprobe.profile(model, detail="modules", **choice) as prof:
        model(X)
    if not choice:
        expected = [*expected, "classifier.0"]
    assert list(calls(prof)) == expected
    assert_adds_up(prof)


def test_what_is_not_chosen_gives_its_time_to_what_is_around() -> None:
    model = Deep()
    with inferprobe.profile(model, paths=["features"]) as prof:
        model(X)
    assert {"aten::linear", "aten::relu"} <= operators(rows(prof)["features"])
    assert list(rows(prof)) == ["", "features"]
    assert rows(prof)[""]["total_cpu_ns"] == {"status": "not_requested", "hint": "not chosen"}
    assert "not called" not in str(prof)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"paths": ["feature.0"]}, "near it: features.0"),
        ({"paths": [("AlexNet", "features")]}, r"begins with the model's class: \('Deep'"),
        ({"paths": [()]}, "begins with"),
        ({"paths": "features"}, "paths is one text"),
        ({"include": "features"}, "include is one text"),
        ({"include": ["nothing"]}, "no module is chosen"),
        ({"depth": -1}, "depth is -1"),
        ({"depth": True}, "depth is True"),
        ({"capacity": 0}, "capacity is 0"),
        ({"capacity": 1.5}, "capacity is 1.5"),
        ({"detail": "all"}, "detail is 'all'"),
        ({"detail": "modules", "memory": True}, 'give detail="ops"'),
        ({"device": 3}, "device is 3"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(inferprobe.Error, match=message):
        inferprobe.profile(Deep(), **options)


def test_what_is_no_module() -> None:
    with pytest.raises(inferprobe.Error, match="the model is a function"):
        inferprobe.profile(test_what_is_no_module)


def test_disabled_adds_nothing() -> None:
    model = small()
    prof = inferprobe.profile(model, enabled=False)
    with prof:
        model(X)
    assert str(prof) == "<profile is disabled>"
    with pytest.raises(inferprobe.Error, match="disabled"):
        _ = prof.result
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()


# The result.


def test_nothing_is_shown_before_the_end() -> None:
    model = small()
    prof = inferprobe.profile(model)
    assert str(prof) == "<profile was not entered>"
    with pytest.raises(inferprobe.Error, match="was not entered"):
        prof.display()
    with prof:
        assert str(prof) == "<profile is running>"
        for asked in (prof.raw, prof.to_dict, prof.display, lambda: prof.save("x.json")):
            with pytest.raises(inferprobe.Error, match="is running"):
                asked()
    assert "modules" in str(prof)


def test_the_table_the_rows_and_the_facts() -> None:
    model = small()
    with inferprobe.profile(model) as prof:
        model(X)
    assert "Linear" in str(prof) and "aten::addmm" not in str(prof)
    assert "aten::addmm" in prof.display(show_events=True)
    assert [row.path for row in prof.modules] == ["", "0", "1", "2"]
    assert prof.modules[1].total_cpu_ns.kind == "host_wall"
    assert prof.modules[1].parameters == 40
    result = prof.to_dict()
    assert result["model"]["path"] == "Sequential"
    assert result["model"]["format"] == "pytorch"
    assert result["engine"]["name"] == "torch"
    assert result["engine"]["version"] == torch.__version__
    assert result["environment"]["cpus"] >= 1


def test_clocks_agree_to_microseconds() -> None:
    model = small()
    with inferprobe.profile(model) as prof:
        model(X)
    assert 0 < prof.to_dict()["module_summary"]["clock_error_ns"] < 1e6


def test_raw_gives_each_calls_operators_by_start() -> None:
    model = small()
    with inferprobe.profile(model, memory=True) as prof:
        model(X)
        model(X)
    paths, events = prof.raw()
    assert paths == ["", "0", "1", "2"]
    assert {path: len(calls) for path, calls in events.items()} == dict.fromkeys(paths, 2)
    for call in events["0"]:
        names = [event.name for event in call]
        assert names[0] == "aten::linear" and "aten::addmm" in names
        assert [event.start_ns for event in call] == sorted(event.start_ns for event in call)
        assert call[0].depth == 0 and call[names.index("aten::addmm")].depth == 1
        assert call[0].bytes == 3 * 8 * 4
        inside = sum(event.dur_ns for event in call if event.depth == 1)
        assert call[0].self_ns == call[0].dur_ns - inside
    row = rows(prof)["1"]
    assert row["operators_cpu_ns"] == sum(
        e.dur_ns for call in events["1"] for e in call if not e.depth
    )


def test_raw_without_memory_has_no_bytes() -> None:
    model = small()
    with inferprobe.profile(model) as prof:
        model(X)
    first = prof.raw()[1]["0"][0]
    assert {(event.bytes, event.device_bytes) for event in first} == {(None, None)}


def test_a_devices_bytes_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    real = adapter.read

    def with_a_device(events: Any, marks: Any, into: Any) -> None:
        real(events, marks, into)
        into.device_status = adapter.RECORDED
        at = [into.names[name] for name in into.operators.name].index("aten::addmm")
        into.allocations.time_ns.append(into.operators.start_ns[at] + 1)
        into.allocations.bytes.append(4096)
        into.allocations.thread_id.append(into.operators.thread_id[at])
        into.allocations.device.append(1)

    monkeypatch.setattr(adapter, "read", with_a_device)
    model = small()
    with inferprobe.profile(model, memory=True) as prof:
        model(X)
    (call,) = prof.raw()[1]["0"]
    assert call[0].bytes == 3 * 8 * 4
    assert call[0].device_bytes == 4096


@pytest.mark.parametrize("elsewhere", [False, True])
def test_saved_results_and_traces_show_the_same_rows(tmp_path: Path, elsewhere: bool) -> None:
    model = small()
    with inferprobe.profile(model, memory=True) as prof:
        model(X)
        if elsewhere:
            thread = threading.Thread(target=model[0], args=(X,))
            thread.start()
            thread.join()
    assert isinstance(rows(prof)["0"]["self_cpu_ns"], dict) == elsewhere
    for name in ("run.json", "run.pftrace"):
        prof.save(tmp_path / name)
        read = inferprobe.load(tmp_path / name)
        assert read.to_dict()["modules"] == prof.to_dict()["modules"], name
        with pytest.raises(inferprobe.Error, match="exists already"):
            prof.save(tmp_path / name)
        prof.save(tmp_path / name, force=True)
    with pytest.raises(inferprobe.Error, match=r"\.json .*\.pftrace"):
        prof.save(tmp_path / "run.txt")
    assert not (tmp_path / "run.txt").exists()


def test_a_profile_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(inferprobe.profile(small()))


def test_results_have_the_schema() -> None:
    import jsonschema

    schema = json.loads((Path(__file__).parents[2] / "docs/formats/result.schema.json").read_text())
    model = small()
    for options in ({}, {"memory": True}, {"detail": "modules"}):
        with inferprobe.profile(model, **options) as prof:
            model(X)
        jsonschema.validate(prof.to_dict(), schema)


# Memory.


@pytest.mark.parametrize(
    ("module", "shape", "kept", "allocated"),
    [
        (nn.Linear(16, 32), (4, 16), 4 * 32 * 4, 4 * 32 * 4),
        (nn.Conv2d(2, 8, 3, padding=1), (1, 2, 16, 16), 8 * 16 * 16 * 4, None),
        (nn.ReLU(), (4, 16), 4 * 16 * 4, 4 * 16 * 4),
        (nn.ReLU(inplace=True), (4, 16), 0, 0),
        (nn.Flatten(), (4, 16), 0, 0),
    ],
)
def test_memory_is_that_of_the_tensors(
    module: nn.Module, shape: tuple[int, ...], kept: int, allocated: int | None
) -> None:
    x = torch.randn(shape)
    model = nn.Sequential(module)
    with torch.inference_mode(), inferprobe.profile(model, memory=True) as prof:
        out = model(x)
    row = rows(prof)["0"]
    assert row["self_cpu_bytes"] == row["total_cpu_bytes"] == kept
    assert row["allocated_bytes"] - row["freed_bytes"] == kept
    if allocated is not None:
        assert row["allocated_bytes"] == allocated
    assert out.shape[0] == shape[0]


def test_memory_that_a_module_frees_of_its_own() -> None:
    class Scratch(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.relu(x).sum()

    model = Scratch()
    with inferprobe.profile(model, memory=True) as prof:
        out = model(torch.ones(256))
    row = rows(prof)[""]
    assert row["allocated_bytes"] == 256 * 4 + 4
    assert row["freed_bytes"] == 256 * 4
    assert row["self_cpu_bytes"] == 4 and out.numel() == 1


# Devices, by doubles of torch's events.


def test_without_a_device_there_is_no_device_column() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a device")
    model = small()
    with inferprobe.profile(model) as prof:
        model(X)
    assert "device self" not in str(prof) and "device total" not in str(prof)
    assert not any("device" in key for row in rows(prof).values() for key in row)
    assert prof.to_dict()["module_summary"]["device"]["status"] == "unavailable"


def test_device_work_is_of_the_module_that_launched_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The events of a device are doubles: kernels that outlast the calls that launched them."""
    real = adapter.read

    def with_kernels(events: Any, marks: Any, into: Any) -> None:
        real(events, marks, into)
        into.device_status = adapter.RECORDED
        into.names.append("a kernel")
        launches = {"aten::addmm": 1000, "aten::relu": 10}
        for place, name in enumerate(into.operators.name):
            took = launches.get(into.names[name])
            if took is None:
                continue
            start = into.operators.end_ns[place] + 5_000_000
            into.device_work.start_ns.append(start)
            into.device_work.end_ns.append(start + took)
            into.device_work.name.append(len(into.names) - 1)
            into.device_work.stream.append(7)
            into.device_work.operator.append(place + 1)

    monkeypatch.setattr(adapter, "read", with_kernels)
    model = small()
    with inferprobe.profile(model) as prof:
        model(X)
        model(X)
    found = rows(prof)
    device = {path: row["total_device_ns"] for path, row in found.items()}
    assert device == {"": 4020, "0": 2000, "1": 20, "2": 2000}
    assert found[""]["self_device_ns"] == 0
    assert "device" in str(prof).splitlines()[1]
    assert_adds_up(prof)  # host wall alone


# Limits.


def test_calls_beyond_the_capacity_are_counted() -> None:
    class Many(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = nn.Identity()

        def forward(self, n: int) -> None:
            child = self.child
            for _ in range(n):
                child(None)

    model = Many()
    with inferprobe.profile(model, detail="modules", capacity=1000) as prof:
        model(5000)
    assert calls(prof)["child"] == 1024  # rounded up to a power of two
    assert statistic(prof, "ring_dropped") == 5000 + 1 - 1024
    assert "ring_dropped" in str(prof)
    assert "a thread made more than capacity=1000" in str(prof)


def test_the_capacity_is_that_of_the_profile_around() -> None:
    model = nn.Identity()
    with (
        inferprobe.profile(model, detail="modules", capacity=64),
        inferprobe.profile(model, detail="modules", capacity=1000) as inner,
    ):
        for _ in range(100):
            model(X)
    assert "36 calls of modules: a thread made more than the capacity=64 of the profile" in str(
        inner
    )


def test_what_was_dropped_and_not_covered_is_in_every_view() -> None:
    model = nn.Sequential(nn.Identity(), torch.jit.script(nn.ReLU()), Stops())
    with inferprobe.profile(model, detail="modules", capacity=64) as prof:
        for _ in range(100):
            with contextlib.suppress(StopIteration):
                model(X)
    dropped = f"{statistic(prof, 'ring_dropped')} ring_dropped: "
    assert prof._repr_html_().count(dropped) == 1
    assert "not covered: 1: scripted" in prof._repr_html_()
    assert "raised" in prof._repr_html_()
    for frame in (prof.to_pandas(), prof.to_pandas(operators=True)):
        assert any(dropped in note for note in frame.attrs["notes"])
        assert any("not covered: 1: scripted" in note for note in frame.attrs["notes"])
    said = str(prof.compare(prof))
    assert f"base: {dropped}" in said and f"new: {dropped}" in said
    assert "calls ended by an exception" in said
    assert "(inferprobe.profile: capacity)" in str(prof)  # what it is called here


class Stops(nn.Module):
    def forward(self, _x: Any) -> Any:
        raise StopIteration


MILLION = """
import gc, inferprobe, torch
from pathlib import Path

def resident_kib(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])

model = torch.nn.Identity()
prof = inferprobe.profile(model, detail="modules", capacity=2**14)
for _ in range(1000):
    model(None)
gc.collect()
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
before = resident_kib("VmRSS")
with prof:
    for _ in range(1_000_000):
        model(None)
print(resident_kib("VmHWM") - before)
lost = {loss.name: loss.value for loss in prof.result.statistics}
print(prof.modules[0].calls, lost["ring_dropped"])
"""


def test_a_million_calls_take_the_memory_of_the_capacity() -> None:
    """In a process of its own: here the peak of another test would hide what this one takes."""
    done = subprocess.run([sys.executable, "-c", MILLION], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown_kib, calls_kept, dropped = map(int, done.stdout.split())
    assert calls_kept == 2**14
    assert dropped == 1_000_000 - 2**14
    assert grown_kib < 8 * 1024


def test_a_deep_tree() -> None:
    model: nn.Module = nn.ReLU()
    for _ in range(100):
        model = nn.Sequential(model)
    with inferprobe.profile(model, detail="modules") as prof:
        model(X)
    assert len(calls(prof)) == 101
    assert_adds_up(prof)


def test_parameters_that_are_not_known_yet() -> None:
    model = nn.Sequential(nn.LazyLinear(8), nn.Linear(8, 2))
    with inferprobe.profile(model) as prof:
        model(X)
    assert [row["parameters"] for row in rows(prof).values()] == [0, 0, 18]
    assert calls(prof)["0"] == 1


def test_a_cycle_in_the_tree() -> None:
    model = nn.Sequential(nn.ReLU())
    model[0].add_module("parent", model)
    with inferprobe.profile(model, detail="modules") as prof:
        model(X)
    assert list(rows(prof)) == ["", "0"]
    del model[0].parent


def test_a_recorder_that_runs_already(monkeypatch: pytest.MonkeyPatch) -> None:
    from inferprobe import _core

    model = small()
    native = _core.start_recording(64)
    prof = inferprobe.profile(model)
    with pytest.raises(inferprobe.Error, match="a recorder is running"):
        prof.__enter__()
    native.stop()
    with inferprobe.profile(model) as again:
        model(X)
    assert "aten::addmm" in operators(rows(again)["0"])
    monkeypatch.undo()


def test_a_failing_profiler_of_torch_leaves_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no profiler here\nsecond line")

    monkeypatch.setattr(torch.autograd.profiler, "profile", fails)
    monkeypatch.setattr(adapter, "_warned", set())
    model = small()
    with pytest.warns(RuntimeWarning, match="no profiler here"):  # noqa: SIM117
        with inferprobe.profile(model, memory=True) as prof:
            model(X)
    assert calls(prof)["0"] == 1
    summary = prof.to_dict()["module_summary"]
    assert summary["operators"]["status"] == summary["memory"]["status"] == "unavailable"
    assert "no profiler here" in summary["operators"]["hint"]
    assert_adds_up(prof)


def test_torchs_own_profiler_inside_of_ours() -> None:
    adapter._warned.clear()
    model = small()
    prof = inferprobe.profile(model)
    with prof:
        with torch.profiler.profile() as theirs:
            model(X)
        model(X)
        with pytest.warns(RuntimeWarning, match="started meanwhile"):
            prof.__exit__(None, None, None)
    assert "aten::addmm" in {event.name for event in theirs.events()}
    assert calls(prof)["0"] == 2
    assert prof.to_dict()["module_summary"]["operators"]["status"] == "unavailable"


def test_a_profile_left_on_another_thread() -> None:
    model = small()
    prof = inferprobe.profile(model)
    prof.__enter__()
    model(X)
    thread = threading.Thread(target=prof.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert calls(prof)["0"] == 1
    assert "aten::addmm" in operators(rows(prof)["0"])


def test_a_fork_inside_of_a_profile() -> None:
    """The child's calls are its own: it records nothing, and does not disturb the parent."""
    import os

    if sys.platform != "linux":
        pytest.skip("forks are tested on Linux")
    model = nn.Identity()
    with inferprobe.profile(model, detail="modules") as prof:
        model(X)
        child = os.fork()
        if child == 0:
            model(X)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        model(X)
    assert calls(prof) == {"": 2}


def test_saving_is_as_the_command_writes(tmp_path: Path) -> None:
    model = torch.nn.Linear(4, 4)
    with inferprobe.profile(model) as prof:
        model(torch.ones(2, 4))
    for name in ("run.json", "run.pftrace"):
        target, link = tmp_path / f"at.{name}", tmp_path / name
        target.write_text("mine")
        link.symlink_to(target)
        with pytest.raises(inferprobe.Error, match="force=True") as error:
            prof.save(link)
        assert error.value.code == "already_exists" and "--force" not in str(error.value)
        prof.save(link, force=True)
        assert link.is_symlink() and target.read_bytes()[:4] != b"mine"
        of_others = tmp_path / f"other.{name}.partial"
        of_others.write_text("mine")
        with pytest.raises(inferprobe.Error):
            prof.save(tmp_path / f"other.{name}")
        assert of_others.read_text() == "mine"
        for wrong in ("x" * 300, "no\0", "bad\udc80", f"at.{name}/in"):
            with pytest.raises(inferprobe.Error):
                prof.save(tmp_path / f"{wrong}.{name}")


def test_a_threads_first_call_takes_no_memory_that_it_does_not_need() -> None:
    def resident() -> int:
        text = Path("/proc/self/statm").read_text(encoding="ascii")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    model = torch.nn.Identity()
    done = threading.Barrier(101)

    def call() -> None:
        model(None)
        done.wait()

    with inferprobe.profile(model, detail="modules") as prof:
        before = resident()
        threads = [threading.Thread(target=call) for _ in range(100)]
        for thread in threads:
            thread.start()
        while done.n_waiting < 100:
            time.sleep(0.001)
        grown = resident() - before
        done.wait()
        for thread in threads:
            thread.join()
    assert prof.modules[0].calls == 100
    assert grown < 100 * 2**20  # their rings are 8 MiB each


def test_more_threads_than_before_each_have_their_ring() -> None:
    model = torch.nn.Identity()
    with inferprobe.profile(model, detail="modules") as prof:
        for _ in range(1000):
            thread = threading.Thread(target=model, args=(None,))
            thread.start()
            thread.join()
    assert prof.modules[0].calls == 1000
    assert "no_ring" not in str(prof)


def test_where_calls_were_dropped_none_is_said_to_be_not_called() -> None:
    model = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity())
    with inferprobe.profile(model[0], capacity=64):
        pass
    with inferprobe.profile(model, capacity=64) as prof:
        for _ in range(200):
            model[0](None)
        model[1](None)
    row = prof.modules[2]
    assert row.calls == 0 and "not recorded" in str(row.total_cpu_ns)
    assert "not recorded" in str(prof) and "not called" not in str(prof)
