"""`run`: what the command `inferprobe perf` does, from Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from inferprobe import _core
from inferprobe._error import Error
from inferprobe._location import command_path
from inferprobe._result import Result

if TYPE_CHECKING:
    import numpy as np

    Path_: TypeAlias = str | os.PathLike[str]
    Input: TypeAlias = np.ndarray[Any, Any] | np.generic | str | os.PathLike[str]
    Inputs: TypeAlias = Mapping[str | int, Input] | Sequence[Input]


def run(
    model_path: Path_,
    *,
    inputs: Inputs | None = None,
    method: str = "forward",
    iterations: int | None = None,
    duration: float | None = None,
    warmup: int = 10,
    processes: int = 1,
    threads: int | None = None,
    seed: int = 0,
    data: Iterable[Path_] = (),
    output: Path_ | None = None,
    trace: Path_ | None = None,
    etdump: Path_ | None = None,
    force: bool = False,
) -> Result:
    """Profiles a model, in worker processes of its own.

    inputs: arrays, or the names of .npy files, by name or index, or all in order; without them
        seeded random values of the model's types and shapes.
    iterations: runs per process. duration: seconds. Without either it measures until the median is
        known to 1 %, for at most ten seconds.
    threads: of the engine's pool; None leaves the choice to the engine.
    data: files of weights that lie outside of the program (.ptd).
    output, trace, etdump: files to write: the result as JSON, a Perfetto trace, an ETDump. An
        existing one is refused without `force`.

    Raises Error. Ctrl-C ends the measurement.
    """
    _check("iterations", iterations, 1)
    _check("duration", duration, 0)
    _check("warmup", warmup, 0)
    _check("processes", processes, 1)
    _check("threads", threads, 1)
    _check("seed", seed, 0)
    with tempfile.TemporaryDirectory(prefix="inferprobe-") as folder:
        text, tables = _core.perf(
            model=os.fspath(model_path),
            worker_program=str(command_path()),
            method=method,
            inputs=_input_arguments(inputs, Path(folder)),
            data_files=[os.fspath(path) for path in data],
            iterations=iterations,
            duration_s=None if duration is None else float(duration),
            warmup=warmup,
            processes=processes,
            threads=threads or 0,
            seed=seed,
            output=_path(output),
            trace=_path(trace),
            etdump=_path(etdump),
            force=force,
        )
    return Result(text, tables)


def _path(path: Path_ | None) -> str:
    return "" if path is None else os.fspath(path)


def _check(name: str, value: float | None, least: int) -> None:
    if value is not None and not least <= value < 2**63:
        raise Error("invalid_argument", f"{name} is {value}", f"give at least {least}")


def _input_arguments(inputs: Inputs | None, folder: Path) -> list[str]:
    """The inputs as `perf` takes them: "name=file.npy". Arrays become files in `folder`."""
    if inputs is None:
        return []
    if isinstance(inputs, str | os.PathLike):
        raise Error(
            "invalid_argument", "inputs is one path", "give a list of them, or a dict by name"
        )
    named = inputs.items() if isinstance(inputs, Mapping) else enumerate(inputs)
    arguments = []
    for position, (name, value) in enumerate(named):
        if isinstance(value, str | os.PathLike):
            path = os.fspath(value)
        else:
            path = str(folder / f"{position}.npy")
            _save(name, value, path)
        arguments.append(f"{name}={path}")
    return arguments


def _save(name: str | int, value: Any, path: str) -> None:
    import numpy as np

    array = np.asarray(value)
    if array.dtype.hasobject:
        raise Error(
            "invalid_argument", f"input {name} is {type(value).__name__}", "give a numpy array"
        )
    # ascontiguousarray would make a scalar an array of one.
    np.save(path, array if array.ndim == 0 else np.ascontiguousarray(array))
