"""What `show` and `convert` do with streams, limits, signals and terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, Run


@pytest.fixture(scope="module")
def etdump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    subprocess.run([str(BUILD / "tests" / "etdump_shapes"), str(folder)], check=True)
    return folder / "two_blocks_one_empty.etdp"


@pytest.fixture
def strace() -> list[str]:
    """strace, where it may trace; it makes a moment of a program last, or a signal come in it."""
    quiet = ["strace", "-qq", "-o", "/dev/null"]
    tried = subprocess.run([*quiet, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"strace may not trace here: {tried.stderr.strip()}")
    return quiet


@pytest.mark.parametrize("to", ["json", "perfetto", "etdump"])
def test_what_goes_to_standard_output_is_the_data_alone(
    command: str, etdump: Path, tmp_path: Path, to: str
) -> None:
    piped = subprocess.run(
        [command, "convert", etdump, "/dev/stdout", "--to", to], capture_output=True, check=True
    )
    subprocess.run([command, "convert", etdump, tmp_path / "file", "--to", to], check=True)
    same = (tmp_path / "file").read_bytes()
    if to == "json":
        ids = [json.loads(text)["tool"].pop("run_id") for text in (piped.stdout, same)]
        piped.stdout, same = (
            text.replace(run.encode(), b"")
            for text, run in zip((piped.stdout, same), ids, strict=True)
        )
    assert piped.stdout == same
    assert piped.stderr.startswith(b"wrote      /dev/stdout")


@pytest.mark.parametrize("before", ["", "kept\n"])
def test_standard_output_may_be_a_file(
    command: str, etdump: Path, tmp_path: Path, before: str
) -> None:
    out = tmp_path / "out"
    out.write_text(before)
    with out.open("a") as appended:
        said = subprocess.run(
            [command, "convert", etdump, "/dev/stdout", "--to", "json"],
            stdout=appended,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert said.returncode == 0, said.stderr
    text = out.read_text()
    assert text.startswith(before)
    assert json.loads(text[len(before) :])["schema_version"] == 1


@pytest.mark.parametrize("flags", [["--events"], ["--format", "json"], []])
def test_a_file_size_limit_is_an_error(
    command: str, etdump: Path, tmp_path: Path, flags: list[str]
) -> None:
    said = subprocess.run(
        # One block of 512 bytes.
        ["sh", "-c", 'ulimit -f 1; exec "$@" > out', "sh", command, "show", etdump, *flags],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert said.returncode == 1
    assert said.stderr.startswith("inferprobe: cannot write to standard output: File too large")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_convert_leaves_nothing(
    command: str, strace: list[str], etdump: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """The signal comes where all is written and the file has its final name not yet."""
    said = subprocess.run(
        [
            # A shell's background job ignores SIGINT, and all that it starts.
            *("env", f"--default-signal={number.name[3:]}"),
            *(*strace, "-e", "trace=fsync"),
            *("-e", f"inject=fsync:signal={number.name}"),
            *(command, "convert", str(etdump), "out.pftrace"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    # strace ends as what it ran does.
    assert said.returncode == -number, said.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "x", "--events=5"], "--events takes no value"),
        (["show", "x", "--strict=no"], "--strict takes no value"),
        (["convert", "x", "y.json", "--force=false"], "--force takes no value"),
        (["perf", "x", "--quiet=0"], "--quiet takes no value"),
    ],
)
def test_a_flag_takes_no_value(run: Run, arguments: list[str], says: str) -> None:
    said = run(*arguments)
    assert said.returncode == 2
    assert says in said.stderr


def test_a_long_reading_is_said_on_a_terminal(
    command: str, strace: list[str], etdump: Path, tmp_path: Path
) -> None:
    """Reading is held up until the line has been seen, however fast the machine is."""
    terminal, ours = pty.openpty()
    with subprocess.Popen(
        [
            *(*strace, "-P", str(etdump), "-e", "trace=openat"),
            *("-e", "inject=openat:delay_enter=700000"),
            *(command, "convert", str(etdump), "out.json"),
        ],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=ours,
    ) as process:
        os.close(ours)
        seen = b""
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:  # Linux says so when the other side is closed
                break
            if not piece:
                break
            seen += piece
        assert process.wait() == 0
    os.close(terminal)
    text = seen.decode()
    assert f"reading {etdump}" in text
    # The line is gone at the end.
    assert re.search(r"\r\x1b\[2K$", text)
