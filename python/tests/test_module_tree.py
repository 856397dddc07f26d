"""The walk over a model: names that are taken or are no text, and what is no module."""

from __future__ import annotations

from typing import Any

import inferprobe
import pytest
import torch
from inferprobe import _module_tree
from inferprobe.compat.torchprof import walk_modules


class Odd(torch.nn.Module):
    """A child named "a.b" beside the child "b" of "a", and one whose name is no text."""

    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Sequential()
        self.a.add_module("b", torch.nn.Linear(4, 4))
        self._modules["a.b"] = torch.nn.ReLU()
        self._modules["bad\udc80"] = torch.nn.Tanh()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        relu = self._modules["a.b"]
        assert relu is not None
        y: torch.Tensor = relu(self.a(x))
        return y


class WithoutInit(torch.nn.Module):
    def __init__(self) -> None:
        pass


def test_each_module_has_a_path_of_its_own_that_is_text() -> None:
    model = Odd()
    with inferprobe.profile(model) as prof:
        model(torch.ones(2, 4))
    paths, events = prof.raw()
    assert paths == ["", "a", "a.b", "a.b#2", "bad\\udc80"]
    assert [len(events[path]) for path in paths] == [1, 1, 1, 1, 0]
    assert len(prof.compare(prof)) == 5


def test_of_many_paths_each_is_looked_up() -> None:
    wide = torch.nn.Sequential(*(torch.nn.Identity() for _ in range(3000)))
    nodes = _module_tree.walk(wide)
    looked = 0

    class Counted(list[Any]):
        def __iter__(self) -> Any:
            nonlocal looked
            looked += 1
            return super().__iter__()

    paths = [str(i) for i in range(3000)]
    assert len(_module_tree.choose(Counted(nodes), paths, (), (), None)) == 3001
    assert looked < 20


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"memory": "x"}, "memory is 'x'"),
        ({"paths": 5}, "paths is 5"),
        ({"paths": b"a"}, "paths is one text"),
        ({"paths": [5]}, "a path is 5"),
        ({"paths": [torch.nn.ReLU()]}, "a path is ReLU"),
        ({"include": None}, "include is None"),
        ({"include": [5]}, "include has 5"),
        ({"exclude": None}, "exclude is None"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(inferprobe.Error) as error:
        inferprobe.profile(Odd(), **arguments)
    assert error.value.code == "invalid_argument" and says in str(error.value)


def test_a_module_that_was_not_made_whole_says_what_to_do() -> None:
    with pytest.raises(inferprobe.Error, match=r"super\(\).__init__\(\)"):
        inferprobe.profile(WithoutInit())


def test_what_is_no_tensor_is_no_parameter() -> None:
    model = torch.nn.Linear(4, 4)
    model._parameters["odd"] = object()
    assert _module_tree.walk(model)[0].parameters == 20


def test_the_walk_of_torchprof_takes_deep_models_and_ends_in_cycles() -> None:
    top = module = torch.nn.Sequential()
    for _ in range(3000):
        inner = torch.nn.Sequential()
        module.add_module("x", inner)
        module = inner
    assert len(list(walk_modules(top))) == 3001
    cycle = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential())
    cycle[1].add_module("back", cycle)
    assert ["/".join(trace.path[1:]) for trace in walk_modules(cycle)] == ["", "0", "1"]
    for wrong in (None, 5):
        with pytest.raises(TypeError, match=r"torch\.nn\.Module is needed"):
            list(walk_modules(wrong))
