"""The rows of modules as other programs have tables: a pandas data frame, a table in a notebook.

The rule that people break: a figure that was not measured is missing in these, too, never 0; and a
name of a module is text, not HTML.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inferprobe._error import Error
from inferprobe._result import Metric

if TYPE_CHECKING:
    import pandas as pd

    from inferprobe._result import Result, Section

# Figures of a row, in the order of columns. Those that no row has are left out.
FIGURES = (
    "self_cpu_ns",
    "operators_cpu_ns",
    "children_cpu_ns",
    "total_cpu_ns",
    "share",
    "self_device_ns",
    "total_device_ns",
    "self_cpu_bytes",
    "total_cpu_bytes",
    "self_device_bytes",
    "total_device_bytes",
    "allocated_bytes",
    "freed_bytes",
)


def value_of(figure: Any) -> Any:
    """The figure's value; None where it is missing or its row has none."""
    return figure.value if isinstance(figure, Metric) else figure


def outermost_calls(row: Section) -> int:
    """Of its calls those that its total is of: not inside of a call of the same module."""
    calls: int = row.get("outermost_calls", row.calls)
    return calls


def losses_of(result: Result) -> list[str]:
    """What is missing in the result, a line for each kind."""
    return [
        f"{loss.value:,} {loss.name}: {loss.advice}"
        for loss in result.statistics
        if loss.severity == "data_loss" and loss.value
    ]


def notes_of(result: Result) -> list[str]:
    """What the rows do not say, a line each: losses, what was not covered, and why no operators."""
    notes = losses_of(result)
    hidden: dict[str, list[str]] = {}  # by reason
    for row in result.modules:
        if "not_covered" in row:
            hidden.setdefault(row.not_covered, []).append(row.path or row["class"])
    for each in result.module_summary.not_covered:
        hidden.setdefault(each.why, []).append(each.what)
    for why, names in hidden.items():
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        notes.append(f"not covered: {', '.join(names[:3])}{more}: {why}")
    for name in ("operators", "memory", "device"):
        status = result.module_summary[name]
        if not status and status.why != "not_requested":
            notes.append(f"{name}: {status}")
    return notes


def measured_figures(rows: Iterable[Section]) -> list[str]:
    """Those figures that some row has."""
    found = {name for row in rows for name in FIGURES if value_of(row.get(name)) is not None}
    return [name for name in FIGURES if name in found]


def to_pandas(rows: Sequence[Section]) -> pd.DataFrame:
    """A row for each module, the path as index, in the order of the tree."""
    pandas = pandas_or_error()
    figures = measured_figures(rows)
    content: dict[str, Any] = {
        "class": pandas.Series([row["class"] for row in rows], dtype="str"),
        "parent": pandas.Series([row.get("parent") for row in rows], dtype="object"),
        "calls": pandas.Series([row.calls for row in rows], dtype="Int64"),
        "outermost_calls": pandas.Series([outermost_calls(row) for row in rows], dtype="Int64"),
        "raised": pandas.Series([row.get("raised", 0) for row in rows], dtype="Int64"),
    }
    for name in figures:
        kind = "Float64" if name == "share" else "Int64"
        content[name] = pandas.Series([value_of(row.get(name)) for row in rows], dtype=kind)
    content["parameters"] = pandas.Series([row.parameters for row in rows], dtype="Int64")
    if any("not_covered" in row for row in rows):
        reasons = [row.get("not_covered") for row in rows]
        content["not_covered"] = pandas.Series(reasons, dtype="object")
    frame: pd.DataFrame = pandas.DataFrame(content)
    frame.index = pandas.Index([row.path for row in rows], name="path")
    return frame


def operators_to_pandas(rows: Sequence[Section]) -> pd.DataFrame:
    """A row for each operator of each module."""
    pandas = pandas_or_error()
    lines = [(row.path, one) for row in rows for one in row.get("operators", ())]
    names = (
        "self_ns",
        "total_ns",
        *(name for name in FIGURES if "device" in name or "cpu_b" in name),
    )
    content: dict[str, Any] = {
        "path": pandas.Series([path for path, _ in lines], dtype="str"),
        "operator": pandas.Series([one.name for _, one in lines], dtype="str"),
        "calls": pandas.Series([one.calls for _, one in lines], dtype="Int64"),
    }
    for name in names:
        values = [value_of(one.get(name)) for _, one in lines]
        if any(value is not None for value in values):
            content[name] = pandas.Series(values, dtype="Int64")
    return pandas.DataFrame(content)


