"""How a profile ends when its block does not: gone, forked off, at the interpreter's exit."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import inferprobe
import pytest
import torch
import torch.autograd.profiler as autograd_profiler
from inferprobe import _torch_profiler as adapter
from inferprobe._shared_recording import shared
from profile_models import X, calls, operators, rows, small
from torch import nn


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert not shared._entered and not shared._waiting and not shared._to_end
    assert shared._native is None and shared._operators is None and shared._users == 0
    assert adapter._running is None
    assert not autograd_profiler._is_profiler_enabled


def works() -> None:
    model = small()
    with inferprobe.profile(model) as prof:
        model(X)
    assert calls(prof)["0"] == 1
    assert "aten::addmm" in operators(rows(prof)["0"])


def run(code: str) -> subprocess.CompletedProcess[str]:
    before = "import inferprobe, torch\nfrom torch import nn\nmodel, x = nn.ReLU(), torch.ones(1)\n"
    return subprocess.run(
        [sys.executable, "-c", before + code], capture_output=True, text=True, timeout=300
    )


# The interpreter's exit.


@pytest.mark.parametrize("options", ["", ", memory=True", ", detail='modules'"])
def test_the_interpreter_ends_inside_of_a_profile(options: str) -> None:
    ended = run(f"prof = inferprobe.profile(model{options}); prof.__enter__(); model(x)")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_who_asks_for_results_at_exit_gets_them() -> None:
    ended = run(
        "import atexit\n"
        "atexit.register(lambda: print(prof.modules[0].calls))\n"
        "prof = inferprobe.profile(model); prof.__enter__(); model(x)\n"
    )
    assert (ended.returncode, ended.stderr, ended.stdout) == (0, "", "1\n")


# Profiles that are gone.


@pytest.mark.parametrize("memory", [False, True])
def test_a_profile_that_dies_while_it_runs(memory: bool) -> None:
    model = small()
    prof = inferprobe.profile(model, memory=memory)
    prof.__enter__()
    model(X)
    gone = weakref.ref(prof)
    del prof
    gc.collect()
    assert gone() is None
    works()


def test_a_profile_that_dies_inside_of_another() -> None:
    model = small()
    with inferprobe.profile(model) as outer:
        inner = inferprobe.profile(model)
        inner.__enter__()
        model(X)
        del inner
        gc.collect()
        model(X)
    assert calls(outer)["0"] == 2
    assert "aten::addmm" in operators(rows(outer)["0"])
    works()


def generator(model: nn.Module, cycle: list[Any]) -> Iterator[int]:
    with inferprobe.profile(model) as prof:
        cycle.append(prof)
        model(X)
        yield 1


@pytest.mark.parametrize("cyclic", [False, True])
def test_a_profile_of_a_generator_that_nobody_finishes(cyclic: bool) -> None:
    model = small()
    cycle: list[Any] = []
    half = generator(model, cycle)
    next(half)
    if cyclic:
        cycle.append(half)  # only garbage collection ends this one
    else:
        cycle.clear()
    del cycle, half
    gc.collect()
    works()


def test_garbage_that_is_collected_in_the_midst_of_an_enter() -> None:
    left: list[Any] = [generator(small(), []), inferprobe.profile(small())]
    next(left[0])
    left[1].__enter__()
    model = small()
    outer = inferprobe.profile(model, detail="modules")
    choose = outer._choose

    def collect_and_choose() -> Any:
        left.clear()
        gc.collect()
        return choose()

    outer._choose = collect_and_choose  # type: ignore[method-assign]
    with outer:
        model(X)
    assert not left
    assert calls(outer)["0"] == 1
    works()


# Forks.


def in_a_child(body: Any) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            body()
            os.write(writing, b"well")
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode()[:1000])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    assert said == "well"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
@pytest.mark.parametrize("options", [{}, {"memory": True}, {"detail": "modules"}])
def test_a_profile_in_a_child_that_was_forked_inside_of_one(options: dict[str, Any]) -> None:
    model = small()
    with inferprobe.profile(model, **options) as outer:
        model(X)

        def child() -> None:
            outer.__exit__(None, None, None)  # as its own with block would
            with pytest.raises(inferprobe.Error, match="forked off while it ran"):
                outer.display()
            assert str(outer) == "<profile was forked>"
            with inferprobe.profile(model) as prof:
                model(X)
            assert calls(prof)["0"] == 1
            assert "aten::addmm" in operators(rows(prof)["0"])

        in_a_child(child)
        model(X)
    assert calls(outer)["0"] == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_child_that_was_forked_while_another_thread_changes_the_recording() -> None:
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with shared._lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        in_a_child(works)
    finally:
        over.set()
        thread.join()


# An enter that fails.


def test_an_enter_that_fails_leaves_nothing_and_may_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from inferprobe import _core

    model = small()
    prof = inferprobe.profile(model)
    native = _core.start_recording(64)
    with pytest.raises(inferprobe.Error, match="a recorder is running"):
        prof.__enter__()
    prof.__exit__(None, None, None)
    assert str(prof) == "<profile was not entered>"
    native.stop()

    def fails(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_core, "watch_module", fails)
        with pytest.raises(KeyboardInterrupt):
            prof.__enter__()
    with prof:
        model(X)
    assert calls(prof)["0"] == 1


# What is exchanged meanwhile.


class Adds(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + 1


class Around(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = Adds()
        self.b = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.b(self.a(x))


def test_a_forward_that_was_exchanged_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Around()
    with inferprobe.profile(model) as prof:
        model(X)
        monkeypatch.setattr(Adds, "forward", lambda _self, x: x + 2)
        model(X)
    assert calls(prof) == {"": 2, "a": 1, "b": 2}
    assert "a: its forward was exchanged while it was watched" in str(prof)


def test_a_forward_of_its_own_that_came_before_the_first_call() -> None:
    model = Around()
    with inferprobe.profile(model) as prof:
        model.a.forward = lambda x: x + 2  # type: ignore[method-assign]
        model(X)
    row = rows(prof)["a"]
    assert row["calls"] == 0
    assert "its forward was exchanged while it was watched" in row["not_covered"]
    assert "fused" not in str(prof)


def test_a_module_that_was_exchanged_is_said() -> None:
    model = Around()
    with inferprobe.profile(model) as prof:
        model(X)
        model.b = nn.Tanh()
        model(X)
    assert calls(prof) == {"": 2, "a": 2, "b": 1}
    assert "b: it was taken out of the model while it was watched" in str(prof)


def test_what_was_not_exchanged_says_nothing() -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU())
    model.add_module("again", model[1])
    with inferprobe.profile(model) as prof:
        model(torch.ones(2, 4))
    assert "while it was watched" not in str(prof)


def test_one_that_is_left_in_the_midst_of_anothers_enter_ends_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when garbage collection ends a generator's block at that moment."""
    model = small()
    first, second = inferprobe.profile(model), inferprobe.profile(model)
    first.__enter__()
    choose = second._choose
    over = []

    def leave_the_first() -> Any:
        first.__exit__(None, None, None)
        over.append(first._state)
        return choose()

    monkeypatch.setattr(second, "_choose", leave_the_first)
    with second:
        assert first._state == "over"
        model(X)
    assert over == ["is running"]
    assert calls(second)["0"] == 1
