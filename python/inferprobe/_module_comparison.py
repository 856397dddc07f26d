"""Two profiles of modules side by side, by path.

    print(before.compare(after))

The rule that people break: two profiles are two samples of one each. What is printed is how they
differ, not whether another pair would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inferprobe._error import Error
from inferprobe._module_views import (
    depths_of,
    losses_of,
    outermost_calls,
    pandas_or_error,
    time_text,
    value_of,
)
from inferprobe._result import Metric

if TYPE_CHECKING:
    import pandas as pd

    from inferprobe._result import Result, Section


@dataclass(frozen=True)
class ModuleChange:
    """A module of one or both profiles. A time is None where it was not measured."""

    path: str
    class_name: str
    calls: tuple[int, int]
    total_ns: tuple[int | None, int | None]  # of a call: the mean; see ModuleComparison
    ratio: float | None  # of the means; None: one has no call, or was not measured
    only_in: str | None  # "base" or "new"; None: in both
    depth: int


class ModuleComparison:
    """The modules of two profiles: `for change in comparison`, or `print(comparison)`.

    Times are of a call, so that profiles of different numbers of runs can be compared. A call of a
    module inside of another one of the same module is in that one's time: it is no call of its own.
    notes: what the rows do not say, each a line below the table.
    """

    def __init__(
        self, base: Sequence[Section], new: Sequence[Section], notes: Sequence[str] = ()
    ) -> None:
        self._changes = list(_changes(base, new))
        self.notes = list(notes)

    def __iter__(self) -> Iterator[ModuleChange]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    def __getitem__(self, path: str) -> ModuleChange:
        for change in self._changes:
            if change.path == path:
                return change
        raise KeyError(path)

    def to_dict(self) -> dict[str, Any]:
        """By path."""
        return {change.path: {**change.__dict__} for change in self._changes}

    def to_pandas(self) -> pd.DataFrame:
        pandas = pandas_or_error()
        frame: pd.DataFrame = pandas.DataFrame(
            {
                "class": pandas.Series([c.class_name for c in self._changes], dtype="str"),
                "base_calls": pandas.Series([c.calls[0] for c in self._changes], dtype="Int64"),
                "new_calls": pandas.Series([c.calls[1] for c in self._changes], dtype="Int64"),
                "base_ns": pandas.Series([c.total_ns[0] for c in self._changes], dtype="Int64"),
                "new_ns": pandas.Series([c.total_ns[1] for c in self._changes], dtype="Int64"),
                "ratio": pandas.Series([c.ratio for c in self._changes], dtype="Float64"),
            }
        )
        frame.index = pandas.Index([c.path for c in self._changes], name="path")
        return frame

    def __str__(self) -> str:
        head = ("module", "class", "base", "new", "new/base", "calls")
        lines = [head]
        for change in self._changes:
            name = change.path.rpartition(".")[2] or change.class_name
            base, new = ("–" if time is None else time_text(time) for time in change.total_ns)
            calls = (
                f"{change.calls[0]:,}"
                if change.calls[0] == change.calls[1]
                else f"{change.calls[0]:,} -> {change.calls[1]:,}"
            )
            ratio = "–" if change.ratio is None else f"{change.ratio:.3f}"
            if change.only_in is not None:
                ratio = f"only in {change.only_in}"
            lines.append(("  " * change.depth + name, change.class_name, base, new, ratio, calls))
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        text = [
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        text.insert(
            0, "modules of two profiles (host wall, mean of an outermost call; one sample of each)"
        )
        return "\n".join([*text, *(f"  {note}" for note in self.notes)])


def rows_of(result: Result) -> Sequence[Section]:
    """The rows of modules; an error where the result has none."""
    rows = result.modules
    if isinstance(rows, Metric):
        raise Error("invalid_argument", f"there are no modules to compare: {rows}")
    modules: Sequence[Section] = rows
    return modules


def bends_of(name: str, result: Result) -> list[str]:
    """What bends the figures of one of the two."""
    raised = sum(row.get("raised", 0) for row in rows_of(result))
    notes = [f"{name}: {line}" for line in losses_of(result)]
    if raised:
        notes.append(f"{name}: {raised:,} calls ended by an exception, maybe early")
    return notes


def _changes(base: Sequence[Section], new: Sequence[Section]) -> Iterator[ModuleChange]:
    old = {row.path: row for row in base}
    fresh = {row.path: row for row in new}
    # A file may name a path twice: the last one counts, as above.
    depths = {row.path: depth for row, depth in zip(new, depths_of(new), strict=True)}
    depths |= {row.path: depth for row, depth in zip(base, depths_of(base), strict=True)}
    for path in _merged(list(old), list(fresh)):
        before, after = old.get(path), fresh.get(path)
        row = after if after is not None else before
        assert row is not None
        times = (_mean(before), _mean(after))
        both = times[0] is not None and times[1] is not None and times[0] > 0
        yield ModuleChange(
            path=path,
            class_name=row["class"],
            calls=(before.calls if before else 0, after.calls if after else 0),
            total_ns=times,
            ratio=times[1] / times[0] if both else None,  # type: ignore[operator]
            only_in="new" if before is None else "base" if after is None else None,
            depth=depths[path],
        )


def _mean(row: Section | None) -> int | None:
    total = value_of(row.total_cpu_ns) if row is not None else None
    if row is None or total is None or not row.calls:
        return None
    mean: int = round(total / outermost_calls(row))
    return mean


def _merged(base: list[str], new: list[str]) -> list[str]:
    """The order of `new`; what is in `base` alone stands behind what it stood behind there."""
    known = set(new)
    after: dict[str, list[str]] = {}
    last = ""
    first: list[str] = []
    for path in base:
        if path in known:
            last = path
        elif last == "" and "" not in known:
            first.append(path)
        else:
            after.setdefault(last, []).append(path)
    merged = list(first)
    for path in new:
        merged.append(path)
        merged += after.get(path, ())
    return merged