def pandas_or_error() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise Error("not_built_in", f"pandas is not here: {error}", "pip install pandas") from None
    return pandas


_HEADS = {
    "calls": "calls",
    "raised": "raised",
    "self_cpu_ns": "self",
    "operators_cpu_ns": "operators",
    "total_cpu_ns": "total",
    "share": "share",
    "self_device_ns": "self device",
    "total_device_ns": "total device",
    "self_cpu_bytes": "self memory",
    "total_cpu_bytes": "total memory",
    "self_device_bytes": "self device memory",
    "total_device_bytes": "total device memory",
    "allocated_bytes": "allocated",
    "freed_bytes": "freed",
    "parameters": "parameters",
}
_CELL = "padding:1px 8px;white-space:nowrap;text-align:"


def to_html(rows: Sequence[Section], caption: str, notes: Sequence[str] = ()) -> str:
    """A table for a notebook: no script, no style of the page's, nothing that is loaded.

    notes: what the rows do not say, each a line below it.
    """
    if not rows:
        return f"<p>{html.escape(caption)}</p>"
    raised = ["raised"] if any(row.get("raised") for row in rows) else []
    shown = ["calls", *raised, *(n for n in measured_figures(rows) if n in _HEADS), "parameters"]
    depths = depths_of(rows)
    heads = "".join(f'<th style="{_CELL}right">{_HEADS[name]}</th>' for name in shown)
    parts = [
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">',
        f'<caption style="text-align:left">{html.escape(caption)}</caption>',
        f'<thead><tr><th style="{_CELL}left">module</th><th style="{_CELL}left">class</th>'
        f"{heads}</tr></thead><tbody>",
    ]
    for row, depth in zip(rows, depths, strict=True):
        cells = "".join(_html_cell(name, row.get(name), row) for name in shown)
        name = row.path.rpartition(".")[2] or row["class"]
        title = html.escape(", ".join([row.path, *row.get("also", ())]) or row["class"])
        parts.append(
            f'<tr><td style="{_CELL}left;padding-left:{8 + 16 * depth}px" title="{title}">'
            f"{html.escape(name)}</td>"
            f'<td style="{_CELL}left;opacity:.7">{html.escape(row["class"])}</td>{cells}</tr>'
        )
    parts.append("</tbody></table>")
    parts += [f'<div style="opacity:.7">{html.escape(note)}</div>' for note in notes]
    return "".join(parts)


def depths_of(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """How deep each row lies; parents come first."""
    depths: dict[str, int] = {}
    for row in rows:
        depths[row["path"]] = depths.get(row["parent"], 0) + 1 if "parent" in row else 0
    return [depths[row["path"]] for row in rows]


def _html_cell(name: str, figure: Any, row: Mapping[str, Any]) -> str:
    value = value_of(figure)
    style = f"{_CELL}right"
    title = ""
    if name == "calls" and not value:
        text = "not covered" if row.get("not_covered") else ""
        if not text and row.get("chosen", True):
            text = "not called"
    elif name == "raised" and value is None:
        text = ""
    elif value is None:
        why = str(figure) if isinstance(figure, Metric) else ""
        title = f' title="{html.escape(why)}"' if why else ""
        text = "–"
    elif name == "share":
        percent = max(0.0, min(100.0, 100 * value))
        style += (
            f";background:linear-gradient(to right,rgba(90,140,220,.35) {percent:.1f}%,"
            f"transparent {percent:.1f}%)"
        )
        text = f"{100 * value:.1f} %"
    elif name.endswith("_ns"):
        text = time_text(value)
    elif name.endswith("_bytes"):
        text = bytes_text(value)
    else:
        text = f"{value:,}"
    return f'<td style="{style}"{title}>{text}</td>'


def time_text(ns: float) -> str:
    """Three digits and a unit, as the tables have it."""
    for length, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if abs(ns) >= 0.9995 * length:
            return f"{_three_digits(ns / length)} {unit}"
    return f"{ns:.0f} ns"


def bytes_text(size: int) -> str:
    for length, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(size) >= 0.9995 * length:
            return f"{_three_digits(size / length)} {unit}"
    return f"{size:,} B"


def _three_digits(value: float) -> str:
    whole = len(f"{abs(value):.0f}")
    return f"{value:.{max(0, 3 - whole)}f}"
