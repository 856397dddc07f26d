"""inferprobe.profile on models with known answers: whose time it is, and that it adds up."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from typing import Any

import inferprobe
import pytest
import torch
from inferprobe._calls_in_flight import HAD_BEGUN, HAD_NOT_ENDED
from profile_models import (
    MS,
    Raises,
    Recursive,
    Sleeps,
    X,
    assert_adds_up,
    calls,
    operators,
    rows,
    small,
)
from torch import nn
from torch.nn import functional


@pytest.mark.parametrize("detail", ["ops", "modules"])
def test_time_is_of_the_module_that_spent_it(detail: str) -> None:
    model = Sleeps(20, 10, Sleeps(30), Sleeps(5))
    with inferprobe.profile(model, detail=detail) as prof:
        model(X)
    found = rows(prof)
    assert found[""]["self_cpu_ns"] >= 30 * MS
    assert found["inner.0"]["self_cpu_ns"] >= 30 * MS
    assert found["inner.1"]["self_cpu_ns"] >= 5 * MS
    assert found[""]["children_cpu_ns"] >= 35 * MS
    assert found[""]["total_cpu_ns"] >= 65 * MS
    # What its children slept is not its own: it sleeps more often than they, and so as long.
    inner = found["inner.0"]["total_cpu_ns"] + found["inner.1"]["total_cpu_ns"]
    assert found[""]["children_cpu_ns"] == inner
    assert calls(prof) == {"": 1, "inner.0": 1, "inner.1": 1}
    assert_adds_up(prof)


def test_the_profile_is_of_the_whole_call() -> None:
    model = Sleeps(20, 0, Sleeps(20))
    with inferprobe.profile(model, detail="modules") as prof:
        start = time.perf_counter_ns()
        model(X)
        took = time.perf_counter_ns() - start
    assert 40 * MS <= rows(prof)[""]["total_cpu_ns"] <= took


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return torch.softmax(functional.relu(self.linear(x)), -1)


def test_functional_operators_are_of_the_module_that_called_them() -> None:
    model = Functional()
    with inferprobe.profile(model) as prof:
        model(X)
    found = rows(prof)
    assert {"aten::relu", "aten::softmax"} <= operators(found[""])
    assert "aten::linear" not in operators(found[""])
    assert {"aten::linear", "aten::addmm"} <= operators(found["linear"])
    assert found[""]["operators_cpu_ns"] > 0
    assert_adds_up(prof)


def test_operators_outside_of_all_modules_are_said_apart() -> None:
    model = small()
    with inferprobe.profile(model) as prof:
        model(torch.tanh(X))
    summary = prof.to_dict()["module_summary"]
    assert "aten::tanh" in {operator["name"] for operator in summary["outside"]}
    assert summary["outside_cpu_ns"] > 0
    assert "aten::tanh" not in set().union(*(operators(row) for row in rows(prof).values()))


def test_one_module_under_two_names_is_one_row() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model.add_module("again", model[1])
    with inferprobe.profile(model) as prof:
        model(X)
    found = rows(prof)
    assert list(found) == ["", "0", "1"]
    assert found["1"]["also"] == ["again"]
    assert found["1"]["calls"] == 2
    assert "again is 1 again" in str(prof)
    assert_adds_up(prof)


def test_a_module_called_three_times_in_a_pass() -> None:
    class Thrice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.child(self.child(self.child(x)))

    model = Thrice()
    with inferprobe.profile(model) as prof:
        model(X)
        model(X)
    assert calls(prof) == {"": 2, "child": 6}
    assert_adds_up(prof)


@pytest.mark.parametrize("detail", ["ops", "modules"])
def test_recursion_counts_once_in_the_total(detail: str) -> None:
    model = Recursive()
    with inferprobe.profile(model, detail=detail) as prof:
        start = time.perf_counter_ns()
        model(X, 5)
        took = time.perf_counter_ns() - start
    assert calls(prof) == {"": 6, "leaf": 1}
    assert rows(prof)[""]["total_cpu_ns"] <= took
    assert rows(prof)[""]["share"] == 1
    assert rows(prof)[""]["outermost_calls"] == 1
    assert "outermost_calls" not in rows(prof)["leaf"]  # all of them
    assert "6 (1 outermost)" in str(prof)
    assert prof.compare(prof)[""].total_ns[0] == rows(prof)[""]["total_cpu_ns"]
    assert_adds_up(prof)


def test_a_parent_and_its_child_both_chosen() -> None:
    model = Sleeps(5, 0, Sleeps(10, 0, Sleeps(20)))
    with inferprobe.profile(model, paths=["inner.0", "inner.0.inner.0"]) as prof:
        model(X)
    found = rows(prof)
    assert found["inner.0"]["total_cpu_ns"] >= 30 * MS
    assert found["inner.0"]["self_cpu_ns"] >= 10 * MS
    assert found["inner.0.inner.0"]["total_cpu_ns"] >= 20 * MS
    assert found["inner.0"]["children_cpu_ns"] == found["inner.0.inner.0"]["total_cpu_ns"]
    assert found[""]["calls"] == 0  # it was not chosen
    assert_adds_up(prof)


def test_two_threads_on_one_model() -> None:
    model = Sleeps(0, 0, Sleeps(10), nn.ReLU())
    threads = [threading.Thread(target=model, args=(X,)) for _ in range(2)]
    with inferprobe.profile(model) as prof:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert calls(prof) == {"": 2, "inner.0": 2, "inner.1": 2}
    assert rows(prof)["inner.0"]["total_cpu_ns"] >= 20 * MS
    assert "aten::relu" in operators(rows(prof)["inner.1"])
    of_relu = prof.raw()[1]["inner.1"]
    assert len({event.thread_id for call in of_relu for event in call}) == 2
    assert_adds_up(prof)


def test_with_memory_the_other_threads_operators_are_missing_and_it_is_said() -> None:
    model = small()
    with inferprobe.profile(model, memory=True) as prof:
        thread = threading.Thread(target=model, args=(X,))
        thread.start()
        thread.join()
    assert calls(prof)["0"] == 1
    assert operators(rows(prof)["0"]) == set()
    row = rows(prof)["0"]
    for figure in ("self_cpu_ns", "operators_cpu_ns", "total_cpu_bytes", "allocated_bytes"):
        assert row[figure]["status"] == "unavailable", figure
    assert row["total_cpu_ns"] > 0
    assert "operators and memory of threads beside the one that entered" in str(prof)


def test_a_call_in_flight_on_another_thread_when_the_profile_ends() -> None:
    model = Sleeps(0, 0, nn.ReLU())
    inside, over = threading.Event(), threading.Event()

    def hook(*_: Any) -> None:
        inside.set()
        over.wait()

    model.inner[0].register_forward_pre_hook(hook)
    thread = threading.Thread(target=model, args=(X,))
    with inferprobe.profile(model, detail="modules") as prof:
        thread.start()
        inside.wait()
    over.set()
    thread.join()
    assert calls(prof) == {}
    assert rows(prof)[""]["not_covered"] == HAD_NOT_ENDED
    assert rows(prof)["inner.0"]["total_cpu_ns"]["hint"] == "not called"
    assert f"not covered: Sleeps: {HAD_NOT_ENDED}" in str(prof)


class ProfilesItself(nn.Module):
    """Enters a profile of what it is in, and leaves it or not."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.prof: list[inferprobe.ModuleProfile] = []

    def forward(self, whole: nn.Module, x: Any) -> Any:
        with inferprobe.profile(whole) as prof:
            x = self.linear(x)
        self.prof.append(prof)
        return x


