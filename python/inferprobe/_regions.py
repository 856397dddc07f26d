"""`Regions`: the parallel regions of a result, as Python objects.

The rule that people break: a figure that was not measured is a `Metric` with a `why`, never zero;
and idle core-time is an upper bound of what a better split could win, no saving.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

from inferprobe._result import Metric, Section


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

    where: its label, else file, line and function, else the code. location: None where the runtime
    does not tell. iterations, grain, requested, admitted: numbers; observed: a Metric, as it takes
    a look at the participants. wall_ns, busy_ns (a list, the most busy first), idle_core_ns,
    serial_ns, busy_utilization, cpu_utilization, imbalance, ipc, llc_miss_rate: Metrics.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content, "regions.rows[]")

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

    @property
    def busy_ns(self) -> Metric:
        """By rank; an empty list where no thread took part."""
        busy = self["busy_ns"]
        return busy if isinstance(busy, Metric) else Metric(busy, kind="host_wall", unit="ns")

    def __repr__(self) -> str:
        return f"<Region {self.where}: {self.wall_ns}, {_threads(self)} threads>"


def _threads(region: Region) -> str:
    observed = region.observed
    seen = f"{round(observed.value, 2):g}" if observed else "n/a"
    return f"{round(region.requested, 2):g} / {round(region.admitted, 2):g} / {seen}"


def _time(metric: Metric) -> str:
    return f"{metric.value / 1000:,.1f} us" if metric else f"n/a ({metric.why})"


class Regions(Sequence[Region]):
    """The parallel regions of an inference, worst first; `len`, `for` and `[i]` give `Region`s.

    dropped: regions that found no place. per_inference, efficiency, run_efficiency, idle_core_ns,
    serial_ns, serial_share, process_cpu_ns, threads: Metrics of a run. operators, not_observable:
    as in the result JSON.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._section = Section(content, "regions")
        self._rows = [Region(row) for row in content["rows"]]

    @property
    def dropped(self) -> int:
        return int(self._section["dropped"])

    @property
    def rows(self) -> list[Region]:
        return list(self._rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._section, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._section]

    @overload
    def __getitem__(self, index: int) -> Region: ...
    @overload
    def __getitem__(self, index: slice) -> list[Region]: ...
    def __getitem__(self, index: int | slice) -> Region | list[Region]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Region]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<Regions: {len(self)} rows, {self.dropped} dropped>"

    def __str__(self) -> str:
        """A table; idle core-time is an upper bound, no saving."""
        lines = [("idle core-time", "wall", "asked / admitted / seen", "where")]
        lines += [
            (_time(row.idle_core_ns), _time(row.wall_ns), _threads(row), row.where)
            for row in self._rows
        ]
        widths = [max(len(line[i]) for line in lines) for i in range(3)]
        return "\n".join(
            f"{idle:>{widths[0]}}  {wall:>{widths[1]}}  {threads:<{widths[2]}}  {where}"
            for idle, wall, threads, where in lines
        )
