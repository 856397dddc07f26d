"""torchprof's interface: what its own tests call, and what it prints."""

from __future__ import annotations

import functools
import time
from typing import Any

import inferprobe
import pytest
import torch
from architectures import EXPECTED_OF_ALEXNET, alexnet
from inferprobe.compat import torchprof
from torch import nn


def traces_of_alexnet() -> list[tuple[tuple[str, ...], bool]]:
    features = [(("AlexNet", "features", str(i)), True) for i in range(13)]
    classifier = [(("AlexNet", "classifier", str(i)), True) for i in range(7)]
    return [
        (("AlexNet",), False),
        (("AlexNet", "features"), False),
        *features,
        (("AlexNet", "avgpool"), True),
        (("AlexNet", "classifier"), False),
        *classifier,
    ]


def test_the_traces_and_operators_of_alexnet() -> None:
    model, inputs = alexnet()
    with torchprof.Profile(model, use_cuda=False) as prof:
        model(*inputs)
    raw = prof.raw()
    assert raw is not None
    traces, event_lists = raw
    assert [(trace.path, trace.leaf) for trace in traces] == traces_of_alexnet()
    for path, leaf, module in traces:
        assert isinstance(module, nn.Module)
        lists = event_lists[path]
        if not leaf:
            assert lists == []
            continue
        assert len(lists) == 1  # the model was called once
        names = {event.name for event in lists[0]}
        assert names >= set(EXPECTED_OF_ALEXNET[".".join(path[1:])]), path
        assert "Self CPU time total" in lists[0].table()
        own = sum(event.self_cpu_time_total for event in lists[0])
        outer = sum(event.cpu_time_total for event in lists[0] if event.cpu_parent is None)
        assert own == pytest.approx(outer)
    assert isinstance(prof.display(), str)
    assert isinstance(prof.display(show_events=True), str)
    assert str(prof) == prof.display()


def test_chosen_paths_alone_have_events() -> None:
    model, inputs = alexnet()
    paths = [("AlexNet", "features", "3"), ("AlexNet", "avgpool")]
    with torchprof.Profile(model, paths=paths) as prof:
        model(*inputs)
    raw = prof.raw()
    assert raw is not None
    _, events = raw
    assert list(events) == paths
    lines = prof.display().splitlines()
    filled = [line for line in lines[2:] if line.split("|")[1].strip()]
    assert [line.split()[1] for line in filled] == ["3", "avgpool"]


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.last = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.last(self.first(self.first(x)))
        return result


def table_of(text: str) -> tuple[list[str], list[list[str]]]:
    lines = [[cell.rstrip() for cell in line.split(" | ")] for line in text.splitlines()]
    return lines[0], lines[2:]


def test_the_table_is_drawn_as_torchprof_drew_it() -> None:
    model = Twice()
    with torchprof.Profile(model) as prof:
        model(torch.rand(1, 4))
    text = prof.display()
    heads, rows = table_of(text)
    assert heads == ["Module", "Self CPU total", "CPU total", "Number of Calls"]
    assert [row[0] for row in rows] == ["Twice", "├── first", "│├── 0", "│└── 1", "└── last"]
    assert [row[3] for row in rows] == ["", "", "2", "2", "1"]
    for row in rows[2:]:
        assert all(cell.endswith(("us", "ms")) for cell in row[1:3])
    ruler = text.splitlines()[1]
    assert set(ruler) == {"-", "|"}
    assert len(ruler) == len(text.splitlines()[0])


def test_events_are_drawn_under_their_layers() -> None:
    model = Twice()
    with torchprof.Profile(model) as prof:
        model(torch.rand(1, 4))
    _, rows = table_of(prof.display(show_events=True))
    names = [row[0] for row in rows]
    linear = names.index("│├── 0")
    assert names[linear + 1].startswith("││├── aten::linear")
    assert rows[linear][3] == ""
    assert rows[linear + 1][3] == "2"


def test_memory_has_its_columns() -> None:
    model = nn.Sequential(nn.Linear(4, 256, bias=False))
    with torchprof.Profile(model, profile_memory=True) as prof, torch.no_grad():
        kept = model(torch.rand(1, 4))
    assert kept.shape == (1, 256)
    heads, rows = table_of(prof.display())
    assert heads[3:] == ["Self CPU Mem", "CPU Mem", "Number of Calls"]
    assert rows[1][3:5] == ["1.00 Kb", "1.00 Kb"]


def test_a_module_under_two_names_is_at_both() -> None:
    shared = nn.ReLU()
    model = nn.Sequential(shared, nn.Linear(2, 2), shared)
    with torchprof.Profile(model) as prof:
        model(torch.rand(1, 2))
    _, rows = table_of(prof.display())
    assert [row[3] for row in rows] == ["", "2", "1", "2"]
    raw = prof.raw()
    assert raw is not None
    _, events = raw
    assert len(events["Sequential", "0"]) == len(events["Sequential", "2"]) == 2


