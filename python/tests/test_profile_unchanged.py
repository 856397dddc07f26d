"""A profiled model is as it was, while it is profiled and afterwards. So is all that torch does."""

from __future__ import annotations

import copy
import ctypes
import functools
import inspect
import io
import pickle
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import inferprobe
import pytest
import torch
from profile_models import (
    Raises,
    X,
    assert_adds_up,
    calls,
    operators,
    rows,
    small,
    statistic,
)
from torch import nn


class Net(nn.Module):
    """What is profiled here: at module level, so that it can be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A docstring."""
        return self.act(self.linear(x)) + 1


def slot(function: Any) -> int:
    """The address in the function's vectorcall slot, the last pointer but one of the object."""
    size = types.FunctionType.__basicsize__
    words = (ctypes.c_void_p * (size // 8)).from_address(id(function))
    offset = PLAIN_WORDS.index(PLAIN_SLOT)
    return words[offset] or 0


def _words(function: Any) -> list[int]:
    size = types.FunctionType.__basicsize__
    return [word or 0 for word in (ctypes.c_void_p * (size // 8)).from_address(id(function))]


def _find_slot() -> tuple[list[int], int]:
    """All Python functions have the same address there, and in no other place that is not 0."""
    first, second = _words(Net.forward), _words(_words)
    same = [a for a, b in zip(first[2:], second[2:], strict=True) if a == b and a]
    executable = [a for a in same if _is_code(a)]
    assert len(executable) == 1
    return first, executable[0]


def _is_code(address: int) -> bool:
    with open("/proc/self/maps", encoding="utf-8") as maps:  # noqa: PTH123
        for line in maps:
            span, rights = line.split()[:2]
            low, high = (int(part, 16) for part in span.split("-"))
            if low <= address < high:
                return "x" in rights
    return False


PLAIN_WORDS, PLAIN_SLOT = _find_slot()


def state(model: nn.Module) -> list[Any]:
    """Everything that a module and its class have."""
    found: list[Any] = []
    for module in model.modules():
        found.append(dict(vars(module)))
        found.extend(dict(vars(kind)) for kind in type(module).__mro__)
        forward = type(module).forward
        found.append((forward, forward.__name__, forward.__doc__, forward.__module__))
        found.append((dict(vars(forward)), inspect.signature(forward), forward.__code__))
    return found


def profiled(model: nn.Module, work: Callable[[], Any]) -> Any:
    """What `work` gives while the model is profiled."""
    with inferprobe.profile(model):
        return work()


def test_nothing_of_the_model_changes() -> None:
    model = Net()
    before, bytes_before = state(model), pickle.dumps(model)
    with inferprobe.profile(model):
        assert state(model) == before
        assert pickle.dumps(model) == bytes_before
        model(X)
        assert state(model) == before
    assert state(model) == before
    assert pickle.dumps(model) == bytes_before


def test_the_slot_is_put_back() -> None:
    model = Net()
    with inferprobe.profile(model):
        assert slot(Net.forward) != PLAIN_SLOT
        assert slot(nn.ReLU.forward) != PLAIN_SLOT
    assert slot(Net.forward) == PLAIN_SLOT
    assert slot(nn.ReLU.forward) == PLAIN_SLOT


@pytest.mark.parametrize("first_out", [0, 1])
def test_two_profiles_in_any_order_of_exit(first_out: int) -> None:
    model, other = Net(), Net()
    profiles = [inferprobe.profile(m, detail="modules") for m in (model, other)]
    for one in profiles:
        one.__enter__()
    profiles[first_out].__exit__(None, None, None)
    assert slot(Net.forward) != PLAIN_SLOT
    (model, other)[1 - first_out](X)
    profiles[1 - first_out].__exit__(None, None, None)
    assert slot(Net.forward) == PLAIN_SLOT
    assert calls(profiles[first_out]) == {}
    assert calls(profiles[1 - first_out]) == {"": 1, "linear": 1, "act": 1}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_restored_after_an_exception_in_the_body(error: type[BaseException]) -> None:
    model = Net()
    prof = inferprobe.profile(model)
    with pytest.raises(error), prof:  # noqa: PT012
        model(X)
        raise error
    assert slot(Net.forward) == PLAIN_SLOT
    assert calls(prof)[""] == 1


def test_restored_after_an_exception_in_forward() -> None:
    model = Raises()
    with pytest.raises(ValueError, match="as it must be"), inferprobe.profile(model):
        model(X)
    assert slot(Raises.forward) == PLAIN_SLOT


def test_nothing_is_left_when_entering_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from inferprobe import _module_tree

    model = Net()
    prof = inferprobe.profile(model)
    real = _module_tree.find_forward
    left = iter([True, False])

    def fails(*arguments: Any) -> None:
        if not next(left):
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(_module_tree, "find_forward", fails)
    with pytest.raises(KeyboardInterrupt):
        prof.__enter__()
    monkeypatch.undo()
    assert slot(Net.forward) == PLAIN_SLOT
    with inferprobe.profile(model) as again:
        model(X)
    assert calls(again)[""] == 1 and "aten::linear" in operators(rows(again)["linear"])


def test_a_model_is_not_kept_alive() -> None:
    import gc
    import weakref

    model = Net()
    with inferprobe.profile(model) as prof:
        model(X)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert calls(prof)[""] == 1


def test_hooks_that_were_there_still_run() -> None:
    model = Net()
    seen: list[str] = []
    model.linear.register_forward_pre_hook(lambda *_: seen.append("before"))
    model.linear.register_forward_hook(lambda *_: seen.append("after"))
    with inferprobe.profile(model) as prof:
        model(X)
    assert seen == ["before", "after"]
    assert calls(prof)["linear"] == 1
    assert len(model.linear._forward_hooks) == len(model.linear._forward_pre_hooks) == 1


def test_deepcopy_save_and_state_dict() -> None:
    model = Net()
    expected = model(X)

    def saved() -> bytes:
        buffer = io.BytesIO()
        torch.save(model, buffer)
        return buffer.getvalue()

    before = saved()
    with inferprobe.profile(model) as prof:
        twin = copy.deepcopy(model)
        assert torch.equal(twin(X), expected)
        assert saved() == before
        assert list(model.state_dict()) == ["linear.weight", "linear.bias"]
    loaded = torch.load(io.BytesIO(before), weights_only=False)
    assert torch.equal(loaded(X), expected)
    assert calls(prof) == {}  # the copy is no module of the profile
    assert statistic(prof, "module_calls_outside") == 3


def counting_backend(graphs: list[Any]) -> Callable[..., Any]:
    def backend(graph: Any, _inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    return backend


@pytest.fixture
def fresh_dynamo() -> None:
    torch._dynamo.reset()


@pytest.mark.usefixtures("fresh_dynamo")
def test_compile_fullgraph_while_profiled() -> None:
    model, graphs = Net(), []  # type: ignore[var-annotated]
    expected = model(X)
    with inferprobe.profile(model):
        compiled = torch.compile(model, backend=counting_backend(graphs), fullgraph=True)
        assert torch.equal(compiled(X), expected)
        assert torch.equal(compiled(X), expected)
    assert torch.equal(compiled(X), expected)
    assert len(graphs) == 1


@pytest.mark.usefixtures("fresh_dynamo")
def test_compiled_before_is_not_compiled_again() -> None:
    model, graphs = Net(), []  # type: ignore[var-annotated]
    compiled = torch.compile(model, backend=counting_backend(graphs), fullgraph=True)
    expected = compiled(X)
    with inferprobe.profile(compiled) as prof:
        assert torch.equal(compiled(X), expected)
    assert torch.equal(compiled(X), expected)
    assert len(graphs) == 1
    assert calls(prof) == {"": 1, "_orig_mod": 1}
    assert "_orig_mod.linear, _orig_mod.act: _orig_mod is compiled: 1 region" in str(prof)


@pytest.mark.usefixtures("fresh_dynamo")
def test_compiled_in_place() -> None:
    model, graphs = Net(), []  # type: ignore[var-annotated]
    model.compile(backend=counting_backend(graphs))
    model(X)
    with inferprobe.profile(model) as prof:
        model(X)
    assert len(graphs) == 1
    assert calls(prof) == {"": 1}
    assert "linear, act: Net is compiled: 1 region, no inner modules" in str(prof)


def test_export() -> None:
    model = Net().eval()
    plain = torch.export.export(model, (X,), strict=True)
    for strict in (True, False):
        export = functools.partial(torch.export.export, model, (X,), strict=strict)
        program = profiled(model, export)
        assert torch.equal(program.module()(X), model(X))
        assert [n.target for n in program.graph.nodes] == [n.target for n in plain.graph.nodes]


def test_an_exported_module_shows_what_it_has() -> None:
    module = torch.export.export(Net().eval(), (X,)).module()
    with inferprobe.profile(module) as prof:
        module(X)
    assert calls(prof)[""] == 1
    assert "aten::linear" in set().union(*(operators(row) for row in rows(prof).values()))


def test_jit_trace_and_script() -> None:
    model = Net().eval()
    traced = profiled(model, lambda: torch.jit.trace(model, X))
    assert torch.equal(traced(X), model(X))
    scripted = profiled(model, lambda: torch.jit.script(model))
    assert torch.equal(scripted(X), model(X))
    assert str(scripted.graph) == str(torch.jit.script(Net().eval()).graph)


def test_a_scripted_module_is_named_with_why() -> None:
    model = nn.Sequential(torch.jit.script(Net().eval()), nn.ReLU())
    with inferprobe.profile(model) as prof:
        model(X)
    assert calls(prof) == {"": 1, "1": 1}
    assert "aten::linear" in operators(rows(prof)[""])  # of the module around it
    assert "scripted" in rows(prof)["0"]["not_covered"]
    assert_adds_up(prof)


def test_a_traced_module_is_named_with_why() -> None:
    traced = torch.jit.trace(small().eval(), X)
    with inferprobe.profile(traced) as prof:
        traced(X)
    assert calls(prof) == {}
    outside = {op["name"] for op in prof.to_dict()["module_summary"]["outside"]}
    assert "aten::linear" in outside
    model = nn.Sequential(traced, nn.ReLU())
    with inferprobe.profile(model) as prof:
        model(X)
    assert calls(prof) == {"": 1, "1": 1}
    assert "aten::linear" in operators(rows(prof)[""])  # of the module around it
    assert "TorchScript" in rows(prof)["0"]["not_covered"]
    assert_adds_up(prof)


def test_an_instances_own_forward() -> None:
    model = small()
    plain = model[1].forward
    model[1].forward = lambda x: plain(x) * 2
    model[2].forward = types.MethodType(lambda _, x: nn.functional.relu(x), model[2])
    before = [dict(vars(module)) for module in model]
    with inferprobe.profile(model) as prof:
        model(X)
    assert [dict(vars(module)) for module in model] == before
    assert calls(prof) == {"": 1, "0": 1, "1": 1, "2": 1}
    assert "aten::mul" in operators(rows(prof)["1"])


class Generator(nn.Module):
    def forward(self, x: Any) -> Any:
        yield x


class Coroutine(nn.Module):
    async def forward(self, x: Any) -> Any:
        return x


class Partial(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.forward = functools.partial(torch.add, 1)


class Borrowed(nn.Module):
    def __init__(self, other: nn.Module) -> None:
        super().__init__()
        self.__dict__["forward"] = other.forward


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (Generator(), "generator"),
        (Coroutine(), "coroutine"),
        (Partial(), "no Python function"),
        (Borrowed(nn.ReLU()), "another object"),
    ],
)
def test_what_cannot_be_watched_is_named_with_why(module: nn.Module, why: str) -> None:
    model = nn.Sequential(nn.ReLU(), module)
    with inferprobe.profile(model, detail="modules") as prof:
        model[0](X)
        result = module(X)
        if inspect.iscoroutine(result):
            result.close()
    assert why in rows(prof)["1"]["not_covered"]
    assert why in str(prof)
    assert calls(prof) == {"0": 1}


def test_the_same_own_function_of_two_modules() -> None:
    def shared(x: Any) -> Any:
        return x

    model = small()
    model[0].forward = shared
    model[1].forward = shared
    with inferprobe.profile(model, detail="modules") as prof:
        model[0](X)
    assert "another module" in rows(prof)["1"]["not_covered"]


def test_super_forward_is_not_counted_twice() -> None:
    class Sub(nn.Linear):
        def forward(self, *x: Any) -> Any:
            return super().forward(*x) + 1  # so Python 3.11 asks, too

    model = nn.Sequential(Sub(4, 4), nn.Linear(4, 4))
    with inferprobe.profile(model) as prof:
        model(X)
    assert calls(prof) == {"": 1, "0": 1, "1": 1}
    assert statistic(prof, "module_calls_outside") == 0


def test_direct_calls_of_forward() -> None:
    class Direct(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.child.forward(x)

    model = Direct()
    with inferprobe.profile(model) as prof:
        for _ in range(50):
            model(X)
    if sys.version_info < (3, 12):
        assert "m.forward(x)" in str(prof)
    else:
        assert calls(prof)["child"] == 50


def test_calls_that_the_interpreter_specialised_before_are_seen() -> None:
    """What Python has learnt to call without asking is asked again, and learnt again behind."""
    model = small()
    for _ in range(200):
        model(X)
    with inferprobe.profile(model, detail="modules") as prof:
        for _ in range(200):
            model(X)
    for _ in range(200):
        model(X)
    assert calls(prof) == {"": 200, "0": 200, "1": 200, "2": 200}


def test_the_same_profile_twice() -> None:
    model = Net()
    prof = inferprobe.profile(model)
    with prof, pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    assert slot(Net.forward) == PLAIN_SLOT


def test_nested_profiles_of_one_model() -> None:
    model = Net()
    with inferprobe.profile(model) as outer:
        model(X)
        with inferprobe.profile(model, paths=["linear"]) as inner:
            model(X)
        assert "operators come when it ends" in str(inner)
        assert calls(inner) == {"linear": 1}
        model(X)
    assert calls(outer) == {"": 3, "linear": 3, "act": 3}
    assert calls(inner) == {"linear": 1}
    assert "aten::addmm" in operators(rows(outer)["linear"])
    assert "aten::addmm" in operators(rows(inner)["linear"])
    counts = {op["name"]: op["calls"] for op in rows(inner)["linear"]["operators"]}
    assert counts["aten::addmm"] == 1
    outside = {op["name"]: op["calls"] for op in inner.to_dict()["module_summary"]["outside"]}
    assert outside["aten::relu"] == 1  # and not those of before and behind
    assert_adds_up(outer)
    assert_adds_up(inner)


def test_nested_profiles_of_different_models() -> None:
    one, two = Net(), small()
    with inferprobe.profile(one, detail="modules") as outer:
        one(X)
        with inferprobe.profile(two) as inner:
            one(X)
            two(X)
        assert "aten::addmm" in operators(rows(inner)["0"])  # the outer one wants none
        two(X)
    assert calls(outer) == {"": 2, "linear": 2, "act": 2}
    assert calls(inner) == {"": 1, "0": 1, "1": 1, "2": 1}
    assert operators(rows(outer)[""]) == set()


def test_an_inner_profile_with_memory_inside_of_one_without() -> None:
    model = Net()
    with inferprobe.profile(model), inferprobe.profile(model, memory=True) as inner:
        model(X)
    assert inner.to_dict()["module_summary"]["memory"]["status"] == "unavailable"
    assert "aten::addmm" in operators(rows(inner)["linear"])


def test_many_threads_entering_profiles() -> None:
    model = Net()
    results: list[inferprobe.ModuleProfile] = []

    def work() -> None:
        for _ in range(5):
            with inferprobe.profile(model, detail="modules") as prof:
                model(X)
            results.append(prof)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    assert all(rows(prof)[""]["calls"] >= 1 for prof in results)
    assert slot(Net.forward) == PLAIN_SLOT


def test_a_watched_module_that_goes_while_it_runs() -> None:
    """Its profile ends inside of its call, and the call's own references are the last ones."""
    import gc
    import weakref

    held: dict[str, Any] = {}

    class Gone(nn.Module):
        def forward(self, x: Any) -> Any:
            held.pop("prof").__exit__(None, None, None)
            del type(self).forward, self
            gc.collect()
            return x

    model = Gone()
    gone = [weakref.ref(thing) for thing in (model, Gone, Gone.forward)]
    prof = held["prof"] = inferprobe.profile(model)
    prof.__enter__()
    held["model"] = model
    del Gone, model
    assert held.pop("model")(X) is X
    gc.collect()
    assert [reference() for reference in gone] == [None, None, None]
    assert calls(prof) == {}
    assert "in no row" in str(prof)
