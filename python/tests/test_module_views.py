"""Rows of modules as a data frame, as a table in a notebook, and two of them side by side."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest
from inferprobe._module_comparison import ModuleComparison
from inferprobe._module_views import (
    bytes_text,
    depths_of,
    operators_to_pandas,
    time_text,
    to_html,
    to_pandas,
)
from inferprobe._result import Section

MISSING = {"status": "not_requested", "hint": "memory=True"}


def row(path: str, calls: int = 1, total: Any = 1000, **more: Any) -> Section:
    content = {
        "path": path,
        "class": more.pop("class_name", "Linear"),
        "calls": calls,
        "self_cpu_ns": more.pop("own", 10),
        "operators_cpu_ns": 0,
        "children_cpu_ns": 0,
        "total_cpu_ns": total,
        "share": 0.25,
        "self_cpu_bytes": MISSING,
        "parameters": 3,
        **more,
    }
    if path:
        content["parent"] = path.rpartition(".")[0]
    return Section(content, "modules[]")


class Cells(HTMLParser):
    """Texts of cells by row, and every tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        assert all(not name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_a_data_frame_keeps_what_was_measured_and_what_was_not() -> None:
    frame = to_pandas([row("", class_name="Net"), row("a", total=MISSING), row("a.b", calls=7)])
    assert list(frame.index) == ["", "a", "a.b"]
    assert frame.loc["a.b", "calls"] == 7
    assert frame.loc["", "class"] == "Net"
    assert frame.loc["a", "total_cpu_ns"] is pd.NA
    assert frame["total_cpu_ns"].dtype == "Int64"
    assert frame["total_cpu_ns"].sum() == 2000
    # Nothing has memory or a device: there are no such columns, and none of zeros.
    assert not [name for name in frame.columns if "bytes" in name or "device" in name]


def test_a_data_frame_has_what_bends_a_mean() -> None:
    frame = to_pandas([row("", calls=5, outermost_calls=1, raised=2), row("a", not_covered="why")])
    assert frame.loc["", ["outermost_calls", "raised"]].tolist() == [1, 2]
    assert frame.loc["a", ["outermost_calls", "raised"]].tolist() == [1, 0]
    assert frame.loc["a", "not_covered"] == "why"
    assert "not_covered" not in to_pandas([row("")])


def test_times_beyond_the_exact_integers_of_a_double_stay_whole() -> None:
    most = 2**62 + 1
    assert to_pandas([row("", total=most)]).loc["", "total_cpu_ns"] == most


def test_a_data_frame_of_operators() -> None:
    one = {"name": "aten::relu", "calls": 2, "self_ns": 5, "total_ns": 9}
    frame = operators_to_pandas([row("", operators=[one]), row("a")])
    assert frame.to_dict("records") == [
        {"path": "", "operator": "aten::relu", "calls": 2, "self_ns": 5, "total_ns": 9}
    ]
    assert list(operators_to_pandas([]).columns) == ["path", "operator", "calls"]


def test_no_rows_are_a_frame_and_a_sentence() -> None:
    assert to_pandas([]).empty
    assert to_html([], "not <measured>") == "<p>not &lt;measured&gt;</p>"


def test_a_notebook_shows_the_tree_and_no_missing_figure_as_zero() -> None:
    rows = [row("", class_name="Net"), row("a", total=MISSING, self_cpu_bytes=2_000_000)]
    table = Cells(to_html(rows, "modules"))
    heads = table.rows[0]
    assert heads[:3] == ["module", "class", "calls"]
    assert "self memory" in heads
    assert "total device" not in heads
    shown = dict(zip(heads, table.rows[2], strict=True))
    assert shown["module"] == "a"
    assert shown["total"] == "–"
    assert shown["self memory"] == "2.00 MB"
    assert dict(zip(heads, table.rows[1], strict=True))["self memory"] == "–"


def test_a_notebook_says_what_the_rows_lack() -> None:
    rows = [
        row("", raised=2),
        row("a", calls=0, total=MISSING, not_covered="traced"),
        row("b", calls=0, total=MISSING),
        row("c", calls=0, total=MISSING, chosen=False),
    ]
    text = to_html(rows, "modules", ["336 ring_dropped: raise <it>", "not covered: a: traced"])
    assert "336 ring_dropped: raise &lt;it&gt;" in text
    assert "not covered: a: traced" in text
    table = Cells(text)
    shown = [dict(zip(table.rows[0], line, strict=True)) for line in table.rows[1:]]
    assert [line["raised"] for line in shown] == ["2", "", "", ""]
    assert [line["calls"] for line in shown] == ["1", "not covered", "not called", ""]
    assert "raised" not in Cells(to_html([row("")], "modules")).rows[0]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x onerror=y>', "a&amp;"])
def test_names_are_text_and_no_markup(name: str) -> None:
    text = to_html([row("", class_name=name), row(name, class_name="A")], f"of {name}")
    table = Cells(text)
    assert set(table.tags) <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert table.rows[1][:2] == [name, name]


def test_depths_follow_parents_also_where_names_hold_dots() -> None:
    rows = [row(""), row("a"), row("a.b"), row("c")]
    assert depths_of(rows) == [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_234, "1.23 us"),
        (45_678, "45.7 us"),
        (999_999, "1.00 ms"),
        (12_345_678, "12.3 ms"),
        (3_210_000_000, "3.21 s"),
    ],
)
def test_times_are_rounded_as_in_tables(ns: int, text: str) -> None:
    assert time_text(ns) == text


