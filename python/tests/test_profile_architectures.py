"""Right sums over whole models. How often each module is called is counted anew with PyTorch's own
hooks, in a run without a profile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import inferprobe
import pytest
import torch
from architectures import ARCHITECTURES, EXPECTED_OF_ALEXNET, alexnet
from torch import nn


def counted_calls(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> dict[str, int]:
    calls: Counter[str] = Counter()
    handles = [
        module.register_forward_hook(lambda *_args, path=path: calls.update([path]))
        for path, module in model.named_modules()
    ]
    model(*inputs)
    for handle in handles:
        handle.remove()
    return dict(calls)


def figure(value: Any) -> int:
    assert value.why is None, value
    result: int = value.value
    return result


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("detail", ["modules", "ops"])
def test_sums_over_an_architecture(name: str, detail: str, request: pytest.FixtureRequest) -> None:
    torch.manual_seed(0)
    model, inputs = ARCHITECTURES[name]()
    model.eval()
    # Hooks, the oracle of this test, would keep the transformer off its fast path.
    was = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    request.addfinalizer(lambda: torch.backends.mha.set_fastpath_enabled(was))
    with torch.no_grad():
        expected = counted_calls(model, inputs)
        with inferprobe.profile(model, detail=detail) as prof:
            model(*inputs)
    rows = {row.path: row for row in prof.modules}
    assert {path: row.calls for path, row in rows.items() if row.calls} == expected

    called = [row for row in rows.values() if row.calls]
    operators = detail == "ops"
    everything = 0
    for row in called:
        inside = figure(row.self_cpu_ns) + figure(row.children_cpu_ns)
        if operators:
            inside += figure(row.operators_cpu_ns)
        assert inside == figure(row.total_cpu_ns), row.path
        everything += figure(row.self_cpu_ns)
        everything += figure(row.operators_cpu_ns) if operators else 0
    # All that happened was in one call of the root, and belongs to one module.
    assert everything == figure(rows[""].total_cpu_ns)
    for path, module in model.named_modules():
        own = sum(parameter.numel() for parameter in module.parameters(recurse=False))
        assert rows[path].parameters == own


def test_each_layer_of_alexnet_has_its_operators() -> None:
    model, inputs = alexnet()  # in training mode: dropout is an operator
    with torch.no_grad(), inferprobe.profile(model) as prof:
        model(*inputs)
    assert [row.calls for row in prof.modules] == [1] * 24
    shown = {row.path: {one.name for one in row.operators} for row in prof.modules}
    for path, wanted in EXPECTED_OF_ALEXNET.items():
        assert shown[path] >= set(wanted), path
    # What the root calls itself is the root's.
    assert "aten::flatten" in shown[""]
    tables = prof.display(show_events=True)
    assert "aten::conv2d" in tables
    assert "aten::conv2d" not in prof.display()


def test_a_profile_as_a_data_frame_in_a_notebook_and_against_another(tmp_path: Path) -> None:
    model, inputs = ARCHITECTURES["lstm"]()
    profiles = []
    for runs in (1, 3):
        with torch.no_grad(), inferprobe.profile(model) as prof:
            assert prof._repr_html_() == "<p>&lt;profile is running&gt;</p>"
            for _ in range(runs):
                model(*inputs)
        profiles.append(prof)
    first, second = profiles
    frame = first.to_pandas()
    assert list(frame.index) == ["", "embed", "lstm", "cell", "out"]
    assert frame.loc["cell", "calls"] == 7
    parts = frame[["self_cpu_ns", "operators_cpu_ns", "children_cpu_ns"]]
    assert (parts.sum(axis=1) == frame["total_cpu_ns"]).all()
    operators = first.to_pandas(operators=True)
    assert "aten::lstm" in set(operators[operators["path"] == "lstm"]["operator"])
    assert "<table" in first._repr_html_()

    second.save(tmp_path / "second.json")
    for other in (second, second.result, tmp_path / "second.json"):
        comparison = first.compare(other)
        assert comparison["cell"].calls == (7, 21)
        mean = second.to_pandas().loc["cell", "total_cpu_ns"] / 21
        assert comparison["cell"].total_ns[1] == round(mean)
    with pytest.raises(inferprobe.Error, match="disabled"):
        first.compare(inferprobe.profile(model, enabled=False))


def test_what_users_of_other_profilers_look_for_is_named() -> None:
    prof = inferprobe.profile(ARCHITECTURES["cnn"]()[0])
    with pytest.raises(AttributeError, match="there is no schedule"):
        prof.step()
    with pytest.raises(AttributeError, match=r"save\(.run.pftrace.\)"):
        prof.export_chrome_trace("trace.json")
    with pytest.raises(AttributeError, match=r"a profile has no 'nothing'$"):
        _ = prof.nothing