def test_a_call_around_the_whole_profile() -> None:
    model = ProfilesItself()
    model(model, X)
    prof = model.prof[0]
    assert calls(prof) == {"linear": 1}
    assert rows(prof)[""]["not_covered"] == HAD_BEGUN
    assert f"not covered: ProfilesItself: {HAD_BEGUN}" in str(prof)
    with inferprobe.profile(model) as outer:
        model(model, X)
    assert calls(outer) == {"": 1, "linear": 1}
    assert "in no row" not in str(outer)


def test_a_call_around_of_one_of_several_modules_is_said_by_its_class() -> None:
    one, two = ProfilesItself(), ProfilesItself()
    one(nn.ModuleList([one, two]), X)
    prof = one.prof[0]
    assert f"not covered: class ProfilesItself: {HAD_BEGUN}" in str(prof)
    assert not any("not_covered" in row for row in rows(prof).values())


@pytest.mark.parametrize("detail", ["ops", "modules"])
def test_an_exception_is_the_models_own(detail: str) -> None:
    model = Raises()
    try:
        model(X)
    except ValueError as plain:
        expected = plain
    with inferprobe.profile(model, detail=detail) as prof:
        with pytest.raises(ValueError, match="as it must be") as caught:
            model(X)
        model.child(X)
    assert calls(prof) == {"": 1, "child": 2}
    assert rows(prof)[""]["raised"] == 1
    assert rows(prof)["child"].get("raised", 0) == 0
    frames, plain_frames = (
        [frame.tb_frame.f_code.co_name for frame in _frames(error)]
        for error in (caught.value, expected)
    )
    assert frames[1:] == plain_frames[1:]
    assert_adds_up(prof)


def _frames(error: BaseException) -> list[Any]:
    frames, at = [], error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    return frames


def test_checkpoint_and_autograd_functions_call_modules_inside_of_operators() -> None:
    from torch.utils.checkpoint import checkpoint

    inner = small()

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return checkpoint(self.inner, x, use_reentrant=True)

    model = Outer()
    with inferprobe.profile(model) as prof:
        model(X.requires_grad_(True))
    X.requires_grad_(False)
    assert calls(prof)["inner.0"] == 1
    assert "CheckpointFunction" in operators(rows(prof)[""])
    assert_adds_up(prof)


