"""The native part: inferprobe's `perf` and `show` as functions."""

def perf(
    *,
    model: str,
    worker_program: str,
    method: str,
    inputs: list[str],
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
) -> tuple[str, str]:
    """Measures; returns the result JSON and the tables for people."""

def load(path: str) -> tuple[str, str]:
    """Opens a file; returns the result JSON and the tables for people."""