def test_a_parent_and_its_child_may_both_be_chosen() -> None:
    model = Twice()
    with torchprof.Profile(model, paths=[("Twice",), ("Twice", "last")]) as prof:
        model(torch.rand(1, 4))
    by_path = {row.path: row for row in prof._profile.modules}  # type: ignore[union-attr]
    assert by_path[""].total_cpu_ns.value > by_path["last"].total_cpu_ns.value > 0
    _, rows = table_of(prof.display())
    assert rows[0][3] == "1"
    assert rows[4][3] == "1"


def test_it_is_not_reentrant() -> None:
    prof = torchprof.Profile(nn.ReLU())
    with prof, pytest.raises(RuntimeError, match=r"^torchprof profiler is not reentrant$"):
        prof.__enter__()
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()


def test_a_disabled_one_adds_nothing() -> None:
    model = Twice()
    with torchprof.Profile(model, enabled=False) as prof:
        model(torch.rand(1, 4))
    assert prof.raw() is None
    assert prof.display() == "<unfinished torchprof.profile>"


def test_it_is_unfinished_until_the_end() -> None:
    with torchprof.Profile(nn.ReLU()) as prof:
        assert prof.raw() is None
        assert str(prof) == "<unfinished torchprof.profile>"


def test_it_calls_the_model() -> None:
    model = nn.ReLU()
    with torchprof.Profile(model) as prof:
        assert prof(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert prof.display().split()[-1] == "1"


def test_the_model_is_as_before_also_after_an_error() -> None:
    class Broken(nn.Module):
        def forward(self, _x: torch.Tensor) -> torch.Tensor:
            raise ValueError("mine")

    model = nn.Sequential(nn.ReLU(), Broken())
    before: list[dict[str, Any]] = [dict(module.__dict__) for module in model.modules()]
    with pytest.raises(ValueError, match="mine"), torchprof.Profile(model) as prof:
        model(torch.rand(2))
    assert [module.__dict__ for module in model.modules()] == before
    _, rows = table_of(prof.display())
    assert [row[3] for row in rows] == ["", "1", "1"]


def test_paths_that_are_none_are_left_alone() -> None:
    with torchprof.Profile(nn.ReLU(), paths=[("Nothing", "here")]) as prof:
        pass
    assert prof.raw() is not None
    assert prof.display().splitlines()[-1].split() == ["ReLU", "|", "|", "|"]


def test_walk_modules_gives_each_path() -> None:
    found = [trace.path for trace in torchprof.walk_modules(Twice())]
    assert found[0] == ("Twice",)
    assert ("Twice", "first", "1") in found
    named = list(torchprof.walk_modules(nn.ReLU(), name="act", path=("net",)))
    assert named[0].path == ("net", "act")
    assert named[0].leaf


def test_inside_of_another_profile_operators_come_when_that_one_ends() -> None:
    model = Twice()
    with inferprobe.profile(model):
        with torchprof.Profile(model) as prof:
            model(torch.rand(1, 4))
        assert dict(prof.trace_profile_events) == {}
        assert "operators come when it ends" in prof.display()
    raw = prof.raw()
    assert raw is not None
    names = [{event.name for event in call} for call in raw[1]["Twice", "last"]]
    assert len(names) == 1
    assert {"aten::linear", "aten::addmm"} <= names[0]
    assert "operators" not in prof.display()
    assert prof.trace_profile_events is raw[1]


def test_what_was_dropped_is_said_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    few = functools.partial(inferprobe.profile, capacity=64)
    monkeypatch.setattr(torchprof, "profile", few)
    model = nn.Sequential(nn.Identity())
    with torchprof.Profile(model) as prof:
        for _ in range(100):
            model(None)
    assert "36 ring_dropped: " in prof.display()


def test_a_branch_ends_with_its_last_leaf() -> None:
    model = nn.Sequential(nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU()))
    with torchprof.Profile(model) as prof:
        model(torch.rand(2))
    _, rows = table_of(prof.display())
    assert [row[0] for row in rows] == ["Sequential", "├── 0", "│└── 0", "└── 1", " └── 0"]


def microseconds(cell: str) -> float:
    for unit, factor in (("us", 1.0), ("ms", 1e3), ("s", 1e6)):
        if cell.endswith(unit):
            return float(cell.removesuffix(unit)) * factor
    raise AssertionError(cell)


def test_self_is_the_time_in_operators_and_events_last_as_long() -> None:
    class Slow(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.05)  # no operator's
            return torch.relu(x)

    model = nn.Sequential(Slow())
    with torchprof.Profile(model) as prof:
        model(torch.rand(2))
    _, rows = table_of(prof.display())
    own, total = microseconds(rows[1][1]), microseconds(rows[1][2])
    assert total >= 50_000 and own <= total - 50_000
    raw = prof.raw()
    assert raw is not None
    (events,) = raw[1]["Sequential", "0"]
    outer = [event for event in events if event.cpu_parent is None]
    assert sum(event.cpu_time_total for event in outer) == pytest.approx(own, abs=0.01)