def test_transformer_fast_path_shows_what_runs_and_says_what_is_bypassed() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval()
    with torch.inference_mode(), inferprobe.profile(model) as prof:
        model(torch.randn(2, 5, 16))
    found = rows(prof)
    assert found["layers.0"]["calls"] == found["layers.1"]["calls"] == 1
    assert "aten::_transformer_encoder_layer_fwd" in operators(found["layers.0"])
    assert found["layers.0.linear1"]["calls"] == 0
    assert isinstance(found["layers.0.linear1"]["total_cpu_ns"], dict)
    assert "layers.0 ran without calling them" in str(prof)
    assert_adds_up(prof)


class RandomTree(nn.Module):
    """Calls some children, some of them twice, with `steps` of its own before, between, behind."""

    def __init__(
        self, dice: random.Random, pool: list[nn.Module], depth: int, own: list[str]
    ) -> None:
        super().__init__()
        self.steps: list[str] = []
        for number in range(dice.randrange(4) if depth else 0):
            if pool and dice.random() < 0.3:  # a module that is somewhere else, too
                child = dice.choice(pool)
            else:
                child = RandomTree(dice, pool, depth - 1, own)
                pool.append(child)
            self.add_module(f"m{number}", child)
            self.steps += [f"m{number}"] * dice.randrange(1, 3)
        self.steps += dice.choices(own, k=dice.randrange(4))
        dice.shuffle(self.steps)

    def forward(self, x: Any, raises: bool = False) -> Any:
        if raises:
            raise ValueError
        for step in self.steps:
            x = self._modules[step](x) if step in self._modules else getattr(self, step)(x)
        return x

    def add(self, x: Any) -> Any:
        return x + 1

    def relu(self, x: Any) -> Any:
        return functional.relu(x)

    def sleep(self, x: Any) -> Any:
        time.sleep(1e-5)
        return x

    def fail(self, x: Any) -> Any:
        with contextlib.suppress(ValueError):
            self(x, raises=True)
        return x

    def checkpoint(self, x: Any) -> Any:
        from torch.utils.checkpoint import checkpoint

        return checkpoint(lambda y: functional.relu(y) + 1, x, use_reentrant=True)

    def thread(self, x: Any) -> Any:
        for child in list(self._modules.values())[:1]:
            assert child is not None
            thread = threading.Thread(target=child, args=(x,))
            thread.start()
            thread.join()
        return x


OWN_STEPS = ["add", "relu", "sleep", "fail", "checkpoint"]


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_random_trees_add_up(seed: int, threads: bool) -> None:
    dice = random.Random(seed)
    model = RandomTree(dice, [], 3, [*OWN_STEPS, "thread"] if threads else OWN_STEPS)
    options: dict[str, Any] = {"detail": dice.choice(["ops", "modules"])}
    # With memory torch sees the entering thread alone.
    options["memory"] = options["detail"] == "ops" and not threads and dice.random() < 0.5
    everything = dice.random() < 0.5
    if not everything:
        options["include"] = ["", "*0*"]
    others = [threading.Thread(target=model, args=(torch.ones(3),)) for _ in range(2)]
    with inferprobe.profile(model, **options) as prof:
        for thread in others if threads else []:
            thread.start()
        for _ in range(3):
            model(torch.ones(3))
        for thread in others if threads else []:
            thread.join()
    assert_adds_up(prof)
    result, found = prof.to_dict(), rows(prof)
    failing = any("fail" in module.steps for module in model.modules())
    if everything:
        assert any(row.get("raised") for row in found.values()) == failing
    assert found[""]["calls"] >= (5 if threads else 3)
    # Every nanosecond is of one module, or of an operator of one.
    own = sum(
        row["self_cpu_ns"] + (row["operators_cpu_ns"] if options["detail"] == "ops" else 0)
        for row in found.values()
        if row["calls"]
    )
    assert own == result["module_summary"]["total_cpu_ns"]
    lost = {loss["name"] for loss in result["statistics"] if loss["value"]}
    assert lost <= {"operator_cut", "module_calls_outside"}


class Lists(nn.Module):
    """Containers that nobody calls, and a module that nobody called."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(4))])
        self.empty = nn.ModuleList()
        self.spare = nn.ModuleDict({"linear": nn.Linear(4, 4)})

    def forward(self, x: Any) -> Any:
        return x * self.weights[0]


def test_containers_are_not_missed() -> None:
    model = Lists()
    with inferprobe.profile(model) as prof:
        model(X)
    notes = [line for line in str(prof).splitlines() if "not covered" in line]
    assert [note for note in notes if "m.forward(x)" not in note] == [
        "  not covered: spare.linear: Lists ran without calling it: a fused fast path, "
        "or a condition"
    ]


def test_modules_that_are_not_chosen_are_not_missed() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(4, 4)), nn.ReLU())
    model[0].forward = lambda x: x  # its inner one does not run
    with inferprobe.profile(model, include=["", "1", "0.0"]) as prof:
        model(X)
    assert "not covered: 0.0: Sequential ran without calling it" in str(prof)
    with inferprobe.profile(model, paths=["", "1"]) as prof:
        model(X)
    assert "ran without" not in str(prof)
