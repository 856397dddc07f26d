"""`Regions`: the parallel regions of a result, as Python objects.

The rule that people break: a figure that was not measured is a `Metric` with a `why`, never zero,
and regions that nobody looked at are no empty list: whoever loops over them gets an Error. Idle
core-time is an upper bound of what a better split could win, no saving.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

from inferprobe._error import Error
from inferprobe._fields import FIELDS
from inferprobe._result import Metric, Section

_PARTS = frozenset(
    field.key for field in FIELDS if field.path == f"regions.{field.key}" and field.key != "rows"
)


# Figures that are lists, whose kind the fields have at their elements.
_BY_RANK = {"busy_ns": "host_wall", "worker_cpu_ns": "host_cpu"}


class Location(NamedTuple):
    """Where in the source the loop was called."""

    file: str
    line: int
    function: str


def _whole(value: float) -> float:
    """A mean over runs is an int where all of them were alike."""
    return int(value) if float(value).is_integer() else value


class Region(Section):
    """A parallel loop: means over the times that it ran.

    where: its label, else file, line and function, else the code. operator: in which it ran, as the
    tables name it ("XnnpackBackend #0", "aten::addmm.out [12]"); None where that is not known.
    location: None where the runtime does not tell. iterations, grain, requested, admitted: numbers;
    observed: a Metric, as it takes a look at the participants. wall_ns, busy_ns (a list, the most
    busy first), idle_core_ns, serial_ns, busy_utilization, cpu_utilization, imbalance, ipc,
    llc_miss_rate: Metrics. Other keys: as in the result JSON.
    """

    where: str
    operator: str | None
    index: int
    calls: int
    observed: Metric
    wall_ns: Metric
    p50_ns: Metric
    busy_ns: Metric
    idle_core_ns: Metric
    serial_ns: Metric
    busy_utilization: Metric
    imbalance: Metric
    process_cpu_ns: Metric
    worker_cpu_ns: Metric
    cpu_utilization: Metric
    ipc: Metric
    llc_miss_rate: Metric

    def __init__(self, content: Mapping[str, Any], operator: str | None = None) -> None:
        super().__init__({"operator": operator, **content}, "regions.rows[]")

    @property
    def location(self) -> Location | None:
        place = self._content.get("location")
        return Location(place["file"], place["line"], place["function"]) if place else None

    @property
    def iterations(self) -> float:
        return _whole(self._content["iterations"])

    @property
    def grain(self) -> float:
        return _whole(self._content["grain"])

    @property
    def requested(self) -> float:
        return _whole(self._content["requested"])

    @property
    def admitted(self) -> float:
        return _whole(self._content["admitted"])

    @property
    def nested_inline(self) -> bool:
        return bool(self._content.get("nested_inline", False))

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if key not in _BY_RANK:
            return value
        metric = value if isinstance(value, Metric) else Metric(value)  # []: no thread took part
        metric.kind, metric.unit = _BY_RANK[key], "ns"
        return metric

    def __repr__(self) -> str:
        return f"<Region {_place(self)}: {self.wall_ns}, {_threads(self)} threads>"


def _place(region: Region) -> str:
    return f"{region.where} in {region.operator}" if region.operator else region.where


def _threads(region: Region) -> str:
    observed = region.observed
    seen = f"{observed.value:.3g}" if observed else "n/a"
    return f"{region.requested:.3g} / {region.admitted:.3g} / {seen}"


def _time(metric: Metric) -> str:
    return f"{metric.value / 1000:,.1f} us" if metric else f"n/a ({metric.why})"


class Regions(Sequence[Region]):
    """The parallel regions of an inference, worst first; `len`, `for` and `[i]` give `Region`s.

    False where they were not looked at: then `why` and `hint` say why, and everything else raises
    Error with that. True also where a program has none: that was seen.

    dropped: regions that found no place. per_inference, efficiency, run_efficiency, idle_core_ns,
    serial_ns, serial_share, process_cpu_ns, threads: Metrics of a run. operators, not_observable:
    as in the result JSON; an operator has its name as `operator`.
    """

    why: str | None
    hint: str
    detail: str
    runs: int
    operators: list[Section]
    not_observable: list[Section]
    threads: Metric
    per_inference: Metric
    efficiency: Metric
    idle_core_ns: Metric
    run_efficiency: Metric
    serial_ns: Metric
    serial_share: Metric
    process_cpu_ns: Metric

    def __init__(self, content: Mapping[str, Any], ops: Sequence[Mapping[str, Any]] = ()) -> None:
        """content: `regions` of the result JSON; ops: its `ops`, which name the operators."""
        self.why = None
        self.hint = ""
        self._section = Section({}, "regions")
        self._rows: list[Region] = []
        if "rows" not in content:
            self.why = content["status"]
            self.hint = content.get("hint", "")
            if self.why == "not_requested":
                self.hint = "perf --regions, or run(..., regions=True)"
            return
        names = _operator_names(content, ops)
        operators = [{"operator": names.get(row["op"]), **row} for row in content["operators"]]
        self._section = Section({**content, "operators": operators}, "regions")
        self._rows = [Region(row, names.get(row.get("op"))) for row in content["rows"]]

    @property
    def dropped(self) -> int:
        self._need()
        return int(self._section["dropped"])

    @property
    def rows(self) -> list[Region]:
        self._need()
        return list(self._rows)

    def _need(self) -> None:
        if self.why is not None:
            code = "unsupported" if self.why == "unsupported" else "not_found"
            raise Error(code, f"no parallel regions: {self.why.replace('_', ' ')}", self.hint)

    def __bool__(self) -> bool:
        """Whether they were looked at."""
        return self.why is None

    def __getattr__(self, name: str) -> Any:
        if name in _PARTS:
            self._need()
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._section, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._section})

    @overload
    def __getitem__(self, index: int) -> Region: ...
    @overload
    def __getitem__(self, index: slice) -> list[Region]: ...
    def __getitem__(self, index: int | slice) -> Region | list[Region]:
        self._need()
        return self._rows[index]

    def __len__(self) -> int:
        self._need()
        return len(self._rows)

    def __iter__(self) -> Iterator[Region]:
        self._need()
        return iter(self._rows)

    def __repr__(self) -> str:
        if not self:
            return f"<Regions: {self}>"
        return f"<Regions: {len(self)} rows, {self.dropped} dropped>"

    def __str__(self) -> str:
        """A table; idle core-time is an upper bound, no saving."""
        if not self:
            return str(Metric(None, why=self.why, hint=self.hint))
        lines = [("idle core-time", "wall", "asked / admitted / seen", "where")]
        lines += [
            (_time(row.idle_core_ns), _time(row.wall_ns), _threads(row), _place(row))
            for row in self._rows
        ]
        widths = [max(len(line[i]) for line in lines) for i in range(3)]
        return "\n".join(
            f"{idle:>{widths[0]}}  {wall:>{widths[1]}}  {threads:<{widths[2]}}  {where}"
            for idle, wall, threads, where in lines
        )


def _operator_names(
    content: Mapping[str, Any], ops: Sequence[Mapping[str, Any]]
) -> dict[int | None, str]:
    """By id of the row in `ops`; instructions of one name are told apart, as in the tables."""
    rows = {row["id"]: row for row in ops}
    of_regions = [rows[row["op"]]["name"] for row in content["operators"] if row["op"] in rows]
    count = Counter(of_regions)
    return {
        op: f"{row['name']} [{row['instruction']}]"
        if count[row["name"]] > 1 and isinstance(row["instruction"], int)
        else row["name"]
        for op, row in rows.items()
    }
