#!/usr/bin/env bash
# Configures (once) and builds a CMake preset, or only some of its targets:
#   tools/build.sh release|test|no-tracer|bench|asan|tsan|coverage|windows [TARGET ...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=$1
shift
export PATH="$PWD/.venv/bin:$PATH"
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$PWD  # paths are relative then, and one build folder's hits are another's
fi

if [[ ! -f build/$preset/build.ninja ]]; then
  printf 'build: configuring %s\n' "$preset" >&2
  log=$(mktemp)
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    rm -f "build/$preset/build.ninja"
    exit 1
  fi
  grep -E 'not built|inferprobe:' "$log" >&2 || true
  rm -f "$log"
fi

# On a terminal ninja's own line of progress; elsewhere only warnings and errors.
if [[ -t 1 ]]; then
  cmake --build "build/$preset" ${1:+--target "$@"}
else
  steps=$(ninja -C "build/$preset" -n "$@" 2>/dev/null | grep -cE '^\[[0-9]+/' || true)
  [[ $steps -gt 0 ]] && printf 'build: %s, %s steps\n' "$preset" "$steps" >&2
  cmake --build "build/$preset" ${1:+--target "$@"} -- --quiet
fi