def test_sizes_are_rounded_as_in_tables() -> None:
    assert [bytes_text(n) for n in (0, 999, -4_096, 12_500_000)] == [
        "0 B",
        "999 B",
        "-4.10 kB",
        "12.5 MB",
    ]


def test_a_comparison_is_of_means_by_path() -> None:
    base = [row("", total=10_000), row("a", calls=2, total=4_000), row("gone", total=1)]
    new = [row("", total=8_000), row("a", calls=4, total=4_000), row("fresh", total=1)]
    comparison = ModuleComparison(base, new)
    assert [change.path for change in comparison] == ["", "a", "gone", "fresh"]
    assert comparison[""].ratio == 0.8
    assert comparison["a"].total_ns == (2_000, 1_000)
    assert comparison["a"].ratio == 0.5
    assert comparison["gone"].only_in == "base"
    assert comparison["fresh"].only_in == "new"
    assert comparison["fresh"].ratio is None
    with pytest.raises(KeyError):
        comparison["nowhere"]
    lines = str(comparison).splitlines()
    assert "one sample of each" in lines[0]
    assert [line.split()[0] for line in lines[2:]] == ["Linear", "a", "gone", "fresh"]
    assert "2 -> 4" in lines[3]
    assert lines[4].split()[-6:] == ["only", "in", "base", "1", "->", "0"]
    frame = comparison.to_pandas()
    assert frame.loc["gone", "new_ns"] is pd.NA
    assert comparison.to_dict()["a"]["calls"] == (2, 4)


def test_what_was_not_measured_has_no_ratio() -> None:
    comparison = ModuleComparison([row("", total=MISSING)], [row("", total=5)])
    assert comparison[""].ratio is None
    assert comparison[""].total_ns == (None, 5)
    never = ModuleComparison([row("", calls=0, total=MISSING)], [row("", calls=0, total=MISSING)])
    assert "–" in str(never)


def test_a_time_of_zero_has_no_ratio() -> None:
    assert ModuleComparison([row("", total=0)], [row("", total=5)])[""].ratio is None


def test_a_recursive_modules_mean_is_of_outermost_calls() -> None:
    base = [row("", calls=5, outermost_calls=1, total=50_000)]
    comparison = ModuleComparison(base, [row("", calls=1, total=51_000)])
    assert comparison[""].total_ns == (50_000, 51_000)
    assert comparison[""].ratio == 1.02
    assert "mean of an outermost call" in str(comparison)


def test_a_comparison_prints_its_notes() -> None:
    text = str(ModuleComparison([row("")], [row("")], ["base: 3 ring_dropped: raise it"]))
    assert text.splitlines()[-1] == "  base: 3 ring_dropped: raise it"
