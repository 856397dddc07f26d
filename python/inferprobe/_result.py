"""What a measurement gave, as Python objects over the result JSON.

The JSON holds a figure as a plain number under a key that names its unit, and a missing one as
{"status": ..., "hint": ...}. Here both are a `Metric`, so that nobody takes one for the other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from inferprobe import _core
from inferprobe._fields import FIELDS, Field
from inferprobe._path import path_text, saving

if TYPE_CHECKING:
    from inferprobe._regions import Regions

_FIELDS: dict[str, Field] = {field.path: field for field in FIELDS}


class Metric:
    """A figure with its kind and unit, or the reason why there is none.

    value: the figure, None where it is missing. why: then the reason ("too_few_samples"), else
    None; hint: what would make it available. kind: what it is a measurement of ("host_wall").
    """

    __slots__ = ("hint", "kind", "unit", "value", "why")

    def __init__(
        self,
        value: Any,
        *,
        why: str | None = None,
        hint: str = "",
        kind: str | None = None,
        unit: str | None = None,
    ) -> None:
        self.value = value
        self.why = why
        self.hint = hint
        self.kind = kind
        self.unit = unit

    def __bool__(self) -> bool:
        """Whether there is a figure; a zero is one."""
        return self.why is None

    def __float__(self) -> float:
        if self.why is not None:
            raise ValueError(str(self))
        return float(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((str(self.value), self.why, self.kind, self.unit))

    def __str__(self) -> str:
        """For people: rounded, as the tables are. `value` has all digits."""
        if self.why is not None:
            hint = f": {self.hint}" if self.hint else ""
            return f"n/a ({self.why.replace('_', ' ')}{hint})"
        if self.unit in (None, "count", "ratio"):  # plain numbers
            return _rounded(self.value, 3)
        return f"{_rounded(self.value, 4)} {self.unit}"

    def __repr__(self) -> str:
        kind = f", {self.kind}" if self.kind else ""
        return f"<Metric {self}{kind}>"


def _rounded(value: Any, digits: int) -> str:
    """With so many digits, but never fewer than stand before the point."""
    if isinstance(value, list):
        return f"[{', '.join(_rounded(part, digits) for part in value)}]"
    if isinstance(value, dict) and "status" in value:  # of an interval that is open
        return str(Metric(None, why=value["status"]))
    if isinstance(value, float):
        large = 1000 <= abs(value) < 1e16
        return f"{value:,.0f}" if large else f"{value:.{digits}g}"
    return f"{value:,}" if type(value) is int else str(value)


class Section(Mapping[str, Any]):
    """A part of the result: its keys are attributes too (`section.p50`, `section["p50"]`)."""

    def __init__(self, content: Mapping[str, Any], path: str = "") -> None:
        self._content = content
        self._path = path

    def __getitem__(self, key: str) -> Any:
        path = f"{self._path}.{key}" if self._path else key
        return _wrap(self._content[key], path, self._content.get("kind"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._content:
            raise AttributeError(f"there is no {name!r} in {self._path or 'the result'}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._content})

    def __str__(self) -> str:
        """Its values, one a line; of rows their number."""
        return "\n".join(f"{key}: {_in_a_line(self[key])}" for key in self)

    def __repr__(self) -> str:
        return f"<{self._path or 'result'}: {', '.join(self._content)}>"


def _in_a_line(value: Any) -> str:
    if isinstance(value, Section):
        return ", ".join(f"{key} {_in_a_line(value[key])}" for key in value)
    if isinstance(value, list) and value and isinstance(value[0], Section):
        return f"{len(value)} row{'' if len(value) == 1 else 's'}"
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "; ".join(f"{len(part):,} values" for part in value)
    return str(value)


def _is_figure(field: Field) -> bool:
    """Whether a value is a measurement, and no ordinal, count or name."""
    return field.may_be_missing or field.kind is not None or field.unit not in (None, "count")


def _wrap(value: Any, path: str, kind: str | None) -> Any:
    """A value of the JSON as what stands for it here. `kind` is that of its row."""
    field = _FIELDS.get(path)
    why = None
    hint = ""
    if isinstance(value, dict):
        if "status" not in value or not value.keys() <= {"status", "hint"}:
            return Section(value, path)
        value, why, hint = None, value["status"], value.get("hint", "")
    elif isinstance(value, list) and (not value or isinstance(value[0], dict | list)):
        # Rows; or the samples of each process, plain lists.
        return [_wrap(v, f"{path}[]", kind) if isinstance(v, dict) else v for v in value]
    elif field is None or not _is_figure(field):
        return value
    return Metric(
        value,
        why=why,
        hint=hint,
        kind=field.kind if field and field.kind else kind,
        unit=field.unit if field else None,
    )


class Result(Section):
    """What `run` measured or `load` opened. Its parts are attributes: latency_ms, ops, delegates,
    perturbation, memory, disturbances, statistics and the other keys of the result JSON
    (docs/formats/result.schema.json). `print(result)` shows the tables.
    """

    def __init__(self, text: str, tables: str = "") -> None:
        self._text = text
        self._tables = tables
        super().__init__(json.loads(text))

    @property
    def regions(self) -> Regions:
        """The parallel regions; where they were not looked at, false, with `why` and `hint`."""
        from inferprobe._regions import Regions

        return Regions(self._content["regions"], self._content.get("ops", ()))

    def to_dict(self) -> dict[str, Any]:
        """The result JSON as plain Python objects; a copy."""
        content: dict[str, Any] = json.loads(self._text)
        return content

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the result JSON, the same that `perf --output` writes."""
        with saving():
            _core.write_file(path_text("path", path), self._text, force)

    def __str__(self) -> str:
        return self._tables or self._text
