"""The native part: inferprobe's `perf` and `show` as functions."""

from typing import Any

from inferprobe._module_tree import Node
from inferprobe._torch_profiler import Recorded

def perf(
    *,
    model: str,
    worker_program: str,
    python: str,
    method: str,
    inputs: list[str],
    shapes: list[str],
    data_files: list[str],
    iterations: int | None,
    duration_s: float | None,
    warmup: int,
    processes: int,
    threads: int,
    seed: int | None,
    output: str,
    trace: str,
    etdump: str,
    force: bool,
    levels: list[str],
    profile_format: str,
    profile_path_prefix: str,
    delegates: list[str],
    regions: str,
) -> tuple[str, str]:
    """Measures; returns the result JSON and the tables for people."""

def publish_operators(recorded: Recorded) -> float | None:
    """Into the calling thread's ring; by how much their times may be off, in ns. None: torch's
    clock and ours never agreed, and there are none."""

def run_worker(plugin: object) -> int:
    """Serves the parent process that started this one; returns the exit code."""

def npy_spec(path: str) -> tuple[str, list[int]] | None:
    """Type and shape of what a .npy file holds; None: it cannot be read."""

def load(path: str) -> tuple[str, str]:
    """Opens a file; returns the result JSON and the tables for people."""

def set_profile_execution(enabled: bool, override_methods: bool) -> None: ...
def set_profile_format(name: str) -> None: ...
def set_profile_path_prefix(folder: str) -> None: ...
def get_profile_engines() -> list[tuple[str, str, str, bool]]:
    """Name, version, method, and whether the switch reaches it as it stands."""

def last_delegate_error() -> str: ...
def get_profile_config() -> tuple[bool, str, str, int]:
    """Whether it is on, the format, the folder, and the number of updates so far."""

def write_file(path: str, text: str, force: bool) -> None:
    """Complete under its name, or not at all."""

def now_ns() -> int:
    """CLOCK_MONOTONIC by the clock that rings are written with, to which this is exact."""

class Window:
    """From when to when a profile ran, and what was lost meanwhile."""

    @property
    def dropped(self) -> int:
        """Calls that found no place in their thread's ring."""

class ModuleRecording:
    """What profiles of this process share."""

    def open(self) -> Window: ...
    def close(self, window: Window) -> None: ...
    def called(self, window: Window) -> list[int]:
        """Numbers of the modules that were called in a window that is closed."""
    def stop(self) -> None: ...

class ModuleProfile:
    """A finished profile."""

    def json(self) -> str: ...
    def text(self, show_events: bool) -> str: ...
    def save_trace(self, path: str, force: bool) -> None: ...
    def events(self) -> dict[str, list[Any]]: ...

def watch_module(
    module: Any, function: Any, own: bool, number: int | None = None, name: str = ""
) -> tuple[int, str]:
    """The number of the module's calls, or -1 and why they are not watched."""

def unwatch_module(module: Any, function: Any, own: bool) -> None: ...
def start_recording(capacity: int) -> ModuleRecording: ...
def make_profile(
    *,
    recording: ModuleRecording,
    window: Window,
    tree: list[Node],
    torch_version: str,
    threads: int | None,
    operators: tuple[str, str],
    memory: tuple[str, str],
    device: tuple[str, str],
    not_covered: list[tuple[str, str]],
    recorded: Recorded | None,
) -> ModuleProfile: ...
