"""`run`: what the command `inferprobe perf` does, from Python."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from inferprobe import _core
from inferprobe._error import Error
from inferprobe._location import command_path
from inferprobe._path import optional_path_text, path_text
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
    shapes: Mapping[str | int, Sequence[int]] | None = None,
    method: str = "forward",
    iterations: int | None = None,
    duration: float | None = None,
    warmup: int = 10,
    processes: int = 1,
    threads: int | None = None,
    seed: int | None = None,
    data: Iterable[Path_] = (),
    output: Path_ | None = None,
    trace: Path_ | None = None,
    etdump: Path_ | None = None,
    force: bool = False,
    level: str | Iterable[str] = "delegate",
    profile_format: str = "etdump",
    profile_path_prefix: Path_ | None = None,
    delegates: Iterable[str] = (),
    regions: bool | str = False,
) -> Result:
    """Profiles a model, in worker processes of its own.

    model_path: a program's file, or "FILE.py:FUNCTION": a function that returns a PyTorch module,
        or (module, example_inputs).
    inputs: arrays, or the names of .npy files, by name or index, or all in order; without them
        a bundled program's own, or seeded random values of the model's types and shapes.
    shapes: of random inputs, where the model leaves them open, by name or index: {"x": (1, 3)}.
    seed: of random values; given, it also wins over a bundled program's inputs.
    iterations: runs per process. duration: seconds. Without either it measures until the median is
        known to 1 %, for at most ten seconds.
    threads: of the engine's pool; None leaves the choice to the engine.
    data: files of weights that lie outside of the program (.ptd).
    output, trace, etdump: files to write: the result as JSON, a Perfetto trace, an ETDump. An
        existing one is refused without `force`.
    level: what is seen of delegates: "off", "delegate" (each call), "phases" (its host phases),
        "layers" (the engine's own; reading them costs time and may change scheduling). Of one
        delegate alone: "openvino=layers". Or a list of them: ["off", "openvino=layers"].
    profile_format: where layers go: "etdump" (into the result and its traces), or files of
        "perfetto" or "trex" in the folder `profile_path_prefix`.
    delegates: which delegate runs behind an id that has several: ["openvino=ours"],
        ["openvino=async"], ["openvino=stock"].
    regions: whether parallel regions are looked at: False, "wall" (how long each took), True or
        "busy" (and how busy each thread was), "cpu" (and the CPU clocks: syscalls).

    Raises Error. Ctrl-C ends the measurement.
    """
    _check("iterations", iterations, 1, 10**9)
    _check("warmup", warmup, 0, 10**6)
    _check("processes", processes, 1, 1000)
    _check("threads", threads, 1, 4096)
    _check("seed", seed, 0, 2**64 - 1)
    if not isinstance(method, str):
        raise Error("invalid_argument", f"method is {method!r}", "give a name")
    if not isinstance(profile_format, str):
        raise Error("invalid_argument", f"profile_format is {profile_format!r}", "give a name")
    if isinstance(delegates, str):
        raise Error("invalid_argument", "delegates is one text", "give a list of them")
    chosen = _texts("delegates", delegates)
    levels = _texts("level", (level,) if isinstance(level, str) else level)
    if isinstance(data, str | bytes | os.PathLike):
        raise Error("invalid_argument", "data is one path", "give a list of them")
    with _scratch_folder() as folder:
        arrays: dict[str, str] = {}
        arguments = _input_arguments(inputs, Path(folder), arrays)
        try:
            text, tables = _core.perf(
                model=path_text("model_path", model_path),
                worker_program=str(command_path()),
                python=sys.executable,
                method=method,
                inputs=arguments,
                shapes=_shape_arguments(shapes),
                data_files=[path_text("data", path) for path in data],
                iterations=iterations,
                duration_s=_seconds(duration),
                warmup=warmup,
                processes=processes,
                threads=threads or 0,
                seed=seed,
                output=optional_path_text("output", output),
                trace=optional_path_text("trace", trace),
                etdump=optional_path_text("etdump", etdump),
                force=force,
                levels=levels,
                profile_format=profile_format,
                profile_path_prefix=optional_path_text("profile_path_prefix", profile_path_prefix),
                delegates=chosen,
                regions=_detail(regions),
            )
        except Error as error:
            raise Error(error.code, _without(error.message, arrays), error.hint) from None
    return Result(_without(text, arrays), _without(tables, arrays))


def _detail(regions: bool | str) -> str:
    if isinstance(regions, bool):
        return "busy" if regions else ""
    if regions not in ("wall", "busy", "cpu"):
        raise Error(
            "invalid_argument", f"regions is {regions!r}", 'give True, "wall", "busy" or "cpu"'
        )
    return regions


def _scratch_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="inferprobe-")
    except OSError as error:
        raise Error("io", f"no temporary folder for the inputs: {error}", "set TMPDIR") from None


def _without(text: str, arrays: Mapping[str, str]) -> str:
    """Arrays travel in files that nobody else knows: they are named as what they are."""
    for path, name in arrays.items():
        text = text.replace(path, name)
    return text


def _seconds(duration: float | None) -> float | None:
    try:
        return None if duration is None else float(duration)
    except (TypeError, ValueError):
        raise Error("invalid_argument", f"duration is {duration!r}", "give seconds") from None


def _check(name: str, value: int | None, least: int, most: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Error(
            "invalid_argument",
            f"{name} is {value!r}",
            f"give a whole number from {least} to {most}",
        )


def _texts(name: str, values: Iterable[str]) -> list[str]:
    try:
        texts = list(values)
    except TypeError:
        raise Error("invalid_argument", f"{name} is {values!r}", "give texts") from None
    for text in texts:
        if not isinstance(text, str):
            raise Error("invalid_argument", f"{name}: {text!r} is no text", "give texts")
    return texts


def _input_arguments(inputs: Inputs | None, folder: Path, arrays: dict[str, str]) -> list[str]:
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
            path = path_text(f"input {name}", value)
        else:
            path = str(folder / f"{position}.npy")
            arrays[path] = f"the array given for input {name}"
            _save(name, value, path)
        arguments.append(f"{name}={path}")
    return arguments


def _shape_arguments(shapes: Mapping[str | int, Sequence[int]] | None) -> list[str]:
    """As `perf` takes them: "name=1x3x224x224"."""
    if shapes is None:
        return []
    if not isinstance(shapes, Mapping):
        raise Error("invalid_argument", f"shapes is {shapes!r}", 'give a dict: {"x": (1, 3)}')
    return [f"{name}={'x'.join(str(extent) for extent in shape)}" for name, shape in shapes.items()]


def _save(name: str | int, value: Any, path: str) -> None:
    import numpy as np

    if isinstance(value, np.ma.MaskedArray):
        raise Error("invalid_argument", f"input {name} is masked", "fill it: array.filled(...)")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise Error("invalid_argument", f"input {name} is no array: {error}") from None
    if array.dtype.hasobject:
        raise Error(
            "invalid_argument", f"input {name} is {type(value).__name__}", "give a numpy array"
        )
    # ascontiguousarray would make a scalar an array of one.
    np.save(path, array if array.ndim == 0 else np.ascontiguousarray(array))
