"""The installed package, as a project of somebody else's sees it."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFERPROBE_BUILD", ROOT / "build/test"))


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    if not (BUILD / "libinferprobe_record.so").exists():
        pytest.skip(f"{BUILD} has no libinferprobe_record.so: build it, or set INFERPROBE_BUILD")
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "record")
    return prefix


def configure(prefix: pathlib.Path, build: pathlib.Path, *options: str) -> list[object]:
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    source = ROOT / "tests/install_project"
    return [
        "cmake",
        "-S",
        source,
        "-B",
        build,
        f"-DCMAKE_PREFIX_PATH={prefix}",
        *generator,
        *options,
    ]


def test_a_project_finds_builds_and_runs_it(prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    run(*configure(prefix, tmp_path))
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "scoped") == "3 scopes\n"
    assert run(tmp_path / "scoped_c") == "recorded\n"
    assert run(tmp_path / "regions") == "normalize: 10 iterations, CPU time not requested\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Everything that a plain `cmake --install` installs."""
    if not (BUILD / "libinferprobe_engine_executorch.so").exists():
        pytest.skip(f"{BUILD} has no engine plugin: build it, or set INFERPROBE_BUILD")
    prefix = tmp_path_factory.mktemp("whole")
    run("cmake", "--install", BUILD, "--prefix", prefix)
    return prefix


def test_a_project_runs_a_model(whole: pathlib.Path, tmp_path: pathlib.Path) -> None:
    run(*configure(whole, tmp_path))
    run("cmake", "--build", tmp_path, "--target", "session")
    said = run(tmp_path / "session", ROOT / "samples/text_portable.pte")
    assert said == "f32[1,16,64], all of it\n"


def test_an_author_of_a_delegate_builds_on_the_kit(
    prefix: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "delegate")
    run(*configure(prefix, tmp_path))
    run("cmake", "--build", tmp_path, "--target", "delegate")
    assert run(tmp_path / "delegate").splitlines() == [
        'mine.infer_host {"kind":"host_wall"}',
        'mine.delegate {"kind":"host_wall","mode":"blocking"}',
        'mine.layer_report {"kind":"host_wall","calls":1,"unit_ns":1,"covered":1}',
        "conv 1500 ns",
        "process-wide: 0",
    ]


def test_nothing_of_the_build_folder_is_used(whole: pathlib.Path) -> None:
    libraries = sorted((whole / "lib").rglob("*.so"))
    assert [str(library.relative_to(whole / "lib")) for library in libraries] == [
        "inferprobe/libinferprobe_delegate_openvino.so",
        "inferprobe/libinferprobe_engine_executorch.so",
        "libinferprobe_delegate.so",
        "libinferprobe_record.so",
        "libinferprobe_regions.so",
        "libinferprobe_session.so",
    ]
    for file in [*libraries, whole / "bin/inferprobe"]:
        dynamic = run("readelf", "-d", file)
        assert str(BUILD) not in dynamic, dynamic


def test_the_command_runs_a_model(whole: pathlib.Path) -> None:
    model = ROOT / "samples/text_portable.pte"
    said = run(whole / "bin/inferprobe", "perf", model, "--iterations", "3")
    assert "text_portable.pte" in said


def test_a_component_that_is_missing_is_named(prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(needs_session CXX)\n"
        "find_package(inferprobe REQUIRED COMPONENTS session)\n"
    )
    done = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "session" in done.stderr


def test_public_headers_stand_alone(prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    headers = sorted((prefix / "include/inferprobe").glob("*.h"))
    assert {"scope.h", "recorder.h", "clock.h", "inferprobe.h"} <= {h.name for h in headers}
    for header in headers:
        if header.name == "executorch_delegate.h":
            continue  # for a delegate of ExecuTorch, which has its headers
        source = tmp_path / "only.cc"
        source.write_text(f"#include <inferprobe/{header.name}>\n")
        run(
            "g++",
            "-std=c++20",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-fno-exceptions",
            "-fno-rtti",
            f"-I{prefix}/include",
            "-fsyntax-only",
            source,
        )


@pytest.mark.parametrize("name", ['std::string("x").c_str()', "some_pointer"])
def test_a_scope_takes_a_literal_only(
    prefix: pathlib.Path, tmp_path: pathlib.Path, name: str
) -> None:
    source = tmp_path / "misuse.cc"
    source.write_text(
        "#include <inferprobe/scope.h>\n#include <string>\n"
        "extern const char* some_pointer;\n"
        f"void F() {{ INFERPROBE_SCOPE({name}); }}\n"
    )
    compiled = subprocess.run(
        ["g++", "-std=c++20", f"-I{prefix}/include", "-fsyntax-only", str(source)],
        capture_output=True,
    )
    assert compiled.returncode != 0


def test_what_is_missing_is_named(prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    # An empty answer is what CMake keeps of a search that was made and found nothing.
    command = configure(prefix, tmp_path, "-Dinferprobe_EXPECTED_INCLUDE_DIR:PATH=")
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode != 0
    assert "apt install libexpected-dev" in done.stderr
